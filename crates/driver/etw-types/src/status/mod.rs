//! Status codes: NTSTATUS in the kernel, Win32 errors and HRESULTs in user mode.

pub(crate) mod hresult;
pub(crate) mod nt;
pub(crate) mod win32;

use core::fmt::{self, Write as _};

/// Returns the name of `code`. `names` has the names in the order of `codes`; each one ends with a line feed.
///
/// A `match` would add a jump table, and a pointer and a length for each name, to every driver that prints a status.
const fn name_of(code: u32, mut codes: &[u32], names: &'static str) -> Option<&'static str> {
    let mut rest = names;
    while let [candidate, others @ ..] = codes {
        let mut length = 0;
        let mut bytes = rest.as_bytes();
        while let [byte, tail @ ..] = bytes
            && *byte != b'\n'
        {
            length += 1;
            bytes = tail;
        }
        let Some((name, behind)) = rest.split_at_checked(length) else { return None };
        if *candidate == code {
            return Some(name);
        }
        let Some((_, behind)) = behind.split_at_checked(1) else { return None };
        codes = others;
        rest = behind;
    }
    None
}

/// Writes a code as it is usually written: a lower-case prefix and eight upper-case digits.
///
/// This function and `write_name` do not use `{:08X}` and `{}`: their code for padding adds 3 KiB to a driver's image.
fn write_code(f: &mut fmt::Formatter<'_>, code: u32) -> fmt::Result {
    f.write_str("0x")?;
    for digit in (0..8).rev().map(|digit| (code >> (4 * digit)) & 0xF) {
        f.write_char(char::from_digit(digit, 16).map_or('?', |digit| digit.to_ascii_uppercase()))?;
    }
    Ok(())
}

/// Writes a space and the name of a code, if it has a name.
fn write_name(f: &mut fmt::Formatter<'_>, name: Option<&str>) -> fmt::Result {
    let Some(name) = name else { return Ok(()) };
    f.write_char(' ')?;
    f.write_str(name)
}

/// Declares a status newtype: named constants, and a `Debug` that prints the code and its C name.
macro_rules! status_newtype {
    (
        $(#[$type_meta:meta])*
        $name:ident {
            $( $(#[$const_meta:meta])* $constant:ident = $value:literal $c_name:literal, )*
        }
    ) => {
        $(#[$type_meta])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        #[expect(non_upper_case_globals, reason = "the constants stand for enumeration members")]
        impl $name {
            $(
                #[doc = concat!("`", $c_name, "`, ", stringify!($value), ".")]
                #[doc(alias = $c_name)]
                $(#[$const_meta])*
                pub const $constant: Self = Self($value);
            )*
        }

        impl $name {
            /// Wraps a code.
            #[must_use]
            #[inline(always)]
            pub const fn from_int(code: u32) -> Self {
                Self(code)
            }

            /// Returns the code.
            #[must_use]
            #[inline(always)]
            pub const fn as_int(self) -> u32 {
                self.0
            }

            /// Returns the C name of this code, or `None` if this crate does not know it.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                $crate::status::name_of(self.0, &[$($value),*], concat!($($c_name, "\n"),*))
            }

            /// Returns the codes that have a name here.
            #[must_use]
            pub const fn all() -> &'static [Self] {
                &[$(Self($value)),*]
            }

            /// Converts the status to a `Result`.
            ///
            /// # Errors
            ///
            /// Returns the status itself if it is not a success.
            #[inline]
            pub const fn ok(self) -> Result<(), Self> {
                if self.is_success() { Ok(()) } else { Err(self) }
            }
        }

        impl From<u32> for $name {
            fn from(code: u32) -> Self {
                Self(code)
            }
        }

        impl From<$name> for u32 {
            fn from(status: $name) -> Self {
                status.0
            }
        }

        impl PartialEq<u32> for $name {
            fn eq(&self, code: &u32) -> bool {
                self.0 == *code
            }
        }

        impl PartialEq<$name> for u32 {
            fn eq(&self, status: &$name) -> bool {
                *self == status.0
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl core::error::Error for $name {}
    };
}
pub(crate) use status_newtype;
