//! The macro behind the layouts: a structure, its size and offsets as assertions, and its bytes both ways.
//!
//! Bytes are taken field by field, so padding is never read and is zero where it is written.

use crate::Guid;

/// A value that stands in a layout in little-endian order.
pub(crate) trait Wire: Sized {
    /// The value at `offset`; `None` where it does not lie within `bytes`.
    fn get(bytes: &[u8], offset: usize) -> Option<Self>;
    /// Puts the value at `offset`. Does nothing where it does not lie within `bytes`.
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

/// Declares a structure of the C interface by the offsets of its members.
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
            /// Bytes of the structure.
            pub const SIZE: usize = $size;

            /// The structure at the start of `bytes`; `None` where there are fewer than [`SIZE`](Self::SIZE).
            #[must_use]
            pub fn parse(bytes: &[u8]) -> Option<Self> {
                <Self as $crate::session::wire::Wire>::get(bytes, 0)
            }

            /// The bytes of the structure; padding is zero.
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
