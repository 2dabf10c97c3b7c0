//! The measured events, written with the macros of Microsoft's `tracelogging`.

#![no_std]

#[path = "../../events.rs"]
mod events;

use support as _;

/// The API that `events` is compiled with.
mod api {
    pub(crate) use tracelogging::{Guid, define_provider, write_event};
}

/// # Safety
///
/// Only the kernel may call it.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn DriverEntry(_driver: *mut (), _path: *const ()) -> u32 {
    0
}
