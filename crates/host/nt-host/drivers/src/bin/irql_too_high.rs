//! Registers a provider at `DISPATCH_LEVEL`.

#![no_std]
#![no_main]

use drivers::buggy;
use drivers::sys::{DriverObject, EtwRegister, EtwUnregister, KeLowerIrql, KfRaiseIrql, PROVIDER};

drivers::driver!(load, unload);

fn load(_: *mut DriverObject) -> u32 {
    let mut handle = 0;
    // SAFETY: raising is always allowed.
    let old = unsafe { KfRaiseIrql(if buggy() { 2 } else { 0 }) };
    // SAFETY: the GUID and the handle are there.
    let status = unsafe { EtwRegister(&raw const PROVIDER, None, core::ptr::null_mut(), &raw mut handle) }; // BUG
    // SAFETY: back to where it was.
    unsafe { KeLowerIrql(old) };
    // SAFETY: any handle is answered.
    unsafe { EtwUnregister(handle) };
    status
}

fn unload() {}
