//! Stops with `__fastfail`.

#![no_std]
#![no_main]

use core::arch::asm;

use drivers::buggy;
use drivers::sys::DriverObject;

drivers::driver!(load, unload);

fn load(_: *mut DriverObject) -> u32 {
    if buggy() {
        // SAFETY: the interrupt does not return.
        unsafe { asm!("int 0x29", in("ecx") 3) }; // BUG
    }
    0
}

fn unload() {}
