//! Uses a routine that no header declares.

#![no_std]

extern crate wdk_panic;

use wdk_sys::{DRIVER_OBJECT, NTSTATUS, PCUNICODE_STRING};

/// The driver's entry point.
///
/// # Safety
///
/// Called by the system.
#[unsafe(export_name = "DriverEntry")]
pub unsafe extern "system" fn driver_entry(_: &mut DRIVER_OBJECT, _: PCUNICODE_STRING) -> NTSTATUS {
    // SAFETY: never compiled.
    unsafe { wdk_sys::ntddk::IoNoSuchRoutine() }
}
