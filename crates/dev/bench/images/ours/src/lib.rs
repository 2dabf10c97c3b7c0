//! The measured events, written with our macros.

#![no_std]

#[path = "../../events.rs"]
mod events;

use support as _;

/// The API that `events` is compiled with.
mod api {
    pub(crate) use wdk_etw::{Guid, define_provider, write_event};
}

/// # Safety
///
/// Only the kernel may call it.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn DriverEntry(_driver: *mut (), _path: *const ()) -> u32 {
    0
}
