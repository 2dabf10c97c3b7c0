//! Arguments of constants that are given by value or by reference.
//!
//! `tracelogging` takes digits and bytes of GUIDs by reference. A trait with a method would do for both, but a `const fn` cannot call it
//! yet; it can read an associated constant.

/// A `T` or a `&T`. Only this module can name it, so nothing else implements it.
pub trait ValueOrReference<T: Copy>: Copy {
    /// Whether it is a `&T`.
    const IS_REFERENCE: bool;
}

impl<T: Copy> ValueOrReference<T> for T {
    const IS_REFERENCE: bool = false;
}

impl<T: Copy> ValueOrReference<T> for &T {
    const IS_REFERENCE: bool = true;
}

/// The value.
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
        // SAFETY: `G` is `&T`, by the two implementations.
        *unsafe { either.reference }
    } else {
        // SAFETY: `G` is `T`, by the two implementations.
        unsafe { either.value }
    }
}
