//! Frees pool memory with the wrong tag.

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
    unsafe { ExFreePoolWithTag(memory, if buggy() { TAG + 1 } else { TAG }) }; // BUG
    0
}

fn unload() {}
