//! Returns from its entry point at a raised IRQL.

#![no_std]
#![no_main]

use drivers::buggy;
use drivers::sys::{DriverObject, KeLowerIrql, KfRaiseIrql};

drivers::driver!(load, unload);

fn load(_: *mut DriverObject) -> u32 {
    // SAFETY: the current IRQL is `PASSIVE_LEVEL`, so every level is allowed.
    let old = unsafe { KfRaiseIrql(2) }; // BUG
    if !buggy() {
        // SAFETY: restores the IRQL from before.
        unsafe { KeLowerIrql(old) };
    }
    0
}

fn unload() {}
