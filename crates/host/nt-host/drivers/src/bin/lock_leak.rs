//! Returns with a spin lock held.

#![no_std]
#![no_main]

use drivers::buggy;
use drivers::sys::{DriverObject, KeAcquireSpinLockRaiseToDpc, KeLowerIrql, KeReleaseSpinLock, Room};

drivers::driver!(load, unload);

static LOCK: Room = Room::new();

fn load(_: *mut DriverObject) -> u32 {
    // SAFETY: a lock that is free.
    let old = unsafe { KeAcquireSpinLockRaiseToDpc(LOCK.get()) }; // BUG
    if buggy() {
        // SAFETY: back to where it was, but not with the lock.
        unsafe { KeLowerIrql(old) };
    } else {
        // SAFETY: taken above.
        unsafe { KeReleaseSpinLock(LOCK.get(), old) };
    }
    0
}

fn unload() {}
