//! Returns from its entry point without releasing a spin lock.

#![no_std]
#![no_main]

use drivers::buggy;
use drivers::sys::{DriverObject, KeAcquireSpinLockRaiseToDpc, KeLowerIrql, KeReleaseSpinLock, Room};

drivers::driver!(load, unload);

static LOCK: Room = Room::new();

fn load(_: *mut DriverObject) -> u32 {
    // SAFETY: the lock is not held.
    let old = unsafe { KeAcquireSpinLockRaiseToDpc(LOCK.get()) }; // BUG
    if buggy() {
        // SAFETY: restores the IRQL, but does not release the lock.
        unsafe { KeLowerIrql(old) };
    } else {
        // SAFETY: acquired above.
        unsafe { KeReleaseSpinLock(LOCK.get(), old) };
    }
    0
}

fn unload() {}
