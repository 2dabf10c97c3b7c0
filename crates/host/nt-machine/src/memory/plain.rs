//! Types that may be copied between the host and a guest as bytes.

/// A type of which any bytes are a value, and that has no padding.
///
/// # Safety
///
/// Every bit pattern is a valid value, and no byte of a value is padding.
pub(crate) unsafe trait Plain: Copy + 'static {}

macro_rules! plain {
    ($($int:ty)*) => {
        $(
            // SAFETY: integers have no invalid values and no padding.
            unsafe impl Plain for $int {}
        )*
    };
}
plain!(u8 u16 u32 u64 i8 i16 i32 i64 u128);

// SAFETY: elements of an array have no bytes between them.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}
// SAFETY: a transparent u32.
unsafe impl Plain for etw_types::NtStatus {}
