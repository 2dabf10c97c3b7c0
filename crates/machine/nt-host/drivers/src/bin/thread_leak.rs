//! Unloads while one of its threads waits; the thread then continues in unmapped code.

#![no_std]
#![no_main]

use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use drivers::buggy;
use drivers::sys::{
    DriverObject, KeDelayExecutionThread, KeWaitForSingleObject, ObReferenceObjectByHandle, ObfDereferenceObject,
    PsCreateSystemThread, ZwClose,
};

drivers::driver!(load, unload);

static THREAD: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

unsafe extern "system" fn run(_: *mut c_void) {
    let second = -10_000_000_i64;
    // SAFETY: the pointer to the interval is valid.
    unsafe { KeDelayExecutionThread(0, 0, &raw const second) };
}

fn load(_: *mut DriverObject) -> u32 {
    let mut handle = 0;
    let none = ptr::null_mut();
    // SAFETY: `handle` is writable, and the thread routine accepts any context.
    let status = unsafe { PsCreateSystemThread(&raw mut handle, 0, none, 0, none, run, none) }; // BUG
    if status != 0 {
        return status;
    }
    // SAFETY: the handle was opened above, and `THREAD` is a static.
    let status = unsafe { ObReferenceObjectByHandle(handle, 0, none, 0, THREAD.as_ptr(), none) };
    // SAFETY: opened above.
    unsafe { ZwClose(handle) };
    if status != 0 {
        // Without the thread object, a delay is the only way to wait for the end of the thread.
        let seconds = -20_000_000_i64;
        // SAFETY: the pointer to the interval is valid.
        unsafe { KeDelayExecutionThread(0, 0, &raw const seconds) };
    }
    status
}

fn unload() {
    let thread = THREAD.load(Ordering::Relaxed);
    if !buggy() {
        // SAFETY: referenced when loaded.
        unsafe { KeWaitForSingleObject(thread, 0, 0, 0, ptr::null()) };
    }
    // SAFETY: referenced when loaded.
    unsafe { ObfDereferenceObject(thread) };
}
