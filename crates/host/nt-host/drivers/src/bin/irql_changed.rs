//! Returns from its entry point at another IRQL.

#![no_std]
#![no_main]

use drivers::buggy;
use drivers::sys::{DriverObject, KeLowerIrql, KfRaiseIrql};

drivers::driver!(load, unload);

fn load(_: *mut DriverObject) -> u32 {
    // SAFETY: raising is always allowed.
    let old = unsafe { KfRaiseIrql(2) }; // BUG
    if !buggy() {
        // SAFETY: back to where it was.
        unsafe { KeLowerIrql(old) };
    }
    0
}

fn unload() {}
