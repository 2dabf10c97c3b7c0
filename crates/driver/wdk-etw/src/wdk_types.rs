//! The string types of `wdk-sys` as field values.

use wdk_sys::{ANSI_STRING, UNICODE_STRING};

use crate::{RawAnsiString, RawUnicodeString};

// SAFETY: the fields are returned unchanged.
unsafe impl RawUnicodeString for UNICODE_STRING {
    fn raw_parts(&self) -> (*const u16, u16) {
        (self.Buffer.cast_const(), self.Length)
    }
}

// SAFETY: the fields are returned unchanged.
unsafe impl RawAnsiString for ANSI_STRING {
    fn raw_parts(&self) -> (*const u8, u16) {
        (self.Buffer.cast_const().cast(), self.Length)
    }
}
