//! Completes a request with `STATUS_PENDING`.

#![no_std]
#![no_main]

use core::ffi::c_void;

use drivers::sys::{DriverObject, IofCompleteRequest};
use drivers::{buggy, device};

drivers::driver!(load, device::delete);

fn load(driver: *mut DriverObject) -> u32 {
    // SAFETY: the kernel passed the driver object to `DriverEntry`.
    unsafe { device::create(driver, dispatch) }
}

unsafe extern "system" fn dispatch(_: *mut c_void, irp: *mut c_void) -> u32 {
    let status = if buggy() { 0x103 } else { 0 };
    // SAFETY: the driver owns the request until it completes it.
    unsafe { device::set_status(irp, status) };
    // SAFETY: the driver owns the request.
    unsafe { IofCompleteRequest(irp, 0) }; // BUG
    status
}
