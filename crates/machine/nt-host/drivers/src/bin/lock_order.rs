//! Acquires two locks in both orders.

#![no_std]
#![no_main]

use drivers::buggy;
use drivers::sys::{
    DriverObject, KeAcquireSpinLockAtDpcLevel, KeAcquireSpinLockRaiseToDpc, KeReleaseSpinLock,
    KeReleaseSpinLockFromDpcLevel, Room,
};

drivers::driver!(load, unload);

static FIRST: Room = Room::new();
static SECOND: Room = Room::new();

fn acquire_both(first: &Room, second: &Room) {
    // SAFETY: the lock is not held.
    let old = unsafe { KeAcquireSpinLockRaiseToDpc(first.get()) };
    // SAFETY: the lock is not held.
    unsafe { KeAcquireSpinLockAtDpcLevel(second.get()) }; // BUG
    // SAFETY: acquired above.
    unsafe { KeReleaseSpinLockFromDpcLevel(second.get()) };
    // SAFETY: acquired above.
    unsafe { KeReleaseSpinLock(first.get(), old) };
}

fn load(_: *mut DriverObject) -> u32 {
    acquire_both(&FIRST, &SECOND);
    if buggy() {
        acquire_both(&SECOND, &FIRST);
    }
    0
}

fn unload() {}
