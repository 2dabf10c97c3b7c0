//! Counted strings.

use super::layout;
use crate::memory::{Fault, GuestPtr};

layout! {
    UNICODE_STRING: 16 {
        Length: u16,
        MaximumLength: u16,
        Padding: u32,
        Buffer: GuestPtr<u16>,
    }

    /// `ANSI_STRING`, `OEM_STRING` and `UTF8_STRING`.
    STRING: 16 {
        Length: u16,
        MaximumLength: u16,
        Padding: u32,
        Buffer: GuestPtr<u8>,
    }
}

/// The maximum number of units that are read from a string without a terminator.
const LONGEST: u64 = 0x8000;

macro_rules! counted {
    ($($string:ident of $unit:ty;)*) => {
        $(
            impl GuestPtr<$string> {
                /// Reads the units; none if this is NULL.
                pub fn units(self) -> Result<Vec<$unit>, Fault> {
                    if self.is_null() {
                        return Ok(Vec::new());
                    }
                    let length = u64::from(self.Length().read()?) / size_of::<$unit>() as u64;
                    self.Buffer().read()?.array(length).read()
                }

                /// Sets all members. Lengths are in bytes.
                pub fn set(self, length: u16, maximum: u16, buffer: GuestPtr<$unit>) -> Result<(), Fault> {
                    self.Length().write(length)?;
                    self.MaximumLength().write(maximum)?;
                    self.Buffer().write(buffer)
                }
            }
        )*
    };
}
counted! {
    UNICODE_STRING of u16;
    STRING of u8;
}

impl GuestPtr<UNICODE_STRING> {
    /// Reads the text; empty if this is NULL.
    pub fn text(self) -> Result<String, Fault> {
        self.units().map(|units| String::from_utf16_lossy(&units))
    }
}

impl GuestPtr<u8> {
    /// Reads the bytes of a string up to its terminator.
    pub fn terminated(self) -> Result<Vec<u8>, Fault> {
        self.until(0, LONGEST)
    }
}

impl GuestPtr<u16> {
    /// Reads the units of a string up to its terminator.
    pub fn terminated(self) -> Result<Vec<u16>, Fault> {
        self.until(0, LONGEST)
    }

    /// Reads the text of a string up to its terminator; empty if this is NULL.
    pub fn text(self) -> Result<String, Fault> {
        if self.is_null() {
            return Ok(String::new());
        }
        self.terminated().map(|units| String::from_utf16_lossy(&units))
    }
}
