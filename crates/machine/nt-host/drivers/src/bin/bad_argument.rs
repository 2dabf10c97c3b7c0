//! Closes a handle that was never opened.

#![no_std]
#![no_main]

use drivers::buggy;
use drivers::sys::{DriverObject, ZwClose};

drivers::driver!(load, unload);

fn load(_: *mut DriverObject) -> u32 {
    if buggy() {
        // SAFETY: the routine checks the handle.
        unsafe { ZwClose(0x1234) }; // BUG
    }
    0
}

fn unload() {}
