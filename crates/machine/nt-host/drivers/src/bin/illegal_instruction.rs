//! Halts the processor with `hlt`.

#![no_std]
#![no_main]

use core::arch::asm;

use drivers::buggy;
use drivers::sys::DriverObject;

drivers::driver!(load, unload);

fn load(_: *mut DriverObject) -> u32 {
    if buggy() {
        // SAFETY: the mistake: a driver may not halt the processor.
        unsafe { asm!("hlt") }; // BUG
    }
    0
}

fn unload() {}
