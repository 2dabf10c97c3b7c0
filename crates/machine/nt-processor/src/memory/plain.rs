//! Types that may be copied between the host and a guest as bytes.

/// A type without padding for which every bit pattern is a valid value.
///
/// # Safety
///
/// Every bit pattern must be a valid value, and no byte of a value may be padding.
pub unsafe trait Plain: Copy + 'static {}

macro_rules! plain {
    ($($int:ty)*) => {
        $(
            // SAFETY: integers have no invalid values and no padding.
            unsafe impl Plain for $int {}
        )*
    };
}
plain!(u8 u16 u32 u64 i8 i16 i32 i64 u128);

// SAFETY: an array has no padding between its elements.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}
// SAFETY: `NtStatus` is a transparent wrapper around an integer.
unsafe impl Plain for etw_types::NtStatus {}
