//! The context of a device: a value of a type that the driver defines.

use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::mem::{MaybeUninit, align_of, needs_drop, size_of};
use core::sync::atomic::{AtomicBool, Ordering};

use wdk_sys::{WDF_OBJECT_CONTEXT_TYPE_INFO, WDFOBJECT, call_unsafe_wdf_function_binding};

use super::size_field;

/// A type that can be the context of an object. Implement it with [`context!`](crate::context!).
///
/// # Safety
///
/// `INFO` must return a description that was created for this type and for no other.
pub unsafe trait Context: Sync + Sized + 'static {
    /// Returns the description of this type for the framework.
    const INFO: fn() -> &'static ContextInfo;
}

/// Implements [`Context`] for a type: `context!(MyDevice, c"MyDevice");`.
#[macro_export]
macro_rules! context {
    ($context:ty, $name:literal) => {
        // SAFETY: the static below describes this type, and no other code can name it.
        unsafe impl $crate::Context for $context {
            const INFO: fn() -> &'static $crate::ContextInfo = || {
                static INFO: $crate::ContextInfo = $crate::ContextInfo::describe::<$context>($name, &raw const INFO);
                &INFO
            };
        }
    };
}

/// A `WDF_OBJECT_CONTEXT_TYPE_INFO` in a static, created by [`context!`](crate::context!).
#[repr(transparent)]
#[derive(Debug)]
pub struct ContextInfo(WDF_OBJECT_CONTEXT_TYPE_INFO);

// SAFETY: the value never changes, and its pointers refer to statics that never change.
unsafe impl Sync for ContextInfo {}

impl ContextInfo {
    /// Describes `T`. `this` is the address of the static that stores the result.
    #[doc(hidden)]
    #[must_use]
    pub const fn describe<T>(name: &'static core::ffi::CStr, this: *const Self) -> Self {
        const {
            assert!(!needs_drop::<T>(), "the framework frees a context without dropping it");
            assert!(align_of::<Slot<T>>() <= 2 * size_of::<usize>(), "the framework aligns a context like pool memory");
        }
        Self(WDF_OBJECT_CONTEXT_TYPE_INFO {
            Size: size_field::<WDF_OBJECT_CONTEXT_TYPE_INFO>(),
            ContextName: name.as_ptr().cast_mut().cast(),
            ContextSize: size_of::<Slot<T>>(),
            UniqueType: this.cast(),
            EvtDriverGetUniqueContextType: None,
        })
    }

    /// Returns the pointer for an object's attributes.
    pub(crate) const fn as_raw(&'static self) -> *const WDF_OBJECT_CONTEXT_TYPE_INFO {
        &raw const self.0
    }
}

/// The memory of a context. The framework zeroes it, and a zeroed slot is empty.
struct Slot<T> {
    filled: AtomicBool,
    value: UnsafeCell<MaybeUninit<T>>,
}

/// Returns the slot of an object.
///
/// # Safety
///
/// The object must have been created with a context of type `T` and must live for `'a`.
unsafe fn slot<'a, T: Context>(object: WDFOBJECT) -> Option<&'a Slot<T>> {
    let info = T::INFO().as_raw();
    // SAFETY: the object is alive, and its context was created with this description.
    let slot: *mut c_void = unsafe { call_unsafe_wdf_function_binding!(WdfObjectGetTypedContextWorker, object, info) };
    // SAFETY: the pointer is null or the context with that description: zeroed memory with the size of a slot, which
    // lives as long as the object.
    unsafe { slot.cast_const().cast::<Slot<T>>().as_ref() }
}

/// Stores the value of the context. Call it once.
///
/// # Safety
///
/// The object must be alive and have been created with a context of type `T`. No other code may use the object yet.
pub(crate) unsafe fn fill<T: Context>(object: WDFOBJECT, value: T) {
    // SAFETY: guaranteed by the caller.
    if let Some(slot) = unsafe { slot::<T>(object) } {
        // SAFETY: no other code uses the object yet, so there are no other writers, and readers wait for `filled`.
        unsafe { slot.value.get().write(MaybeUninit::new(value)) };
        slot.filled.store(true, Ordering::Release);
    }
}

/// Returns the value of the context, or `None` if it has not been stored yet.
///
/// # Safety
///
/// The object must have been created with a context of type `T` and must live for `'a`.
pub(crate) unsafe fn get<'a, T: Context>(object: WDFOBJECT) -> Option<&'a T> {
    // SAFETY: guaranteed by the caller.
    let slot = unsafe { slot::<T>(object) }?;
    if !slot.filled.load(Ordering::Acquire) {
        return None;
    }
    // SAFETY: the slot is filled, and it is not written again after that.
    let value = unsafe { &*slot.value.get() };
    // SAFETY: `fill` wrote a value before it set `filled`.
    Some(unsafe { value.assume_init_ref() })
}
