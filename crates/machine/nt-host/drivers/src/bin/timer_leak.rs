//! Does not cancel a timer.

#![no_std]
#![no_main]

use core::ptr;

use drivers::buggy;
use drivers::sys::{DriverObject, KeCancelTimer, KeInitializeTimer, KeSetTimer, Room};

drivers::driver!(load, unload);

static TIMER: Room = Room::new();

fn load(_: *mut DriverObject) -> u32 {
    // SAFETY: the memory is large enough for a timer.
    unsafe { KeInitializeTimer(TIMER.get()) };
    // SAFETY: initialised above.
    unsafe { KeSetTimer(TIMER.get(), -36_000_000_000_000, ptr::null_mut()) }; // BUG
    0
}

fn unload() {
    if !buggy() {
        // SAFETY: initialised when loaded.
        unsafe { KeCancelTimer(TIMER.get()) };
    }
}
