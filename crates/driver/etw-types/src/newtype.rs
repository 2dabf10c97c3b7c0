//! The macro that declares the integer newtypes.
//!
//! The operating system's enumerations are open: a later Windows may pass a value that this crate does not know.
//! Therefore each of them is a `repr(transparent)` integer with associated constants and not a Rust `enum`.

/// Declares an integer newtype with named constants, conversions and a `Debug` that prints the name.
macro_rules! int_newtype {
    (
        $(#[$type_meta:meta])*
        $name:ident($int:ty) {
            $( $(#[$const_meta:meta])* $constant:ident = $value:expr, )*
        }
    ) => {
        $(#[$type_meta])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name($int);

        #[expect(non_upper_case_globals, reason = "the constants stand for enumeration members")]
        impl $name {
            $( $(#[$const_meta])* pub const $constant: Self = Self($value); )*
        }

        impl $name {
            /// Wraps a raw value.
            #[must_use]
            #[inline(always)]
            pub const fn from_int(value: $int) -> Self {
                Self(value)
            }

            /// Returns the raw value.
            #[must_use]
            #[inline(always)]
            pub const fn as_int(self) -> $int {
                self.0
            }

            /// Returns the name of this value, or `None` if it has none.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $( value if value == $value => Some(stringify!($constant)), )*
                    _ => None,
                }
            }
        }

        impl From<$int> for $name {
            #[inline]
            fn from(value: $int) -> Self {
                Self(value)
            }
        }

        impl From<$name> for $int {
            #[inline]
            fn from(value: $name) -> Self {
                value.0
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self.name() {
                    Some(name) => write!(f, concat!(stringify!($name), "::{}"), name),
                    None => write!(f, concat!(stringify!($name), "({})"), self.0),
                }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self.name() {
                    Some(name) => f.pad(name),
                    None => core::fmt::Display::fmt(&self.0, f),
                }
            }
        }
    };
}
