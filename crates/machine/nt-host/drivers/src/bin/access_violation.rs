//! Writes to an unmapped address.

#![no_std]
#![no_main]

use drivers::buggy;
use drivers::sys::DriverObject;

drivers::driver!(load, unload);

fn load(_: *mut DriverObject) -> u32 {
    let mut own = 0_u32;
    let place = if buggy() { core::ptr::without_provenance_mut(0x10) } else { &raw mut own };
    // SAFETY: a variable, or the mistake.
    unsafe { place.write_volatile(1) }; // BUG
    0
}

fn unload() {}
