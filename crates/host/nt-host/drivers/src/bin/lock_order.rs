//! Takes two locks in both orders.

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

fn both(first: &Room, second: &Room) {
    // SAFETY: a lock that is free.
    let old = unsafe { KeAcquireSpinLockRaiseToDpc(first.get()) };
    // SAFETY: a lock that is free.
    unsafe { KeAcquireSpinLockAtDpcLevel(second.get()) }; // BUG
    // SAFETY: taken above.
    unsafe { KeReleaseSpinLockFromDpcLevel(second.get()) };
    // SAFETY: taken above.
    unsafe { KeReleaseSpinLock(first.get(), old) };
}

fn load(_: *mut DriverObject) -> u32 {
    both(&FIRST, &SECOND);
    if buggy() {
        both(&SECOND, &FIRST);
    }
    0
}

fn unload() {}
