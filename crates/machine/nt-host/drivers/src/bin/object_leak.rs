//! Does not delete its device.

#![no_std]
#![no_main]

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, Ordering};

use drivers::buggy;
use drivers::sys::{DriverObject, IoCreateDevice, IoDeleteDevice};

drivers::driver!(load, unload);

static DEVICE: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

fn load(driver: *mut DriverObject) -> u32 {
    // SAFETY: the kernel passed the driver object, and `DEVICE` is a static.
    unsafe { IoCreateDevice(driver, 0, core::ptr::null(), 0x22, 0, 0, DEVICE.as_ptr()) } // BUG
}

fn unload() {
    if !buggy() {
        // SAFETY: created in `load`.
        unsafe { IoDeleteDevice(DEVICE.load(Ordering::Relaxed)) };
    }
}
