//! Executes code in pool that is not executable.

#![no_std]
#![no_main]

use core::mem::transmute;

use drivers::buggy;
use drivers::sys::{DriverObject, EXECUTABLE, ExAllocatePool2, ExFreePoolWithTag, NO_RESOURCES, NON_PAGED, TAG};

drivers::driver!(load, unload);

/// `mov eax, 42` and `ret`.
const CODE: [u8; 6] = [0xB8, 42, 0, 0, 0, 0xC3];

fn load(_: *mut DriverObject) -> u32 {
    let flags = if buggy() { NON_PAGED } else { EXECUTABLE };
    // SAFETY: flags, size and tag are valid.
    let memory = unsafe { ExAllocatePool2(flags, CODE.len(), TAG) };
    if memory.is_null() {
        return NO_RESOURCES;
    }
    // SAFETY: the allocation has room for the code.
    unsafe { memory.copy_from_nonoverlapping(CODE.as_ptr(), CODE.len()) };
    // SAFETY: the memory contains a function of this type.
    let function = unsafe { transmute::<*mut u8, extern "system" fn() -> u32>(memory) };
    let value = function(); // BUG
    // SAFETY: allocated above.
    unsafe { ExFreePoolWithTag(memory, TAG) };
    value - 42
}

fn unload() {}
