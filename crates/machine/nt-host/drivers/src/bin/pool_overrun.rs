//! Writes a byte after its pool allocation.

#![no_std]
#![no_main]

use drivers::buggy;
use drivers::sys::{DriverObject, ExAllocatePool2, ExFreePoolWithTag, NO_RESOURCES, NON_PAGED, TAG};

drivers::driver!(load, unload);

fn load(_: *mut DriverObject) -> u32 {
    // SAFETY: flags, size and tag are valid.
    let memory = unsafe { ExAllocatePool2(NON_PAGED, 32, TAG) };
    if memory.is_null() {
        return NO_RESOURCES;
    }
    let place = memory.wrapping_add(if buggy() { 32 } else { 31 });
    // SAFETY: the last byte, or the mistake: the byte after the allocation.
    unsafe { place.write_volatile(1) }; // BUG
    // SAFETY: allocated above.
    unsafe { ExFreePoolWithTag(memory, TAG) };
    0
}

fn unload() {}
