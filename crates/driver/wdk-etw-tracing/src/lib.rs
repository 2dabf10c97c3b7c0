//! Events and spans of the [`tracing`](https://docs.rs/tracing) crate as ETW events, for kernel drivers.
//!
//! Define a subscriber next to the provider, and register the subscriber instead of the provider. It writes the events
//! of the driver and of all crates that the driver links:
//!
//! ```
//! # use etw_symbols as _;
//! use wdk_etw::define_provider;
//! use wdk_etw_tracing::EtwTracing;
//!
//! define_provider!(PROVIDER, "MyCompany.MyDriver");
//! static TRACING: EtwTracing = EtwTracing::new(&PROVIDER);
//!
//! // In DriverEntry. The unload routine unregisters the subscriber after the last event.
//! let status = unsafe { TRACING.register() };
//! assert!(status.is_success());
//!
//! let span = tracing::info_span!("read", file = "a.txt").entered();
//! tracing::info!(bytes = 512, cached = true, "done");
//! drop(span);
//!
//! // In the unload routine.
//! TRACING.unregister();
//! ```
//!
//! # Events
//!
//! An event has the name of its call site (`event src/read.rs:12`, or the name that `name:` sets), its fields, and a
//! last field `target`. Integers, floating-point numbers, booleans and text keep their types. Other values, including
//! the message, are formatted with `Debug`.
//!
//! The metadata of a call site is encoded when it is first used, and kept in a table in the image. The table has
//! [`SITES`] entries. The metadata of call sites that are not in the table is encoded for each event.
//!
//! # Levels and keywords
//!
//! | `tracing` | ETW level |
//! |---|---|
//! | `ERROR` | 2, error |
//! | `WARN` | 3, warning |
//! | `INFO` | 4, informational |
//! | `DEBUG` | 5, verbose |
//! | `TRACE` | 6; only for sessions with level 6 or higher, or with 0 or 255 (every level) |
//!
//! The subscriber sets the maximum level of `tracing` to the level that sessions enabled, so a disabled event costs a
//! load, a compare and a branch. [Targets](EtwTracing::with_targets) can have keywords. The default is keyword 1.
//!
//! # Spans
//!
//! A span is an activity. It writes a start event with its fields when it is created, an event for values that are
//! recorded later, and a stop event when its last handle is dropped. Up to [`SPANS`] spans can be open. For each further
//! span, only the warning `SpanLost` is written.
//!
//! An event belongs to the span that it names (`parent: &span`), otherwise to the span that the thread entered last and
//! has not left, as in `#[instrument]`, `span.enter()` and `span.in_scope()`. In the same way a new span has a parent,
//! whose activity is the related activity of its start event. `parent: None` stands for no span.
//!
//! The current spans of all threads are in a table in the image, which needs no lock and no allocation and works at any
//! IRQL. A span may be entered on several threads, again on the same thread, and left on another thread than the one that
//! entered it. A thread can have entered about 16 spans at a time. For each further span, the warning
//! `SpanContextLost` is written with its activity, and the events in it belong to the span around it.
//!
//! Code that interrupts a thread (a DPC, an interrupt, an APC) has the same thread object. Until it enters a span of its own,
//! its events belong to the span of the interrupted thread. To avoid that, let it name the parent: `parent: &span` or
//! `parent: None`.
//!
//! # Memory
//!
//! Writing an event does not allocate and does not wait. `tracing-core` makes one allocation of 24 bytes in
//! [`register`](EtwTracing::register). It never frees the memory, because a subscriber cannot be removed. When a driver
//! is unloaded, that would be a pool leak. Therefore use [`ImageAllocator`] as the driver's global allocator: it has
//! these bytes in the image.
//!
//! The values of an event are stored in a buffer of [`VALUES_SIZE`] bytes on the stack. Text that is too long is
//! truncated and ends with `…`. The last field `cut` is the number of fields that did not fit. If the names of an event
//! are longer than 500 bytes or contain a NUL, the event is called `event`, and all its fields count as cut. An event
//! needs about 2 KiB of stack.
//!
//! A value may write events while it is formatted. Up to four events can be nested on a thread, including those of
//! interrupts. Text in an event that is nested more deeply is replaced by `…`.
//!
//! # Panics
//!
//! Nothing in this crate panics. Other crates add these panics to an image, and a test checks the list: `tracing-core`
//! asserts that a call site is registered once (`callsite.rs`), and creates, on first use, a vector for call sites that
//! do not come from the macros of `tracing` (`lazy.rs`, `spin/once.rs`). `alloc` panics if the only allocation fails.
//! None of this code runs when an event is written.
//!
//! # IRQL
//!
//! Any for events and spans, if their values can be formatted at that IRQL. Above `APC_LEVEL`, all data must be in
//! non-paged memory. `PASSIVE_LEVEL` for registration.
#![no_std]

mod allocator;
mod context;
mod event;
mod level;
mod sites;
mod spans;
mod subscriber;
mod values;

pub use allocator::{ImageAllocator, NoAllocator};
pub use level::follow;
pub use sites::SITES;
pub use spans::SPANS;
pub use subscriber::{EtwTracing, stop};
pub use values::VALUES_SIZE;

/// What [`init!`] uses. Do not use it directly: it can change in any version.
#[doc(hidden)]
pub mod __private {
    pub use wdk_etw::{Protected, define_provider};
}
