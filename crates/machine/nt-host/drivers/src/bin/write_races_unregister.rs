//! Unregisters its provider while a thread writes an event.

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
    // SAFETY: the pointer to the descriptor is valid, and the routine checks the handle.
    unsafe { EtwWrite(HANDLE.load(Ordering::Relaxed), &raw const EVENT, ptr::null(), 0, ptr::null()) };
}

fn load(_: *mut DriverObject) -> u32 {
    let mut handle = 0;
    let none = ptr::null_mut();
    // SAFETY: the pointers to the GUID and the handle are valid.
    unsafe { EtwRegister(&raw const PROVIDER, None, none, HANDLE.as_ptr()) };
    // SAFETY: `handle` is writable, and the thread routine accepts any context.
    let status = unsafe { PsCreateSystemThread(&raw mut handle, 0, none, 0, none, run, none) };
    if status != 0 {
        // SAFETY: the routine checks the handle.
        unsafe { EtwUnregister(HANDLE.load(Ordering::Relaxed)) };
        return status;
    }
    // SAFETY: the handle was opened above, and `THREAD` is a static.
    let status = unsafe { ObReferenceObjectByHandle(handle, 0, none, 0, THREAD.as_ptr(), none) };
    // SAFETY: opened above.
    unsafe { ZwClose(handle) };
    if status != 0 {
        let second = -10_000_000_i64;
        // SAFETY: the pointer to the interval is valid. In that time the thread finishes its only write.
        unsafe { drivers::sys::KeDelayExecutionThread(0, 0, &raw const second) };
        // SAFETY: the routine checks the handle.
        unsafe { EtwUnregister(HANDLE.load(Ordering::Relaxed)) };
        return status;
    }
    let thread = THREAD.load(Ordering::Relaxed);
    if !buggy() {
        // SAFETY: referenced above.
        unsafe { KeWaitForSingleObject(thread, 0, 0, 0, ptr::null()) };
    }
    let moment = -1_i64;
    // SAFETY: the pointer to the interval is valid. The delay lets the thread reach its write.
    unsafe { drivers::sys::KeDelayExecutionThread(0, 0, &raw const moment) };
    // SAFETY: the routine checks the handle.
    unsafe { EtwUnregister(HANDLE.load(Ordering::Relaxed)) }; // BUG
    // SAFETY: referenced above.
    unsafe { KeWaitForSingleObject(thread, 0, 0, 0, ptr::null()) };
    // SAFETY: referenced above.
    unsafe { ObfDereferenceObject(thread) };
    status
}

fn unload() {}
