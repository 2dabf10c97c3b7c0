//! Types that are the same as their bytes.

/// A type that any bytes are a valid value of, and that has no padding. Implement it for a structure with
/// [`pod!`](crate::pod!).
///
/// # Safety
///
/// Every bit pattern must be a valid value, and the type must have no padding and no pointers.
pub unsafe trait Pod: Copy + 'static {}

macro_rules! implement {
    ($($primitive:ty),*) => {
        $(
            // SAFETY: an integer has no padding, and every bit pattern is valid.
            unsafe impl Pod for $primitive {}
        )*
    };
}

implement!(u8, i8, u16, i16, u32, i32, u64, i64);

// SAFETY: an array has no padding between its elements.
unsafe impl<T: Pod, const N: usize> Pod for [T; N] {}

/// Defines a `#[repr(C)]` structure that is [`Pod`]. It does not compile if a field is not, or if the structure would have
/// padding, or if an attribute removes a field: `#[cfg(…)]` belongs before the whole structure.
///
/// ```ignore
/// pod! {
///     /// The reply to a request.
///     pub struct Statistics {
///         pub requests: u64,
///         pub bytes: u64,
///     }
/// }
/// ```
#[macro_export]
macro_rules! pod {
    ($(#[$attribute:meta])* $visibility:vis struct $name:ident {
        $($(#[$field_attribute:meta])* $field_visibility:vis $field:ident: $kind:ty),+ $(,)?
    }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(C)]
        $visibility struct $name {
            $($(#[$field_attribute])* $field_visibility $field: $kind,)+
        }

        // An attribute can remove, add or change a field, and the sum below would count what was written here. This pattern names every
        // field with its type, so the structure has exactly those.
        const _: fn($name) -> ($($kind,)+) = |$name { $($field),+ }| ($($field,)+);

        const _: () = assert!(
            ::core::mem::size_of::<$name>() == 0 $(+ ::core::mem::size_of::<$kind>())+,
            "the structure has padding: add fields for it"
        );

        // SAFETY: the structure has exactly these fields, they are `Pod`, and it is exactly as large as all of them.
        unsafe impl $crate::Pod for $name where $($kind: $crate::Pod),+ {}
    };
}
