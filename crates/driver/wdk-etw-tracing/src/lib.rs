//! Events and spans of the [`tracing`](https://docs.rs/tracing) crate as ETW events, for kernel drivers.
//!
//! A driver that uses `tracing`, or links crates that do, puts one line beside its provider, and registers that where it would
//! register the provider:
//!
//! ```
//! # use etw_symbols as _;
//! use wdk_etw::define_provider;
//! use wdk_etw_tracing::EtwTracing;
//!
//! define_provider!(PROVIDER, "MyCompany.MyDriver");
//! static TRACING: EtwTracing = EtwTracing::new(&PROVIDER);
//!
//! // In DriverEntry. The unload routine unregisters, when nothing traces any more.
//! let status = unsafe { TRACING.register() };
//! assert!(status.is_success());
//!
//! let span = tracing::info_span!("read", file = "a.txt");
//! tracing::info!(parent: &span, bytes = 512, cached = true, "done");
//! drop(span);
//!
//! // In the unload routine.
//! TRACING.unregister();
//! ```
//!
//! # Events
//!
//! An event has the name of its call site (`event src/read.rs:12`, or what `name:` says), its fields, and a last field `target`.
//! Integers, floating-point numbers, booleans and text are fields of their types; everything else, the message included, is text as
//! its `Debug` has it.
//!
//! Metadata is made once for a call site, when it is first traced, and kept in a table of the image ([`SITES`] of them; those that find no room
//! there are encoded each time).
//!
//! # Levels and keywords
//!
//! | `tracing` | ETW level |
//! |---|---|
//! | `ERROR` | 2, error |
//! | `WARN` | 3, warning |
//! | `INFO` | 4, informational |
//! | `DEBUG` | 5, verbose |
//! | `TRACE` | 6, which a session gets that asks for level 6 or higher, or for every level (0, 255) |
//!
//! The maximum level of `tracing` follows the sessions, so a disabled event costs a load, a compare and a branch.
//! [Targets](EtwTracing::with_targets) have keywords; the others have keyword 1.
//!
//! # Spans
//!
//! A span is an activity: a start event with its fields when it is made, an event for values that are recorded later, and a stop
//! event when its last handle is dropped. In the kernel there is no storage of a thread's own, hence no current span: `enter` does
//! nothing, and an event or a span says what it belongs to, by `parent: &span`. Up to [`SPANS`] spans can be open; of one more only
//! a warning is written, `SpanLost`.
//!
//! # Memory
//!
//! On the path of events nothing is allocated and nothing waits. `tracing-core` allocates once, 24 bytes, in
//! [`register`](EtwTracing::register), and never frees them, as it has a subscriber for the life of a program. A driver is unloaded, and
//! its pool is checked then: so make [`ImageAllocator`] the driver's allocator, which has these bytes in the image.
//!
//! Values of an event are put into a buffer of [`VALUES_SIZE`] bytes on the stack; text that is too long is cut and ends with `…`, and fields without
//! room are counted in a last field `cut`. If the names of an event are longer than 500 bytes, or contain a NUL, it has the name `event`, and all of
//! its fields are counted there. An event needs about 2 KiB of stack.
//!
//! What is formatted may trace itself: that works four levels deep on a thread, interrupts included. What is deeper is written with
//! `…` in place of its text.
//!
//! # Panics
//!
//! Nothing in this crate panics. These are in an image because of others, and a test holds the list: `tracing-core` asserts that a call site is
//! registered once (`callsite.rs`), and has a vector for call sites of other kinds than those of `tracing`'s macros, made on first use
//! (`lazy.rs`, `spin/once.rs`); `alloc` panics if the one allocation fails. None of them is on the path of an event.
//!
//! # IRQL
//!
//! Any for events and spans, as long as what they format allows it; above `APC_LEVEL` all of it must be in non-paged memory. `PASSIVE_LEVEL`
//! for registering.
#![no_std]

mod allocator;
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
pub use subscriber::EtwTracing;
pub use values::VALUES_SIZE;
