//! Fixed-size values as bytes: one descriptor for several adjacent values.

use core::mem::size_of;
use core::ptr;
use core::slice;

use etw_types::{EventDataDescriptor, Guid};

/// A value whose bytes can be written to an event as they are.
///
/// # Safety
///
/// The type must have no padding and no interior mutability: all of its `size_of` bytes must be initialised.
pub unsafe trait Scalar: Copy + 'static {}

/// Defines tuples without padding.
macro_rules! packed {
    ($($name:ident($($part:ident)*);)*) => {
        $(
            /// Values without padding between them. The last one can be another such tuple.
            #[repr(C, packed)]
            #[derive(Clone, Copy, Debug)]
            pub struct $name<$($part: Scalar),*>($(pub $part),*);

            // SAFETY: `packed` leaves no padding between or after the values, which have none themselves.
            unsafe impl<$($part: Scalar),*> Scalar for $name<$($part),*> {}
        )*
    };
}

packed! {
    Packed2(A B);
    Packed3(A B C);
    Packed4(A B C D);
    Packed5(A B C D E);
    Packed6(A B C D E F);
    Packed7(A B C D E F G);
    Packed8(A B C D E F G H);
}

// SAFETY: there are no bytes.
unsafe impl Scalar for () {}

// SAFETY: an array has no padding between its elements.
unsafe impl<T: Scalar, const N: usize> Scalar for [T; N] {}

/// Implements `Scalar` for primitive types.
macro_rules! scalars {
    ($($kind:ty),*) => {
        $(
            // SAFETY: a primitive type has no padding.
            unsafe impl Scalar for $kind {}
        )*
    };
}

scalars!(bool, i8, u8, i16, u16, i32, u32, i64, u64, isize, usize, f32, f64);

// SAFETY: the size is that of the fields together, so there is no padding.
unsafe impl Scalar for Guid {}

const _: () = assert!(size_of::<Guid>() == size_of::<u32>() + 2 * size_of::<u16>() + 8);

/// A descriptor for the bytes of one value.
#[must_use]
#[inline(always)]
pub const fn value_descriptor<T: Scalar>(value: &T) -> EventDataDescriptor<'_> {
    slice_descriptor(slice::from_ref(value))
}

/// A descriptor for the bytes of all elements.
#[must_use]
#[inline(always)]
pub const fn slice_descriptor<T: Scalar>(values: &[T]) -> EventDataDescriptor<'_> {
    let start = ptr::from_ref(values).cast::<u8>();
    // SAFETY: `size_of_val` bytes at `start` belong to `values`, which is borrowed as long as the result is; they are all
    // initialised because `T` is `Scalar`.
    let bytes = unsafe { slice::from_raw_parts(start, size_of_val(values)) };
    EventDataDescriptor::new(bytes)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use etw_types::{EventDataDescriptor, Guid};

    use super::{Packed2, Packed4, slice_descriptor, value_descriptor};

    fn bytes(descriptor: EventDataDescriptor<'_>) -> Vec<u8> {
        // SAFETY: a descriptor points at `size` bytes, which are valid for its lifetime.
        unsafe { std::slice::from_raw_parts(descriptor.as_ptr(), descriptor.size() as usize) }.to_vec()
    }

    #[test]
    fn tuples_have_the_bytes_of_their_parts() {
        let packed = Packed4(0x1122_3344_u32, true, 0x5566_u16, Packed2(0x77_u8, 0x99AA_BBCC_DDEE_FF00_u64));
        let expected = [0x44, 0x33, 0x22, 0x11, 1, 0x66, 0x55, 0x77, 0x00, 0xFF, 0xEE, 0xDD, 0xCC, 0xBB, 0xAA, 0x99];
        assert_eq!(bytes(value_descriptor(&packed)), expected);
        assert_eq!(value_descriptor(&()).size(), 0);
    }

    #[test]
    fn slices_are_described_in_bytes() {
        assert_eq!(bytes(slice_descriptor(&[1_u16, 2, 3])), [1, 0, 2, 0, 3, 0]);
        assert_eq!(slice_descriptor::<u64>(&[]).size(), 0);
        let guid = Guid::from_u128(0x0011_2233_4455_6677_8899_AABB_CCDD_EEFF);
        assert_eq!(bytes(value_descriptor(&guid)), guid.to_bytes_le());
    }
}
