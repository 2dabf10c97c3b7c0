//! Calls a routine that no import library has.

#![no_std]

extern crate wdk_panic;

use wdk_sys::{DRIVER_OBJECT, NTSTATUS, PCUNICODE_STRING};

unsafe extern "C" {
    fn KeNoSuchRoutine() -> NTSTATUS;
}

/// The driver's entry point.
///
/// # Safety
///
/// Called by the system.
#[unsafe(export_name = "DriverEntry")]
pub unsafe extern "system" fn driver_entry(_: &mut DRIVER_OBJECT, _: PCUNICODE_STRING) -> NTSTATUS {
    // SAFETY: never linked.
    unsafe { KeNoSuchRoutine() }
}
