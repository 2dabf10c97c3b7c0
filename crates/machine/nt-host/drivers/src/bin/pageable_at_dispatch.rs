//! Writes to paged pool at `DISPATCH_LEVEL`.

#![no_std]
#![no_main]

use drivers::buggy;
use drivers::sys::{
    DriverObject, ExAllocatePool2, ExFreePoolWithTag, KeLowerIrql, KfRaiseIrql, NO_RESOURCES, NON_PAGED, PAGED, TAG,
};

drivers::driver!(load, unload);

fn load(_: *mut DriverObject) -> u32 {
    // SAFETY: flags, size and tag are valid.
    let memory = unsafe { ExAllocatePool2(if buggy() { PAGED } else { NON_PAGED }, 64, TAG) };
    if memory.is_null() {
        return NO_RESOURCES;
    }
    // SAFETY: the current IRQL is `PASSIVE_LEVEL`, so every level is allowed.
    let old = unsafe { KfRaiseIrql(2) };
    // SAFETY: allocated above.
    unsafe { memory.write_volatile(1) }; // BUG
    // SAFETY: restores the IRQL from before.
    unsafe { KeLowerIrql(old) };
    // SAFETY: allocated above.
    unsafe { ExFreePoolWithTag(memory, TAG) };
    0
}

fn unload() {}
