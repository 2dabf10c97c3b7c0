//! Passes an invalid address to kernel routines. The last character of the driver's name selects the address.

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
        // Mapped memory, but misaligned.
        _ => ROOM.get().addr() + 1,
    };
    let address: *mut c_void = ROOM.get().with_addr(bad);
    // SAFETY: memory that is large enough for an event, or the mistake.
    unsafe { KeInitializeEvent(address, 0, 0) };
    // SAFETY: initialised above.
    unsafe { KeSetEvent(address, 0, 0) };
    // SAFETY: initialised above; the event is set, so the wait ends at once.
    unsafe { KeWaitForSingleObject(address, 0, 0, 0, core::ptr::null()) }
}

fn unload() {}
