//! Calls a routine that no kernel exports.

#![no_std]
#![no_main]

use drivers::buggy;
use drivers::sys::{DriverObject, KeFooBar};

drivers::driver!(load, unload);

fn load(_: *mut DriverObject) -> u32 {
    if buggy() {
        // SAFETY: the routine has no parameters.
        unsafe { KeFooBar() }; // BUG
    }
    0
}

fn unload() {}
