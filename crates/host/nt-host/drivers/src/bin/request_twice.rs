//! Completes a request twice.

#![no_std]
#![no_main]

use core::ffi::c_void;

use drivers::sys::{DriverObject, IofCompleteRequest};
use drivers::{buggy, device};

drivers::driver!(load, device::delete);

fn load(driver: *mut DriverObject) -> u32 {
    // SAFETY: the entry point's driver object.
    unsafe { device::create(driver, dispatch) }
}

unsafe extern "system" fn dispatch(_: *mut c_void, irp: *mut c_void) -> u32 {
    // SAFETY: the request is ours until it is completed.
    unsafe { device::set_status(irp, 0) };
    // SAFETY: the request is ours.
    unsafe { IofCompleteRequest(irp, 0) };
    if buggy() {
        // SAFETY: the mistake: it is no longer ours.
        unsafe { IofCompleteRequest(irp, 0) }; // BUG
    }
    0
}
