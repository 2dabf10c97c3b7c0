//! What the kernel-mode and the user-mode routines share: from raw arguments to a call of the engine.
//!
//! Everything returns an NTSTATUS; the user-mode routines translate it.

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

/// The context argument of a callback. Only the provider looks at what it points to.
struct Context(*mut c_void);

// SAFETY: the pointer is passed on, never followed here; by the contract of the register routines the provider's callback
// may be called on any thread with it.
unsafe impl Send for Context {}
// SAFETY: as above; a shared `Context` offers nothing but a copy of the pointer.
unsafe impl Sync for Context {}

impl Context {
    /// A method, so that a closure captures the whole context and not its field.
    const fn get(&self) -> *mut c_void {
        self.0
    }
}

/// Answers a call whose arguments cannot be passed on.
pub(crate) fn refuse(engine: &Engine, routine: Routine) -> NtStatus {
    engine.record(routine, Subject::None, || NtStatus::InvalidParameter)
}

/// # Safety
///
/// As for `EtwRegister`: `provider` and `handle` are NULL or valid for reading and atomic writing, and `callback` may be
/// called with `context` on any thread until the registration is given up.
pub(crate) unsafe fn register(
    origin: Origin,
    provider: *const Guid,
    callback: Option<EnableCallback>,
    context: *mut c_void,
    handle: *mut u64,
) -> NtStatus {
    let host = Host::current();
    let engine = host.engine();
    // SAFETY: NULL or readable by this function's contract.
    let provider = unsafe { read(provider) };
    let Some(provider) = provider else {
        return refuse(engine, Routine::Register);
    };
    if handle.is_null() || (callback.is_none() && !context.is_null()) {
        return refuse(engine, Routine::Register);
    }
    let callback = callback.map(|callback| {
        // SAFETY: callable with this context on any thread by this function's contract.
        unsafe { safe_callback(engine, callback, context) }
    });
    let registered = engine.register_from(origin, provider, callback, |new| {
        // SAFETY: not NULL, hence writable by this function's contract.
        unsafe { publish(handle, new) }
    });
    registered.err().unwrap_or(NtStatus::Success)
}

/// Stores a new handle where the provider reads it, maybe on other threads and before register returns.
///
/// # Safety
///
/// `place` is writable; where it is aligned, other threads access it only atomically during the call.
unsafe fn publish(place: *mut u64, handle: u64) {
    if place.cast::<AtomicU64>().is_aligned() {
        // SAFETY: aligned, writable, and only accessed atomically by this function's contract.
        let place = unsafe { AtomicU64::from_ptr(place) };
        place.store(handle, Ordering::Release);
    } else {
        // SAFETY: writable by this function's contract; alignment is not needed.
        unsafe { place.write_unaligned(handle) };
    }
}

/// Wraps a C callback. While it runs, its thread is on the host that calls it back, whichever that thread entered.
///
/// # Safety
///
/// `callback` may be called with `context` on any thread while the registration exists.
unsafe fn safe_callback(engine: &Engine, callback: EnableCallback, context: *mut c_void) -> Callback {
    let engine = engine.downgrade();
    let context = Context(context);
    Arc::new(move |notification: &Notification<'_>| {
        let _here = engine.upgrade().map(|engine| Host::of(engine).enter());
        let filter = notification.filter.map(|filter| EventFilterDescriptor {
            ptr: filter.data.as_ptr(),
            #[cfg(target_pointer_width = "32")]
            ptr_high: 0,
            size: u32::try_from(filter.data.len()).unwrap_or(u32::MAX),
            kind: filter.kind,
        });
        let filter = filter.as_ref().map_or(ptr::null(), ptr::from_ref);
        // SAFETY: the registration exists (the engine calls back only then); the GUID and the filter live during the call.
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
/// `data` is NULL or readable for `length` bytes, where `length` is at most 0x7FFF.
pub(crate) unsafe fn set_information(handle: u64, class: EventInfoClass, data: *const c_void, length: u32) -> NtStatus {
    // SAFETY: the same contract.
    let buffer = unsafe { buffer(data, length) };
    Host::current().engine().set_information(handle, class, buffer)
}

/// # Safety
///
/// `descriptor` is NULL or readable.
pub(crate) unsafe fn event_enabled(handle: u64, descriptor: *const EventDescriptor) -> u8 {
    // SAFETY: NULL or readable by this function's contract.
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

/// The pointers of a write.
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

/// Writes an event; `default_activity` returns the id to use where the caller passes none.
///
/// # Safety
///
/// Each pointer of `write` is NULL or readable; `data` for the first 128 of `count` descriptors, and each of those for
/// its size where the sizes together are at most 64 KiB.
pub(crate) unsafe fn write(write: &RawWrite<'_>, default_activity: impl FnOnce(&Engine) -> Guid) -> NtStatus {
    let host = Host::current();
    let engine = host.engine();
    // SAFETY: NULL or readable by this function's contract.
    let descriptor = unsafe { read(write.descriptor) };
    let Some(descriptor) = descriptor else {
        return refuse(engine, write.routine);
    };
    // SAFETY: NULL or readable by this function's contract.
    let activity = unsafe { read(write.activity) };
    // SAFETY: NULL or readable by this function's contract.
    let related = unsafe { read(write.related) };
    // SAFETY: this function's contract is that of the array.
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
/// `activity` is NULL or readable; `text` is NULL or a terminated string.
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
    // SAFETY: NULL or terminated by this function's contract.
    let text = unsafe { read_wide(text) };
    let Some(text) = text else {
        return refuse(engine, Routine::WriteString);
    };
    // SAFETY: NULL or readable by this function's contract.
    let activity = unsafe { read(activity) };
    let activity = activity.unwrap_or_else(|| default_activity(engine));
    engine.write_string(handle, Level::from_int(level), Keyword::from_bits(keyword), Some(activity), &text)
}

/// Runs `control` on a copy of the id and stores the copy back.
///
/// # Safety
///
/// `id` is NULL, or readable and writable.
pub(crate) unsafe fn activity_id_control(
    id: *mut Guid,
    control: impl FnOnce(&Engine, &mut Guid) -> NtStatus,
) -> NtStatus {
    let host = Host::current();
    // SAFETY: NULL or readable by this function's contract.
    let Some(mut copy) = (unsafe { read(id.cast_const()) }) else {
        return refuse(host.engine(), Routine::ActivityIdControl);
    };
    let status = control(host.engine(), &mut copy);
    if status.is_success() {
        // SAFETY: not NULL, hence writable by this function's contract; alignment is not needed.
        unsafe { id.write_unaligned(copy) };
    }
    status
}

/// An address that stands for the current thread and for no other that runs.
pub(crate) fn thread_object() -> *const c_void {
    thread_local!(static OBJECT: u64 = const { 0 });
    OBJECT.with(|object| ptr::from_ref(object).cast())
}
