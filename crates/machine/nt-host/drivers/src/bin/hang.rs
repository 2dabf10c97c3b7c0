//! Waits for an event that is never set.

#![no_std]
#![no_main]

use core::ptr;

use drivers::buggy;
use drivers::sys::{DriverObject, KeInitializeEvent, KeWaitForSingleObject, Room};

drivers::driver!(load, unload);

static EVENT: Room = Room::new();

fn load(_: *mut DriverObject) -> u32 {
    // SAFETY: the memory is large enough for an event.
    unsafe { KeInitializeEvent(EVENT.get(), 0, u8::from(!buggy())) };
    // SAFETY: initialised above.
    unsafe { KeWaitForSingleObject(EVENT.get(), 0, 0, 0, ptr::null()) } // BUG
}

fn unload() {}
