//! Calls a routine that no kernel has.

#![no_std]
#![no_main]

use drivers::buggy;
use drivers::sys::{DriverObject, KeFooBar};

drivers::driver!(load, unload);

fn load(_: *mut DriverObject) -> u32 {
    if buggy() {
        // SAFETY: takes nothing.
        unsafe { KeFooBar() }; // BUG
    }
    0
}

fn unload() {}
