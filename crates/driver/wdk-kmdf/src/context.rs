//! A value of the driver's own type behind a device.

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
/// `INFO` returns a description that was made for this type, and for no other.
pub unsafe trait Context: Sync + Sized + 'static {
    /// How the framework knows this type.
    const INFO: fn() -> &'static ContextInfo;
}

/// Makes a type a [`Context`]: `context!(MyDevice, c"MyDevice");`.
#[macro_export]
macro_rules! context {
    ($context:ty, $name:literal) => {
        // SAFETY: the static below is made for this type, and nobody else can name it.
        unsafe impl $crate::Context for $context {
            const INFO: fn() -> &'static $crate::ContextInfo = || {
                static INFO: $crate::ContextInfo = $crate::ContextInfo::describe::<$context>($name, &raw const INFO);
                &INFO
            };
        }
    };
}

/// `WDF_OBJECT_CONTEXT_TYPE_INFO` in a static, made by [`context!`](crate::context!).
#[repr(transparent)]
#[derive(Debug)]
pub struct ContextInfo(WDF_OBJECT_CONTEXT_TYPE_INFO);

// SAFETY: never changed, and its pointers lead to statics that are never changed.
unsafe impl Sync for ContextInfo {}

impl ContextInfo {
    /// Describes `T`; `this` is the address of the static that holds the result.
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

    /// For an object's attributes.
    pub(crate) const fn as_raw(&'static self) -> *const WDF_OBJECT_CONTEXT_TYPE_INFO {
        &raw const self.0
    }
}

/// The memory of a context. The framework zeroes it, which is an empty slot.
struct Slot<T> {
    filled: AtomicBool,
    value: UnsafeCell<MaybeUninit<T>>,
}

/// The slot behind an object.
///
/// # Safety
///
/// The object was created with a context of type `T`, and lives for `'a`.
unsafe fn slot<'a, T: Context>(object: WDFOBJECT) -> Option<&'a Slot<T>> {
    let info = T::INFO().as_raw();
    // SAFETY: the object is alive, and the description is the one that its context was created with.
    let slot: *mut c_void = unsafe { call_unsafe_wdf_function_binding!(WdfObjectGetTypedContextWorker, object, info) };
    // SAFETY: null, or the context of that description: zeroed memory of a slot's size, alive as long as the object.
    unsafe { slot.cast_const().cast::<Slot<T>>().as_ref() }
}

/// Puts the context's value into place, once.
///
/// # Safety
///
/// The object was created with a context of type `T`, lives, and is known to nobody else yet.
pub(crate) unsafe fn fill<T: Context>(object: WDFOBJECT, value: T) {
    // SAFETY: by this function's contract.
    if let Some(slot) = unsafe { slot::<T>(object) } {
        // SAFETY: nobody else knows the object, so nobody else writes here, and nobody reads before `filled`.
        unsafe { slot.value.get().write(MaybeUninit::new(value)) };
        slot.filled.store(true, Ordering::Release);
    }
}

/// The context's value; `None` where the object has none yet.
///
/// # Safety
///
/// The object was created with a context of type `T`, and lives for `'a`.
pub(crate) unsafe fn get<'a, T: Context>(object: WDFOBJECT) -> Option<&'a T> {
    // SAFETY: by this function's contract.
    let slot = unsafe { slot::<T>(object) }?;
    if !slot.filled.load(Ordering::Acquire) {
        return None;
    }
    // SAFETY: filled, and never written again.
    let value = unsafe { &*slot.value.get() };
    // SAFETY: `fill` wrote a value before it set `filled`.
    Some(unsafe { value.assume_init_ref() })
}
