//! Does not complete a request.

#![no_std]
#![no_main]

use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use drivers::buggy;
use drivers::sys::{DriverObject, IoCreateDevice, IoDeleteDevice, IofCompleteRequest};

drivers::driver!(load, unload);

static DEVICE: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// `IRP.IoStatus.Status`.
const STATUS: usize = 0x30;

fn load(driver: *mut DriverObject) -> u32 {
    // SAFETY: the kernel's driver object, which is ours to fill in.
    unsafe { (*driver).major = [Some(dispatch); 28] };
    // SAFETY: the driver object is the kernel's, the device's place is there for ever.
    unsafe { IoCreateDevice(driver, 0, ptr::null(), 0x22, 0, 0, DEVICE.as_ptr()) }
}

fn unload() {
    // SAFETY: created when loaded.
    unsafe { IoDeleteDevice(DEVICE.load(Ordering::Relaxed)) };
}

unsafe extern "system" fn dispatch(_: *mut c_void, irp: *mut c_void) -> u32 {
    // BUG
    // SAFETY: the request is ours until it is completed.
    unsafe { irp.wrapping_byte_add(STATUS).cast::<u32>().write(0) };
    if !buggy() {
        // SAFETY: the request is ours.
        unsafe { IofCompleteRequest(irp, 0) };
    }
    0
}
