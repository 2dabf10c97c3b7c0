//! Releases a lock that it does not hold.

#![no_std]
#![no_main]

use drivers::buggy;
use drivers::sys::{DriverObject, KeAcquireSpinLockRaiseToDpc, KeReleaseSpinLock, Room};

drivers::driver!(load, unload);

static LOCK: Room = Room::new();

fn load(_: *mut DriverObject) -> u32 {
    if !buggy() {
        // SAFETY: the lock is not held.
        unsafe { KeAcquireSpinLockRaiseToDpc(LOCK.get()) };
    }
    // SAFETY: acquired above, or the mistake.
    unsafe { KeReleaseSpinLock(LOCK.get(), 0) }; // BUG
    0
}

fn unload() {}
