//! Writes an event, and then one whose data is not there: the machine stops inside `EtwWrite`.

#![no_std]
#![no_main]

use core::ptr;

use drivers::buggy;
use drivers::sys::{DriverObject, EVENT, EtwRegister, EtwUnregister, EtwWrite, PROVIDER};

drivers::driver!(load, unload);

/// `EVENT_DATA_DESCRIPTOR`: address, size and kind.
static NOWHERE: [u64; 2] = [0x10, 8];

fn load(_: *mut DriverObject) -> u32 {
    let mut handle = 0;
    // SAFETY: the GUID and the handle are there.
    unsafe { EtwRegister(&raw const PROVIDER, None, ptr::null_mut(), &raw mut handle) };
    // SAFETY: the descriptor is there; there is no data.
    unsafe { EtwWrite(handle, &raw const EVENT, ptr::null(), 0, ptr::null()) };
    if buggy() {
        // SAFETY: not safe: the data is the mistake.
        unsafe { EtwWrite(handle, &raw const EVENT, ptr::null(), 1, NOWHERE.as_ptr().cast()) }; // BUG
    }
    // SAFETY: any handle is answered.
    unsafe { EtwUnregister(handle) }
}

fn unload() {}
