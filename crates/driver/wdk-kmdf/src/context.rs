//! The value that the layer keeps in the context of a framework object.
//!
//! All objects have contexts of one type for the framework, with sizes of their own (`ContextSizeOverride`). Which Rust
//! type a context holds follows from the object: the callbacks of a device of type `T` are compiled for `T`. Where code
//! of a driver names the type, [`get_checked`] compares it.
//!
//! A value is stored once, after the object is created, and dropped when the framework destroys the object, that is,
//! after the last reference to it is gone. So no reference to a value outlives it.

use core::any::TypeId;
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::mem::{MaybeUninit, align_of, needs_drop, size_of};
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, Ordering};

use wdk_sys::{
    _WDF_EXECUTION_LEVEL, _WDF_SYNCHRONIZATION_SCOPE, WDF_OBJECT_ATTRIBUTES, WDF_OBJECT_CONTEXT_TYPE_INFO, WDFOBJECT,
};

use crate::call::wdf;
use crate::size_field;

#[repr(transparent)]
struct Info(WDF_OBJECT_CONTEXT_TYPE_INFO);

// SAFETY: the value never changes, and its pointers refer to statics that never change.
unsafe impl Sync for Info {}

/// The context type of every object. `UniqueType` identifies it.
static INFO: Info = Info(WDF_OBJECT_CONTEXT_TYPE_INFO {
    Size: size_field::<WDF_OBJECT_CONTEXT_TYPE_INFO>(),
    ContextName: c"wdk_kmdf".as_ptr().cast_mut().cast(),
    ContextSize: size_of::<Slot<()>>(),
    UniqueType: (&raw const INFO).cast(),
    EvtDriverGetUniqueContextType: None,
});

/// The memory of a context. The framework zeroes it, and a zeroed slot is empty.
#[repr(C)]
struct Slot<T> {
    filled: AtomicBool,
    kind: UnsafeCell<MaybeUninit<TypeId>>,
    value: UnsafeCell<MaybeUninit<T>>,
}

/// A callback of an object when it is deleted, or when its memory is freed.
pub(crate) type ObjectCallback = unsafe extern "C" fn(WDFOBJECT);

/// Returns the attributes of an object with a context for a `T`. The value is dropped when the object is destroyed. `parent` is null
/// if the framework chooses it.
pub(crate) fn attributes<T: 'static>(parent: WDFOBJECT, cleanup: Option<ObjectCallback>) -> WDF_OBJECT_ATTRIBUTES {
    const {
        assert!(align_of::<Slot<T>>() <= 2 * size_of::<usize>(), "the framework aligns a context like pool memory");
    }
    let destroy: Option<ObjectCallback> = if needs_drop::<T>() { Some(destroy::<T>) } else { None };
    attributes_of_size(parent, cleanup, destroy, size_of::<Slot<T>>())
}

/// The part of [`attributes`] that is the same for all types. A driver creates many objects, so the code is not repeated there.
#[inline(never)]
fn attributes_of_size(
    parent: WDFOBJECT,
    cleanup: Option<ObjectCallback>,
    destroy: Option<ObjectCallback>,
    size: usize,
) -> WDF_OBJECT_ATTRIBUTES {
    WDF_OBJECT_ATTRIBUTES {
        Size: size_field::<WDF_OBJECT_ATTRIBUTES>(),
        EvtCleanupCallback: cleanup,
        EvtDestroyCallback: destroy,
        ExecutionLevel: _WDF_EXECUTION_LEVEL::WdfExecutionLevelInheritFromParent,
        SynchronizationScope: _WDF_SYNCHRONIZATION_SCOPE::WdfSynchronizationScopeInheritFromParent,
        ParentObject: parent,
        ContextSizeOverride: size,
        ContextTypeInfo: &raw const INFO.0,
    }
}

/// Returns the slot of an object, or null if the object has no context of this crate.
///
/// # Safety
///
/// The object must exist.
unsafe fn slot<T>(object: WDFOBJECT) -> *const Slot<T> {
    // SAFETY: guaranteed by the caller.
    unsafe { locate(object) }.cast_const().cast()
}

/// Returns the context of an object. Every callback begins with this call, so the code is not repeated there.
///
/// # Safety
///
/// The object must exist.
#[inline(never)]
unsafe fn locate(object: WDFOBJECT) -> *mut c_void {
    // SAFETY: the caller guarantees that the object exists; the description is a static.
    unsafe { wdf!(WdfObjectGetTypedContextWorker, object, &raw const INFO.0) }
}

/// Stores the value of the context and returns it.
///
/// # Safety
///
/// The object must have been created with [`attributes`] for `T` and must live for `'a`. This must be the only call for it, and no
/// other code may use its context yet, except [`get`].
pub(crate) unsafe fn fill<'a, T: 'static>(object: WDFOBJECT, value: T) -> &'a T {
    // SAFETY: the object exists.
    let slot = unsafe { slot::<T>(object) };
    // SAFETY: an object that was created with a context has it: zeroed memory with the size of a slot, which lives as long as the object.
    let slot = unsafe { &*slot };
    // SAFETY: there is no other writer, and readers wait for `filled`.
    unsafe { slot.kind.get().write(MaybeUninit::new(TypeId::of::<T>())) };
    let place = slot.value.get();
    // SAFETY: as above.
    let value = unsafe { (*place).write(value) };
    slot.filled.store(true, Ordering::Release);
    value
}

/// The place of an object's context, which never moves. Code that has it needs no call of the framework to find the value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place(NonNull<c_void>);

/// Returns the place of an object's context.
///
/// # Safety
///
/// The object must exist.
pub(crate) unsafe fn place(object: WDFOBJECT) -> Option<Place> {
    // SAFETY: guaranteed by the caller.
    let slot = unsafe { slot::<()>(object) };
    NonNull::new(slot.cast_mut().cast()).map(Place)
}

/// Returns the value of the context, or `None` if it has not been stored yet.
///
/// # Safety
///
/// The object must have been created with [`attributes`] for `T` and must live for `'a`.
pub(crate) unsafe fn get<'a, T: 'static>(object: WDFOBJECT) -> Option<&'a T> {
    // SAFETY: guaranteed by the caller.
    let slot = unsafe { slot::<T>(object) };
    // SAFETY: an object that was created with a context has it.
    let place = Place(unsafe { NonNull::new_unchecked(slot.cast_mut().cast()) });
    // SAFETY: guaranteed by the caller.
    unsafe { get_at(place) }
}

/// As [`get`], for an object whose context is at this place.
///
/// # Safety
///
/// As [`get`].
pub(crate) unsafe fn get_at<'a, T: 'static>(place: Place) -> Option<&'a T> {
    // SAFETY: the context lives as long as the object, and holds a slot for a `T`.
    let slot = unsafe { place.0.cast::<Slot<T>>().as_ref() };
    if !slot.filled.load(Ordering::Acquire) {
        return None;
    }
    // SAFETY: the slot is filled, and it is not written again before the object is destroyed.
    let value = unsafe { &*slot.value.get() };
    // SAFETY: `fill` wrote a value before it set `filled`.
    Some(unsafe { value.assume_init_ref() })
}

/// As [`get`], for an object whose type only its creator knows. Returns `None` if the context holds another type.
///
/// # Safety
///
/// The object must live for `'a`. If it has a context of this crate, it was created with [`attributes`].
pub(crate) unsafe fn get_checked<'a, T: 'static>(object: WDFOBJECT) -> Option<&'a T> {
    // The fields before the value are at the same place for every type, because the structure is `repr(C)` and no value
    // has a larger alignment than two pointers.
    // SAFETY: guaranteed by the caller.
    let header = unsafe { slot::<T>(object) };
    if header.is_null() {
        return None;
    }
    // SAFETY: every context of this crate starts with this field.
    let filled = unsafe { &(*header).filled };
    if !filled.load(Ordering::Acquire) {
        return None;
    }
    // SAFETY: the place of the field does not depend on the type of the value.
    let kind = unsafe { (*header).kind.get() };
    // SAFETY: `fill` wrote it before it set `filled`.
    let kind = unsafe { (*kind).assume_init() };
    if kind != TypeId::of::<T>() {
        return None;
    }
    // SAFETY: the context holds a `T`.
    unsafe { get(object) }
}

/// Drops the value, because the object is being destroyed.
unsafe extern "C" fn destroy<T>(object: WDFOBJECT) {
    // SAFETY: the object's memory is valid during this callback.
    let slot = unsafe { slot::<T>(object) };
    // SAFETY: as above; the context was created for a `T`.
    if let Some(slot) = unsafe { slot.as_ref() }
        && slot.filled.swap(false, Ordering::AcqRel)
    {
        // SAFETY: the slot was filled. No reference to the object is left, so none to the value.
        unsafe { ptr::drop_in_place(slot.value.get().cast::<T>()) };
    }
}
