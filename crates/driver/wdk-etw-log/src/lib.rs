//! Messages of the [`log`] crate as ETW events, for kernel drivers.
//!
//! A driver that uses `log`, or links crates that do, puts one line beside its provider, and registers the logger where it
//! would register the provider:
//!
//! ```
//! # use etw_symbols as _;
//! use wdk_etw::define_provider;
//! use wdk_etw_log::EtwLogger;
//!
//! define_provider!(PROVIDER, "MyCompany.MyDriver");
//! static LOGGER: EtwLogger = EtwLogger::new(&PROVIDER);
//!
//! // In DriverEntry. The unload routine unregisters, when nothing logs any more.
//! let status = unsafe { LOGGER.register() };
//! assert!(status.is_success());
//!
//! let (file, bytes) = ("a.txt", 512);
//! log::info!(bytes = bytes, cached = true; "read {file}");
//!
//! // In the unload routine.
//! LOGGER.unregister();
//! ```
//!
//! # Events
//!
//! A message is a TraceLogging event `Log` with the fields `message`, `target`, `module`, `file` (UTF-8) and `line`, and one
//! field for each key-value: integers, floating-point numbers, booleans and text as such, everything else as text.
//!
//! | `log` | ETW level |
//! |---|---|
//! | `error!` | 2, error |
//! | `warn!` | 3, warning |
//! | `info!` | 4, informational |
//! | `debug!` | 5, verbose |
//! | `trace!` | 6, which a session gets that asks for level 6 or higher, or for every level (0, 255) |
//!
//! # Cost and limits
//!
//! The logger sets `log`'s maximum level to what sessions want, so a disabled message costs what `log` has before each
//! message: a load, a compare and a branch. None of its arguments are evaluated.
//!
//! Nothing is allocated. A message is formatted into [`MESSAGE_SIZE`] bytes on the stack, key-values into
//! `KEY_VALUE_SIZE`; a message without arguments is not copied. What is too long is cut and ends with `…`; key-values that have
//! no room are counted in a last field `cut`. All in all a message needs about 2 KiB of stack.
//!
//! What is formatted may log itself: that works four levels deep on a thread, interrupts included. What is deeper is written with `…`
//! in place of its message, so a `Display` that logs itself ends.
//!
//! # Panics and features
//!
//! Nothing in this crate panics. What a driver formats may: `core`'s formatting of floating-point numbers has assertions, which as
//! far as is known never fail, but which are in an image that formats them. The feature `kv` (on by default: key-values as fields) has
//! `log` format such numbers among others. An image with it has 35 KiB more than one without.
//!
//! # IRQL
//!
//! Messages can be logged at any IRQL, as long as what they format allows it; above `APC_LEVEL` all of it must be in non-paged
//! memory. Names, files and formats of a driver's own messages are in its image: keep them out of pageable sections.
#![no_std]
#![deny(unsafe_code)]

mod event;
#[cfg(feature = "kv")]
mod key_values;
mod level;
mod logger;

pub use event::MESSAGE_SIZE;
#[cfg(feature = "kv")]
pub use key_values::KEY_VALUE_SIZE;
pub use level::follow;
pub use logger::EtwLogger;
