//! What the images have in common: the kernel's routines that compiled code calls implicitly, and a panic handler.

#![no_std]

use core::ffi::c_void;
use core::panic::PanicInfo;

#[link(name = "ntoskrnl.exe", kind = "raw-dylib", modifiers = "+verbatim")]
unsafe extern "system" {
    fn KeBugCheckEx(code: u32, a: usize, b: usize, c: usize, d: usize) -> !;
}

// Public, so that they count as used: the compiler emits calls to them implicitly. The kernel exports all of them.
#[link(name = "ntoskrnl.exe", kind = "raw-dylib", modifiers = "+verbatim")]
unsafe extern "C" {
    pub fn memcpy(to: *mut c_void, from: *const c_void, length: usize) -> *mut c_void;
    pub fn memmove(to: *mut c_void, from: *const c_void, length: usize) -> *mut c_void;
    pub fn memset(to: *mut c_void, value: i32, length: usize) -> *mut c_void;
    pub fn memcmp(a: *const c_void, b: *const c_void, length: usize) -> i32;
    pub fn __chkstk();
}

// `tracelogging` declares these without a library. The WDK's import library would name the same one.
#[link(name = "ntoskrnl.exe", kind = "raw-dylib", modifiers = "+verbatim")]
unsafe extern "C" {
    pub fn EtwRegister();
    pub fn EtwUnregister();
    pub fn EtwSetInformation();
    pub fn EtwWriteTransfer();
}

/// The linker requires this symbol if code uses floating point.
#[unsafe(no_mangle)]
pub static _fltused: i32 = 0;

/// "RPNC", the bug check code that Microsoft's `wdk-panic` uses.
const RUST_PANIC: u32 = 0x5250_4E43;

/// Stops the machine and reports the location of the panic. An image that imports the routine has a path that panics.
#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let (file, line) = info.location().map_or(("", 0), |at| (at.file(), at.line()));
    let text = file.as_ptr().expose_provenance();
    let length = file.len();
    // SAFETY: the routine accepts any numbers at any IRQL and does not return.
    unsafe { KeBugCheckEx(RUST_PANIC, text, length, line as usize, 0) }
}
