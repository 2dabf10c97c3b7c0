//! The macro that declares the layouts: the structure, assertions about its size and offsets, and functions that encode
//! and parse it.
//!
//! Every field is encoded separately, so padding is never read and is written as zeros.

use crate::Guid;

/// A value with a little-endian encoding.
pub(crate) trait Wire: Sized {
    /// Reads the value at `offset`. Returns `None` if it does not lie within `bytes`.
    fn get(bytes: &[u8], offset: usize) -> Option<Self>;
    /// Writes the value at `offset`. Does nothing if it does not lie within `bytes`.
    fn put(&self, bytes: &mut [u8], offset: usize);
}

fn array<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk().copied()
}

fn store<const N: usize>(bytes: &mut [u8], offset: usize, value: [u8; N]) {
    if let Some(place) = bytes.get_mut(offset..).and_then(<[u8]>::first_chunk_mut) {
        *place = value;
    }
}

macro_rules! wire_int {
    ($($int:ty),*) => {$(
        impl Wire for $int {
            fn get(bytes: &[u8], offset: usize) -> Option<Self> {
                array(bytes, offset).map(Self::from_le_bytes)
            }

            fn put(&self, bytes: &mut [u8], offset: usize) {
                store(bytes, offset, self.to_le_bytes());
            }
        }
    )*};
}

wire_int!(u8, u16, u32, u64, i32, i64);

impl Wire for Guid {
    fn get(bytes: &[u8], offset: usize) -> Option<Self> {
        array(bytes, offset).map(Self::from_bytes_le)
    }

    fn put(&self, bytes: &mut [u8], offset: usize) {
        store(bytes, offset, self.to_bytes_le());
    }
}

impl<T: Wire + Copy + Default, const N: usize> Wire for [T; N] {
    fn get(bytes: &[u8], offset: usize) -> Option<Self> {
        let mut values = [T::default(); N];
        for (index, value) in values.iter_mut().enumerate() {
            *value = T::get(bytes, offset.checked_add(index.checked_mul(size_of::<T>())?)?)?;
        }
        Some(values)
    }

    fn put(&self, bytes: &mut [u8], offset: usize) {
        for (index, value) in self.iter().enumerate() {
            value.put(bytes, offset + index * size_of::<T>());
        }
    }
}

/// Declares a C structure by the offsets of its fields.
macro_rules! wire_struct {
    (
        $(#[$meta:meta])*
        $name:ident($size:literal) {
            $( $(#[$field_meta:meta])* $field:ident: $type:ty = $offset:literal, )*
        }
    ) => {
        $(#[$meta])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $( $(#[$field_meta])* pub $field: $type, )*
        }

        const _: () = {
            assert!(size_of::<$name>() == $size);
            $( assert!(core::mem::offset_of!($name, $field) == $offset); )*
        };

        impl $name {
            /// Size of the structure in bytes.
            pub const SIZE: usize = $size;

            /// Parses the structure at the start of `bytes`. Returns `None` if there are fewer than
            /// [`SIZE`](Self::SIZE) bytes.
            #[must_use]
            pub fn parse(bytes: &[u8]) -> Option<Self> {
                <Self as $crate::session::wire::Wire>::get(bytes, 0)
            }

            /// Encodes the structure. Padding is zero.
            #[must_use]
            pub fn to_bytes(&self) -> [u8; $size] {
                let mut bytes = [0; $size];
                $crate::session::wire::Wire::put(self, &mut bytes, 0);
                bytes
            }
        }

        impl $crate::session::wire::Wire for $name {
            fn get(bytes: &[u8], offset: usize) -> Option<Self> {
                let bytes = bytes.get(offset..)?.get(..$size)?;
                Some(Self { $( $field: $crate::session::wire::Wire::get(bytes, $offset)?, )* })
            }

            fn put(&self, bytes: &mut [u8], offset: usize) {
                $( $crate::session::wire::Wire::put(&self.$field, bytes, offset + $offset); )*
            }
        }
    };
}
