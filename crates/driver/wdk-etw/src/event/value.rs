//! How a macro takes the value of a field: by reference for most types, by value for pointers.

use core::ptr::NonNull;

use etw_types::{Guid, NtStatus};

/// Returns the value that a reference points to. A reference to something that derefs to `T` is coerced by the
/// parameter's type.
#[must_use]
#[inline(always)]
pub const fn value<T: Copy>(value: &T) -> T {
    *value
}

/// Returns the reference itself, for values that are larger than a register. Coerces like [`value`].
#[must_use]
#[inline(always)]
pub const fn reference<T: Copy>(value: &T) -> &T {
    value
}

/// The types that an `ntstatus` field accepts.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an NTSTATUS",
    label = "an `ntstatus` field takes a reference to an `NtStatus` or an `i32`"
)]
pub trait StatusValue: Copy {
    /// The code.
    fn code(self) -> u32;
}

impl StatusValue for NtStatus {
    #[inline(always)]
    fn code(self) -> u32 {
        self.as_int()
    }
}

impl StatusValue for i32 {
    #[inline(always)]
    fn code(self) -> u32 {
        self.cast_unsigned()
    }
}

/// The code of a status.
#[must_use]
#[inline(always)]
pub fn ntstatus<T: StatusValue>(status: &T) -> u32 {
    status.code()
}

/// The types that a `kernel_ptr` field accepts.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a raw pointer",
    label = "a `kernel_ptr` field takes a `*const T`, a `*mut T` or a `NonNull<T>` by value"
)]
pub trait KernelPointer {
    /// The address it holds.
    fn address(self) -> usize;
}

impl<T: ?Sized> KernelPointer for *const T {
    #[inline(always)]
    fn address(self) -> usize {
        self.cast::<()>().addr()
    }
}

impl<T: ?Sized> KernelPointer for *mut T {
    #[inline(always)]
    fn address(self) -> usize {
        self.cast::<()>().addr()
    }
}

impl<T: ?Sized> KernelPointer for NonNull<T> {
    #[inline(always)]
    fn address(self) -> usize {
        self.addr().get()
    }
}

/// The address in a pointer.
#[must_use]
#[inline(always)]
pub fn address<P: KernelPointer>(pointer: P) -> usize {
    pointer.address()
}

/// The types that `activity_id` and `related_id` accept.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an activity id",
    label = "an activity id is a reference to a `Guid` or to a `[u8; 16]`"
)]
pub trait ActivityId {
    /// Returns the bytes as they are in memory.
    fn bytes(&self) -> [u8; 16];
}

impl ActivityId for Guid {
    #[inline(always)]
    fn bytes(&self) -> [u8; 16] {
        self.to_bytes_le()
    }
}

impl ActivityId for [u8; 16] {
    #[inline(always)]
    fn bytes(&self) -> [u8; 16] {
        *self
    }
}

impl<T: ActivityId + ?Sized> ActivityId for &T {
    #[inline(always)]
    fn bytes(&self) -> [u8; 16] {
        (**self).bytes()
    }
}

/// The bytes of an id.
#[must_use]
#[inline(always)]
pub fn id_bytes<T: ActivityId + ?Sized>(id: &T) -> [u8; 16] {
    id.bytes()
}
