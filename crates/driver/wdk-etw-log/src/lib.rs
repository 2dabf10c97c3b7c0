//! Messages of the [`log`] crate as ETW events, for kernel drivers.
//!
//! A driver that only wants messages needs three lines: [`init!`] in `DriverEntry`, messages, and [`stop`] in the unload
//! routine.
//!
//! A driver that has a provider defines a logger next to it, and registers the logger instead of the provider. It writes
//! the messages of the driver and of all crates that the driver links:
//!
//! ```
//! # use etw_symbols as _;
//! use wdk_etw::define_provider;
//! use wdk_etw_log::EtwLogger;
//!
//! define_provider!(PROVIDER, "MyCompany.MyDriver");
//! static LOGGER: EtwLogger = EtwLogger::new(&PROVIDER);
//!
//! // In DriverEntry. The unload routine unregisters the logger after the last message.
//! let status = unsafe { LOGGER.register() };
//! assert!(status.is_success());
//!
//! let file = "a.txt";
//! let bytes = 512;
//! log::info!(bytes = bytes, cached = true; "read {file}");
//!
//! // In the unload routine.
//! LOGGER.unregister();
//! ```
//!
//! # Events
//!
//! A message is a TraceLogging event `Log` with the fields `message`, `target`, `module`, `file` (UTF-8) and `line`,
//! and one field for each key-value. Integers, floating-point numbers, booleans and text keep their types. Other values
//! are formatted as text.
//!
//! | `log` | ETW level |
//! |---|---|
//! | `error!` | 2, error |
//! | `warn!` | 3, warning |
//! | `info!` | 4, informational |
//! | `debug!` | 5, verbose |
//! | `trace!` | 6; only for sessions with level 6 or higher, or with 0 or 255 (every level) |
//!
//! # Cost and limits
//!
//! The logger sets the maximum level of `log` to the level that sessions enabled. A disabled message costs only the
//! check in `log`: a load, a compare and a branch. Its arguments are not evaluated.
//!
//! Nothing is allocated. A message is formatted into [`MESSAGE_SIZE`] bytes on the stack, and key-values into
//! `KEY_VALUE_SIZE` bytes. A message without arguments is not copied. Text that is too long is truncated and ends with
//! `…`. The last field `cut` is the number of key-values that did not fit. A message needs about 2 KiB of stack.
//!
//! A value may log messages while it is formatted. Up to four messages can be nested on a thread, including those of
//! interrupts. A message that is nested more deeply is replaced by `…`, so a `Display` that logs itself does not
//! recurse forever.
//!
//! # Panics and features
//!
//! Nothing in this crate panics, but the formatting of values may. The code in `core` that formats floating-point
//! numbers contains assertions. No case is known in which they fail, but they are part of the image. The feature `kv`
//! (key-values as fields, enabled by default) makes `log` use this code, and adds about 32 KiB to the image.
//!
//! # IRQL
//!
//! Messages can be logged at any IRQL if their values can be formatted at that IRQL. Above `APC_LEVEL`, all data must
//! be in non-paged memory. The constant parts of a message are in the driver's image: do not put them into pageable
//! sections.
#![no_std]
#![deny(unsafe_code)]

mod event;
#[cfg(feature = "kv")]
mod key_values;
mod level;
mod logger;
mod start;

pub use event::MESSAGE_SIZE;
#[cfg(feature = "kv")]
pub use key_values::KEY_VALUE_SIZE;
pub use level::follow;
pub use logger::EtwLogger;
pub use start::stop;

/// What [`init!`] uses. Do not use it directly: it can change in any version.
#[doc(hidden)]
pub mod __private {
    pub use crate::start::start;
    pub use wdk_etw::{Protected, define_provider};
}
