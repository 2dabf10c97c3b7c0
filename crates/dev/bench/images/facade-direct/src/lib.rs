//! The events of the facades, written with our macros.

#![no_std]

use support as _;
use wdk_etw::define_provider;

define_provider!(PROVIDER, "WdkEtw.Bench");

/// Registers the provider. The callback of the registration enables it.
///
/// # Safety
///
/// No requirements: the image is never unloaded.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn start() {
    // SAFETY: the image is never unloaded.
    let _ = unsafe { PROVIDER.register() };
}

/// Writes a message.
#[unsafe(no_mangle)]
pub extern "system" fn message() {
    let _ = wdk_etw::write_event!(PROVIDER, "Log", level(Informational), str8("message", "a message"));
}

/// Writes a number and text of 16 letters.
///
/// # Safety
///
/// `text` must have `length` bytes of UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn values(id: u32, text: *const u8, length: usize) {
    // SAFETY: guaranteed by the caller.
    let text = unsafe { core::slice::from_raw_parts(text, length) };
    // SAFETY: guaranteed by the caller.
    let text = unsafe { core::str::from_utf8_unchecked(text) };
    let _ = wdk_etw::write_event!(PROVIDER, "Read", level(Informational), u32("id", &id), str8("text", text));
}

/// # Safety
///
/// Only the kernel may call it.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn DriverEntry(_driver: *mut (), _path: *const ()) -> u32 {
    0
}
