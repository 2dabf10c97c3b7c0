//! Acquires a spin lock with `KeAcquireSpinLockAtDpcLevel` at `PASSIVE_LEVEL`.

#![no_std]
#![no_main]

use drivers::buggy;
use drivers::sys::{
    DriverObject, KeAcquireSpinLockAtDpcLevel, KeLowerIrql, KeReleaseSpinLockFromDpcLevel, KfRaiseIrql, Room,
};

drivers::driver!(load, unload);

static LOCK: Room = Room::new();

fn load(_: *mut DriverObject) -> u32 {
    // SAFETY: the current IRQL is `PASSIVE_LEVEL`, so every level is allowed.
    let old = unsafe { KfRaiseIrql(if buggy() { 0 } else { 2 }) };
    // SAFETY: the lock is not held.
    unsafe { KeAcquireSpinLockAtDpcLevel(LOCK.get()) }; // BUG
    // SAFETY: acquired above.
    unsafe { KeReleaseSpinLockFromDpcLevel(LOCK.get()) };
    // SAFETY: restores the IRQL from before.
    unsafe { KeLowerIrql(old) };
    0
}

fn unload() {}
