//! `UNICODE_STRING` and `ANSI_STRING` with the layout of the kernel's ABI.

use core::mem::{offset_of, size_of};

/// `UNICODE_STRING`: counted UTF-16, not necessarily NUL-terminated.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct UnicodeString {
    /// Bytes in use at `buffer`.
    pub length: u16,
    /// Bytes allocated at `buffer`.
    pub maximum_length: u16,
    /// The characters.
    pub buffer: *const u16,
}

/// `ANSI_STRING`: counted bytes in the system's code page, not necessarily NUL-terminated.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AnsiString {
    /// Bytes in use at `buffer`.
    pub length: u16,
    /// Bytes allocated at `buffer`.
    pub maximum_length: u16,
    /// The characters.
    pub buffer: *const u8,
}

const _: () = {
    assert!(size_of::<UnicodeString>() == 2 * size_of::<usize>());
    assert!(offset_of!(UnicodeString, buffer) == size_of::<usize>());
    assert!(size_of::<AnsiString>() == 2 * size_of::<usize>());
    assert!(offset_of!(AnsiString, buffer) == size_of::<usize>());
};
