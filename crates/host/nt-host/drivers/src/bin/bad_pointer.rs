//! Passes an address to a routine that is not there, in the way that the last character of its name says.

#![no_std]
#![no_main]

use core::ffi::c_void;

use drivers::sys::{DriverObject, KeInitializeEvent, KeSetEvent, KeWaitForSingleObject, Room};
use drivers::variant;

static ROOM: Room = Room::new();

drivers::driver!(load, unload);

fn load(_: *mut DriverObject) -> u32 {
    let bad: usize = match variant() {
        b'0' => 0,
        b'1' => 1,
        b'2' => 0x1003,
        b'3' => 0x7FFF_FFFF_EFFD,
        b'4' => 0x8000_0000_0000,
        b'5' => usize::MAX,
        b'6' => usize::MAX - 6,
        b'7' => 0xFFFF_8000_0000_0001,
        // Memory that is there, and not aligned.
        _ => ROOM.get().addr() + 1,
    };
    let address: *mut c_void = ROOM.get().with_addr(bad);
    // SAFETY: room for an event, or the mistake.
    unsafe { KeInitializeEvent(address, 0, 0) };
    // SAFETY: the event.
    unsafe { KeSetEvent(address, 0, 0) };
    // SAFETY: the event, which is set.
    unsafe { KeWaitForSingleObject(address, 0, 0, 0, core::ptr::null()) }
}

fn unload() {}
