//! What the kernel-mode and the user-mode routines share: they convert raw arguments to calls of the engine.
//!
//! Everything returns an NTSTATUS, which the user-mode routines translate. `kernel` and `user` have only the C declarations: names,
//! parameters, results and contracts differ, so that a macro for both would be no shorter, and would hide what callers must prove.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use etw_engine::{Callback, Engine, EventWrite, Notification, Origin, Routine, Subject};
use etw_types::{
    EventDataDescriptor, EventDescriptor, EventFilterDescriptor, EventInfoClass, Guid, Keyword, Level, NtStatus,
};

use crate::Host;
use crate::memory::{RawBlocks, buffer, read, read_wide};

/// `PETWENABLECALLBACK`, `PENABLECALLBACK`: source, control code, level, any, all, filter data, context.
pub type EnableCallback =
    unsafe extern "system" fn(*const Guid, u32, u8, u64, u64, *const EventFilterDescriptor, *mut c_void);

/// The context argument of a callback. Only the provider dereferences it.
struct Context(*mut c_void);

// SAFETY: the pointer is only passed on and never dereferenced here. The contract of the register routines allows
// calling the provider's callback with it on any thread.
unsafe impl Send for Context {}
// SAFETY: as above; a shared `Context` only gives out copies of the pointer.
unsafe impl Sync for Context {}

impl Context {
    /// A method, so that a closure captures the whole context and not only its field.
    const fn get(&self) -> *mut c_void {
        self.0
    }
}

/// Rejects a call whose arguments cannot be passed on.
pub(crate) fn refuse(engine: &Engine, routine: Routine) -> NtStatus {
    engine.record(routine, Subject::None, || NtStatus::InvalidParameter)
}

/// # Safety
///
/// The contract of `EtwRegister`: `provider` must be NULL or readable; `handle` must be NULL or writable, and other
/// threads must access it only atomically during the call; `callback` may be called with `context` on any thread until
/// the provider is unregistered.
pub(crate) unsafe fn register(
    origin: Origin,
    provider: *const Guid,
    callback: Option<EnableCallback>,
    context: *mut c_void,
    handle: *mut u64,
) -> NtStatus {
    let host = Host::current();
    let engine = host.engine();
    // SAFETY: the caller guarantees that the pointer is NULL or readable.
    let provider = unsafe { read(provider) };
    let Some(provider) = provider else {
        return refuse(engine, Routine::Register);
    };
    if handle.is_null() || (callback.is_none() && !context.is_null()) {
        return refuse(engine, Routine::Register);
    }
    let callback = callback.map(|callback| {
        // SAFETY: the caller guarantees that the callback may be called with this context on any thread.
        unsafe { safe_callback(engine, callback, context) }
    });
    let registered = engine.register_from(origin, provider, callback, |new| {
        // SAFETY: `handle` is not NULL, so the caller guarantees that it is writable.
        unsafe { publish(handle, new) }
    });
    registered.err().unwrap_or(NtStatus::Success)
}

/// Stores a new handle in the variable of the provider. Other threads may read it, even before the register routine
/// returns.
///
/// # Safety
///
/// `place` must be writable. If it is aligned, other threads must access it only atomically during the call.
unsafe fn publish(place: *mut u64, handle: u64) {
    if place.cast::<AtomicU64>().is_aligned() {
        // SAFETY: `place` is aligned; the caller guarantees that it is writable and only accessed atomically.
        let place = unsafe { AtomicU64::from_ptr(place) };
        place.store(handle, Ordering::Release);
    } else {
        // SAFETY: the caller guarantees that `place` is writable; it need not be aligned.
        unsafe { place.write_unaligned(handle) };
    }
}

/// Wraps a C callback. While it runs, its thread uses the host that runs the callback, whatever host the thread
/// entered.
///
/// # Safety
///
/// `callback` may be called with `context` on any thread while the registration exists.
unsafe fn safe_callback(engine: &Engine, callback: EnableCallback, context: *mut c_void) -> Callback {
    let engine = engine.downgrade();
    let context = Context(context);
    Arc::new(move |notification: &Notification<'_>| {
        let _here = engine.upgrade().map(|engine| Host::with_engine(engine).enter());
        let filter = notification.filter.map(|filter| EventFilterDescriptor {
            ptr: filter.data.as_ptr(),
            #[cfg(target_pointer_width = "32")]
            ptr_high: 0,
            size: u32::try_from(filter.data.len()).unwrap_or(u32::MAX),
            kind: filter.kind,
        });
        let filter = filter.as_ref().map_or(ptr::null(), ptr::from_ref);
        // SAFETY: the registration exists, because the engine runs callbacks only then; the GUID and the filter outlive
        // the call.
        unsafe {
            callback(
                &raw const notification.source,
                notification.control.as_int(),
                notification.level.as_int(),
                notification.any,
                notification.all,
                filter,
                context.get(),
            );
        }
    })
}

/// # Safety
///
/// `data` must be NULL, or readable for `length` bytes if `length` is at most 0x7FFF.
pub(crate) unsafe fn set_information(handle: u64, class: EventInfoClass, data: *const c_void, length: u32) -> NtStatus {
    // SAFETY: the caller upholds the same contract.
    let buffer = unsafe { buffer(data, length) };
    Host::current().engine().set_information(handle, class, buffer)
}

/// # Safety
///
/// `descriptor` must be NULL or readable.
pub(crate) unsafe fn event_enabled(handle: u64, descriptor: *const EventDescriptor) -> u8 {
    // SAFETY: the caller guarantees that the pointer is NULL or readable.
    let descriptor = unsafe { read(descriptor) };
    let host = Host::current();
    descriptor.map_or_else(
        || {
            refuse(host.engine(), Routine::EventEnabled);
            0
        },
        |descriptor| u8::from(host.engine().event_enabled(handle, &descriptor)),
    )
}

pub(crate) fn provider_enabled(handle: u64, level: u8, keyword: u64) -> u8 {
    let keyword = Keyword::from_bits(keyword);
    let enabled = Host::current().engine().provider_enabled(handle, Level::from_int(level), keyword);
    u8::from(enabled)
}

/// The raw arguments of a write.
pub(crate) struct RawWrite<'a> {
    pub(crate) routine: Routine,
    pub(crate) handle: u64,
    pub(crate) descriptor: *const EventDescriptor,
    pub(crate) filter: u64,
    pub(crate) flags: u32,
    pub(crate) activity: *const Guid,
    pub(crate) related: *const Guid,
    pub(crate) count: u32,
    pub(crate) data: *const EventDataDescriptor<'a>,
}

/// Writes an event. `default_activity` returns the activity id to use if the caller passes none.
///
/// # Safety
///
/// Each pointer of `write` must be NULL or readable: `data` for the first 128 of `count` descriptors, and the data of
/// each of those for its size if the sizes add up to at most 64 KiB.
pub(crate) unsafe fn write(write: &RawWrite<'_>, default_activity: impl FnOnce(&Engine) -> Guid) -> NtStatus {
    let host = Host::current();
    let engine = host.engine();
    // SAFETY: the caller guarantees that the pointer is NULL or readable.
    let descriptor = unsafe { read(write.descriptor) };
    let Some(descriptor) = descriptor else {
        return refuse(engine, write.routine);
    };
    // SAFETY: the caller guarantees that the pointer is NULL or readable.
    let activity = unsafe { read(write.activity) };
    // SAFETY: the caller guarantees that the pointer is NULL or readable.
    let related = unsafe { read(write.related) };
    // SAFETY: the caller guarantees what `RawBlocks::new` requires of the array.
    let blocks = unsafe { RawBlocks::new(write.data, write.count) };
    let event = EventWrite {
        routine: write.routine,
        handle: write.handle,
        descriptor,
        filter: write.filter,
        flags: write.flags,
        activity: Some(activity.unwrap_or_else(|| default_activity(engine))),
        related,
    };
    engine.write(&event, &blocks)
}

/// # Safety
///
/// `activity` must be NULL or readable; `text` must be NULL or a terminated string.
pub(crate) unsafe fn write_string(
    handle: u64,
    level: u8,
    keyword: u64,
    activity: *const Guid,
    text: *const u16,
    default_activity: impl FnOnce(&Engine) -> Guid,
) -> NtStatus {
    let host = Host::current();
    let engine = host.engine();
    // SAFETY: the caller guarantees that the text is NULL or terminated.
    let text = unsafe { read_wide(text) };
    let Some(text) = text else {
        return refuse(engine, Routine::WriteString);
    };
    // SAFETY: the caller guarantees that the pointer is NULL or readable.
    let activity = unsafe { read(activity) };
    let activity = activity.unwrap_or_else(|| default_activity(engine));
    engine.write_string(handle, Level::from_int(level), Keyword::from_bits(keyword), Some(activity), &text)
}

/// Runs `control` on a copy of the id, and stores the copy back on success.
///
/// # Safety
///
/// `id` must be NULL, or readable and writable.
pub(crate) unsafe fn activity_id_control(
    id: *mut Guid,
    control: impl FnOnce(&Engine, &mut Guid) -> NtStatus,
) -> NtStatus {
    let host = Host::current();
    // SAFETY: the caller guarantees that the pointer is NULL or readable.
    let Some(mut copy) = (unsafe { read(id.cast_const()) }) else {
        return refuse(host.engine(), Routine::ActivityIdControl);
    };
    let status = control(host.engine(), &mut copy);
    if status.is_success() {
        // SAFETY: `id` is not NULL, so the caller guarantees that it is writable; it need not be aligned.
        unsafe { id.write_unaligned(copy) };
    }
    status
}

/// Returns an address that is unique among the running threads.
pub(crate) fn thread_object() -> *const c_void {
    thread_local!(static OBJECT: u64 = const { 0 });
    OBJECT.with(|object| ptr::from_ref(object).cast())
}
