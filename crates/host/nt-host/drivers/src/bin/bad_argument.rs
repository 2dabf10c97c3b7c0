//! Closes a handle that it never had.

#![no_std]
#![no_main]

use drivers::buggy;
use drivers::sys::{DriverObject, ZwClose};

drivers::driver!(load, unload);

fn load(_: *mut DriverObject) -> u32 {
    if buggy() {
        // SAFETY: any handle is answered.
        unsafe { ZwClose(0x1234) }; // BUG
    }
    0
}

fn unload() {}
