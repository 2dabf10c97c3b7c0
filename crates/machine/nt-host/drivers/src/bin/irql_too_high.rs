//! Registers a provider at `DISPATCH_LEVEL`.

#![no_std]
#![no_main]

use drivers::buggy;
use drivers::sys::{DriverObject, EtwRegister, EtwUnregister, KeLowerIrql, KfRaiseIrql, PROVIDER};

drivers::driver!(load, unload);

fn load(_: *mut DriverObject) -> u32 {
    let mut handle = 0;
    // SAFETY: the current IRQL is `PASSIVE_LEVEL`, so every level is allowed.
    let old = unsafe { KfRaiseIrql(if buggy() { 2 } else { 0 }) };
    // SAFETY: the pointers to the GUID and the handle are valid.
    let status = unsafe { EtwRegister(&raw const PROVIDER, None, core::ptr::null_mut(), &raw mut handle) }; // BUG
    // SAFETY: restores the IRQL from before.
    unsafe { KeLowerIrql(old) };
    // SAFETY: the routine checks the handle.
    unsafe { EtwUnregister(handle) };
    status
}

fn unload() {}
