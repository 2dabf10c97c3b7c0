//! Takes a spin lock in the way that is for `DISPATCH_LEVEL`, at `PASSIVE_LEVEL`.

#![no_std]
#![no_main]

use drivers::buggy;
use drivers::sys::{
    DriverObject, KeAcquireSpinLockAtDpcLevel, KeLowerIrql, KeReleaseSpinLockFromDpcLevel, KfRaiseIrql, Room,
};

drivers::driver!(load, unload);

static LOCK: Room = Room::new();

fn load(_: *mut DriverObject) -> u32 {
    // SAFETY: raising is always allowed.
    let old = unsafe { KfRaiseIrql(if buggy() { 0 } else { 2 }) };
    // SAFETY: a lock that is free.
    unsafe { KeAcquireSpinLockAtDpcLevel(LOCK.get()) }; // BUG
    // SAFETY: taken above.
    unsafe { KeReleaseSpinLockFromDpcLevel(LOCK.get()) };
    // SAFETY: back to where it was.
    unsafe { KeLowerIrql(old) };
    0
}

fn unload() {}
