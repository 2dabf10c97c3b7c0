//! Sets provider traits and returns the status. The last character of the driver's name selects the mistake in them.

#![no_std]
#![no_main]

use core::ptr;

use drivers::sys::{DriverObject, EtwRegister, EtwSetInformation, EtwUnregister, PROVIDER};
use drivers::variant;

drivers::driver!(load, unload);

const SET_TRAITS: u32 = 2;
const USE_DESCRIPTOR_TYPE: u32 = 3;

/// A valid block: the name only.
static GOOD: [u8; 7] = *b"\x07\0Name\0";
/// The size field is not the length of the block.
static WRONG_SIZE: [u8; 7] = *b"\x08\0Name\0";
/// The name has no terminator.
static NO_END: [u8; 6] = *b"\x06\0Name";
/// A trait that is longer than the rest of the block.
static LONG_RECORD: [u8; 10] = *b"\x0A\0Name\0\x13\0\x01";

fn load(_: *mut DriverObject) -> u32 {
    let mut handle = 0;
    // SAFETY: the pointers to the GUID and the handle are valid.
    unsafe { EtwRegister(&raw const PROVIDER, None, ptr::null_mut(), &raw mut handle) };
    let set = |class, data: &[u8]| {
        let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
        // SAFETY: the pointer and the length are those of a slice.
        unsafe { EtwSetInformation(handle, class, data.as_ptr(), length) }
    };
    let status = match variant() {
        b'0' => set(SET_TRAITS, &GOOD),
        b'1' => set(SET_TRAITS, &GOOD[..2]),
        b'2' => set(SET_TRAITS, &WRONG_SIZE),
        b'3' => set(SET_TRAITS, &NO_END),
        b'4' => set(SET_TRAITS, &LONG_RECORD),
        b'5' => set(SET_TRAITS, &GOOD) | set(SET_TRAITS, &GOOD),
        b'6' => set(USE_DESCRIPTOR_TYPE, &[1, 0]),
        b'7' => set(USE_DESCRIPTOR_TYPE, &[2]),
        _ => set(9, &GOOD),
    };
    // SAFETY: the routine checks the handle.
    unsafe { EtwUnregister(handle) };
    status
}

fn unload() {}
