//! Writes an event with a handle that it has unregistered.

#![no_std]
#![no_main]

use core::ptr;

use drivers::buggy;
use drivers::sys::{DriverObject, EVENT, EtwRegister, EtwUnregister, EtwWrite, PROVIDER};

drivers::driver!(load, unload);

fn load(_: *mut DriverObject) -> u32 {
    let mut handle = 0;
    // SAFETY: the pointers to the GUID and the handle are valid.
    let status = unsafe { EtwRegister(&raw const PROVIDER, None, ptr::null_mut(), &raw mut handle) };
    // SAFETY: the routine checks the handle.
    unsafe { EtwUnregister(handle) };
    if buggy() {
        // SAFETY: the mistake: the handle was unregistered above.
        unsafe { EtwWrite(handle, &raw const EVENT, ptr::null(), 0, ptr::null()) }; // BUG
    }
    status
}

fn unload() {}
