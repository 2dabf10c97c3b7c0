//! Writes a byte after its pool allocation, but in the same aligned block, so the write does not fault.

#![no_std]
#![no_main]

use drivers::buggy;
use drivers::sys::{DriverObject, ExAllocatePool2, ExFreePoolWithTag, NO_RESOURCES, NON_PAGED, TAG};

drivers::driver!(load, unload);

fn load(_: *mut DriverObject) -> u32 {
    // SAFETY: flags, size and tag are valid.
    let memory = unsafe { ExAllocatePool2(NON_PAGED, 30, TAG) };
    if memory.is_null() {
        return NO_RESOURCES;
    }
    let place = memory.wrapping_add(if buggy() { 30 } else { 29 });
    // SAFETY: the last byte, or the mistake: the byte after the allocation.
    unsafe { place.write_volatile(1) };
    // SAFETY: allocated above.
    unsafe { ExFreePoolWithTag(memory, TAG) }; // BUG
    0
}

fn unload() {}
