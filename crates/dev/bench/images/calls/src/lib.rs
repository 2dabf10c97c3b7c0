//! A driver that calls a short routine of the kernel. The last letter of its registry path, a digit, says how often: in
//! thousands.

#![no_std]

use support as _;

#[link(name = "ntoskrnl.exe", kind = "raw-dylib", modifiers = "+verbatim")]
unsafe extern "system" {
    safe fn RtlUpperChar(character: i8) -> i8;
}

/// `UNICODE_STRING`.
#[repr(C)]
pub struct Text {
    /// In bytes.
    length: u16,
    maximum: u16,
    buffer: *const u16,
}

/// # Safety
///
/// Only the kernel may call it.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn DriverEntry(_driver: *mut (), path: *const Text) -> u32 {
    // SAFETY: the kernel passes a valid string.
    let path = unsafe { &*path };
    let last = usize::from(path.length / 2).saturating_sub(1);
    // SAFETY: the index is below the length, which is not 0 for a registry path.
    let letter = unsafe { path.buffer.add(last) };
    // SAFETY: as above.
    let digit = unsafe { *letter }.saturating_sub(u16::from(b'0'));
    for _ in 0..1000 * u32::from(digit) {
        RtlUpperChar(b'a'.cast_signed());
    }
    0
}
