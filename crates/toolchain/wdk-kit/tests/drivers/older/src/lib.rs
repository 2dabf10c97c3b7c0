//! A test driver on an older release of Microsoft's crates.

#![no_std]

use wdk_sys::ntddk::KeGetCurrentIrql;
use wdk_sys::{DRIVER_OBJECT, NTSTATUS, PCUNICODE_STRING, STATUS_SUCCESS, STATUS_UNSUCCESSFUL};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// The driver's entry point.
///
/// # Safety
///
/// Called by the system.
#[unsafe(export_name = "DriverEntry")]
pub unsafe extern "system" fn driver_entry(_: &mut DRIVER_OBJECT, _: PCUNICODE_STRING) -> NTSTATUS {
    // SAFETY: can be called at any IRQL.
    if unsafe { KeGetCurrentIrql() } == 0 { STATUS_SUCCESS } else { STATUS_UNSUCCESSFUL }
}
