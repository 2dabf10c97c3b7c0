//! Calls a routine that no import library has, and reads a variable without importing it.

#![no_std]

extern crate wdk_panic;

use wdk_sys::{DRIVER_OBJECT, KeNumberProcessors, NTSTATUS, PCUNICODE_STRING};

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
    let processors = unsafe { KeNumberProcessors };
    // SAFETY: as before.
    unsafe { KeNoSuchRoutine() + NTSTATUS::from(processors) }
}
