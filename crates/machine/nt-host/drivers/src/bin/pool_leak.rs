//! Does not free its pool memory.

#![no_std]
#![no_main]

use core::sync::atomic::{AtomicPtr, Ordering};

use drivers::buggy;
use drivers::sys::{DriverObject, ExAllocatePool2, ExFreePoolWithTag, NON_PAGED, TAG};

drivers::driver!(load, unload);

static MEMORY: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());

fn load(_: *mut DriverObject) -> u32 {
    // SAFETY: flags, size and tag are valid.
    let memory = unsafe { ExAllocatePool2(NON_PAGED, 100, TAG) }; // BUG
    MEMORY.store(memory, Ordering::Relaxed);
    if memory.is_null() { 0xC000_009A } else { 0 }
}

fn unload() {
    if !buggy() {
        // SAFETY: allocated when loaded.
        unsafe { ExFreePoolWithTag(MEMORY.load(Ordering::Relaxed), TAG) };
    }
}
