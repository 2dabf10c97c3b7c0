//! Frees pool memory twice.

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
    // SAFETY: allocated above.
    unsafe { ExFreePoolWithTag(memory, TAG) };
    if buggy() {
        // SAFETY: the mistake: the memory was freed above.
        unsafe { ExFreePoolWithTag(memory, TAG) }; // BUG
    }
    0
}

fn unload() {}
