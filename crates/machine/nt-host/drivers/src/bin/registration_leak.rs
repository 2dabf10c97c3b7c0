//! Does not unregister its provider.

#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU64, Ordering};

use drivers::buggy;
use drivers::sys::{DriverObject, EtwRegister, EtwUnregister, PROVIDER};

drivers::driver!(load, unload);

static HANDLE: AtomicU64 = AtomicU64::new(0);

fn load(_: *mut DriverObject) -> u32 {
    // SAFETY: the GUID and the handle are statics.
    unsafe { EtwRegister(&raw const PROVIDER, None, core::ptr::null_mut(), HANDLE.as_ptr()) } // BUG
}

fn unload() {
    if !buggy() {
        // SAFETY: the routine checks the handle.
        unsafe { EtwUnregister(HANDLE.load(Ordering::Relaxed)) };
    }
}
