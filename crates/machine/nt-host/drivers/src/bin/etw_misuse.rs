//! Unregisters its provider in the provider's own callback.

#![no_std]
#![no_main]

use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering};

use drivers::buggy;
use drivers::sys::{DriverObject, EtwRegister, EtwUnregister, PROVIDER};

drivers::driver!(load, unload);

static HANDLE: AtomicU64 = AtomicU64::new(0);

unsafe extern "system" fn enabled(_: *const u128, _: u32, _: u8, _: u64, _: u64, _: *const c_void, _: *mut c_void) {
    if buggy() {
        // SAFETY: the routine checks the handle.
        unsafe { EtwUnregister(HANDLE.load(Ordering::Relaxed)) }; // BUG
    }
}

fn load(_: *mut DriverObject) -> u32 {
    // SAFETY: the GUID and the handle are statics.
    unsafe { EtwRegister(&raw const PROVIDER, Some(enabled), ptr::null_mut(), HANDLE.as_ptr()) }
}

fn unload() {
    // SAFETY: the routine checks the handle.
    unsafe { EtwUnregister(HANDLE.load(Ordering::Relaxed)) };
}
