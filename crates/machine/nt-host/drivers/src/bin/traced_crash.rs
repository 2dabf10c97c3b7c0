//! Writes one event, and then one whose data is at an unmapped address: the fault is inside `EtwWrite`.

#![no_std]
#![no_main]

use core::ptr;

use drivers::buggy;
use drivers::sys::{DriverObject, EVENT, EtwRegister, EtwUnregister, EtwWrite, PROVIDER};

drivers::driver!(load, unload);

/// An `EVENT_DATA_DESCRIPTOR` with an unmapped address and a size of 8 bytes.
static NOWHERE: [u64; 2] = [0x10, 8];

fn load(_: *mut DriverObject) -> u32 {
    let mut handle = 0;
    // SAFETY: the pointers to the GUID and the handle are valid.
    unsafe { EtwRegister(&raw const PROVIDER, None, ptr::null_mut(), &raw mut handle) };
    // SAFETY: the pointer to the descriptor is valid, and there is no data.
    unsafe { EtwWrite(handle, &raw const EVENT, ptr::null(), 0, ptr::null()) };
    if buggy() {
        // SAFETY: the mistake: the descriptor points to unmapped memory.
        unsafe { EtwWrite(handle, &raw const EVENT, ptr::null(), 1, NOWHERE.as_ptr().cast()) }; // BUG
    }
    // SAFETY: the routine checks the handle.
    unsafe { EtwUnregister(handle) }
}

fn unload() {}
