//! Status codes: NTSTATUS in the kernel, Win32 errors and HRESULTs in user mode.

pub(crate) mod hresult;
pub(crate) mod nt;
pub(crate) mod win32;

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
                match self.0 {
                    $( $value => Some($c_name), )*
                    _ => None,
                }
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
