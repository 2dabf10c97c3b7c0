//! Calls a function of the framework whose signature the kit does not have.

#![no_std]

extern crate wdk_panic;

use wdk_sys::{DRIVER_OBJECT, NTSTATUS, PCUNICODE_STRING, call_unsafe_wdf_function_binding};

/// The driver's entry point.
///
/// # Safety
///
/// Called by the framework's stub.
#[unsafe(export_name = "DriverEntry")]
pub unsafe extern "system" fn driver_entry(_: &mut DRIVER_OBJECT, _: PCUNICODE_STRING) -> NTSTATUS {
    // SAFETY: never compiled.
    unsafe { call_unsafe_wdf_function_binding!(WdfCxVerifierKeBugCheck) }
}
