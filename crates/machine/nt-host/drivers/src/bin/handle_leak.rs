//! Does not close a handle.

#![no_std]
#![no_main]

use core::ptr;

use drivers::buggy;
use drivers::sys::{DriverObject, ZwClose, ZwCreateEvent};

drivers::driver!(load, unload);

fn load(_: *mut DriverObject) -> u32 {
    let mut handle = 0;
    // SAFETY: `handle` is writable.
    let status = unsafe { ZwCreateEvent(&raw mut handle, 0, ptr::null_mut(), 0, 0) }; // BUG
    if status == 0 && !buggy() {
        // SAFETY: opened above.
        unsafe { ZwClose(handle) };
    }
    status
}

fn unload() {}
