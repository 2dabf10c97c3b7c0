//! Arguments of `const fn`s that can be passed by value or by reference.
//!
//! The crate `tracelogging` takes the digits and bytes of GUIDs by reference. A trait method could handle both, but a
//! `const fn` cannot call trait methods yet. It can read an associated constant.

/// A `T` or a `&T`. The trait is not exported, so no other crate can implement it.
pub trait ValueOrReference<T: Copy>: Copy {
    /// Whether the implementing type is `&T`.
    const IS_REFERENCE: bool;
}

impl<T: Copy> ValueOrReference<T> for T {
    const IS_REFERENCE: bool = false;
}

impl<T: Copy> ValueOrReference<T> for &T {
    const IS_REFERENCE: bool = true;
}

/// Returns the value, whichever way it was passed.
#[expect(unsafe_code, reason = "a constant cannot match on a type")]
pub(super) const fn value<T: Copy, G: ValueOrReference<T>>(given: G) -> T {
    #[repr(C)]
    union Either<'a, T: Copy, G: Copy> {
        given: G,
        value: T,
        reference: &'a T,
    }
    let either = Either { given };
    if G::IS_REFERENCE {
        // SAFETY: `IS_REFERENCE` is true only in the implementation for `&T`, so `G` is `&T`.
        *unsafe { either.reference }
    } else {
        // SAFETY: `IS_REFERENCE` is false only in the implementation for `T`, so `G` is `T`.
        unsafe { either.value }
    }
}
