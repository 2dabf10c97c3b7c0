//! Unregisters its provider while a thread writes.

#![no_std]
#![no_main]

use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use drivers::buggy;
use drivers::sys::{
    DriverObject, EVENT, EtwRegister, EtwUnregister, EtwWrite, KeWaitForSingleObject, ObReferenceObjectByHandle,
    ObfDereferenceObject, PROVIDER, PsCreateSystemThread, ZwClose,
};

drivers::driver!(load, unload);

static HANDLE: AtomicU64 = AtomicU64::new(0);
static THREAD: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

unsafe extern "system" fn run(_: *mut c_void) {
    // SAFETY: the descriptor is there; any handle is answered.
    unsafe { EtwWrite(HANDLE.load(Ordering::Relaxed), &raw const EVENT, ptr::null(), 0, ptr::null()) };
}

fn load(_: *mut DriverObject) -> u32 {
    let mut handle = 0;
    let none = ptr::null_mut();
    // SAFETY: the GUID and the handle are there.
    unsafe { EtwRegister(&raw const PROVIDER, None, none, HANDLE.as_ptr()) };
    // SAFETY: the handle's place is there, and the routine takes any context.
    let status = unsafe { PsCreateSystemThread(&raw mut handle, 0, none, 0, none, run, none) };
    if status != 0 {
        // SAFETY: any handle is answered.
        unsafe { EtwUnregister(HANDLE.load(Ordering::Relaxed)) };
        return status;
    }
    // SAFETY: opened above; the object's place is there for ever.
    let status = unsafe { ObReferenceObjectByHandle(handle, 0, none, 0, THREAD.as_ptr(), none) };
    // SAFETY: opened above.
    unsafe { ZwClose(handle) };
    if status != 0 {
        let second = -10_000_000_i64;
        // SAFETY: the thread writes once; the interval is there.
        unsafe { drivers::sys::KeDelayExecutionThread(0, 0, &raw const second) };
        // SAFETY: any handle is answered.
        unsafe { EtwUnregister(HANDLE.load(Ordering::Relaxed)) };
        return status;
    }
    let thread = THREAD.load(Ordering::Relaxed);
    if !buggy() {
        // SAFETY: referenced above.
        unsafe { KeWaitForSingleObject(thread, 0, 0, 0, ptr::null()) };
    }
    let moment = -1_i64;
    // SAFETY: the thread gets to its write; the interval is there.
    unsafe { drivers::sys::KeDelayExecutionThread(0, 0, &raw const moment) };
    // SAFETY: any handle is answered.
    unsafe { EtwUnregister(HANDLE.load(Ordering::Relaxed)) }; // BUG
    // SAFETY: referenced above.
    unsafe { KeWaitForSingleObject(thread, 0, 0, 0, ptr::null()) };
    // SAFETY: referenced above.
    unsafe { ObfDereferenceObject(thread) };
    status
}

fn unload() {}
