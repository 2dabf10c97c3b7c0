//! Calls a routine of NDIS, which the host does not emulate, and reads a variable of the kernel.

#![no_std]
#![no_main]

use drivers::buggy;
use drivers::sys::DriverObject;

drivers::driver!(load, unload);

#[link(name = "NDIS.SYS", kind = "raw-dylib", modifiers = "+verbatim")]
unsafe extern "system" {
    fn NdisGetVersion() -> u32;
}

#[link(name = "ntoskrnl.exe", kind = "raw-dylib", modifiers = "+verbatim")]
unsafe extern "system" {
    static NtBuildNumber: u32;
}

fn load(_: *mut DriverObject) -> u32 {
    // SAFETY: a variable of the kernel that does not change.
    if unsafe { NtBuildNumber } & 0xFFFF < 7600 {
        return 0xC000_0001;
    }
    if buggy() {
        // SAFETY: the routine has no parameters.
        return unsafe { NdisGetVersion() }; // BUG
    }
    0
}

fn unload() {}
