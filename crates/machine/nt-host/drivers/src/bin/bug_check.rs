//! Calls `KeBugCheckEx`.

#![no_std]
#![no_main]

use drivers::buggy;
use drivers::sys::{DriverObject, KeBugCheckEx};

drivers::driver!(load, unload);

fn load(_: *mut DriverObject) -> u32 {
    if buggy() {
        // SAFETY: the routine accepts any numbers.
        unsafe { KeBugCheckEx(0xE2, 1, 2, 3, 4) } // BUG
    }
    0
}

fn unload() {}
