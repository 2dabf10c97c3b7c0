//! The routines that ntoskrnl.exe exports, by their exact names.
//!
//! The parameters are those of the WDK's headers. Pointers may be NULL where the documentation allows it, and where it
//! does not the answer is `InvalidParameter` instead of a fault.

use std::ffi::c_void;
use std::ptr;

use etw_engine::{Engine, Origin, Routine, Subject};
use etw_types::{EventDataDescriptor, EventDescriptor, EventInfoClass, Guid, NtStatus, UnicodeString};

use crate::common::{self, EnableCallback, RawWrite};
use crate::{Host, memory};

/// The kernel writes a zero GUID where the caller passes no activity id.
const fn no_activity(_: &Engine) -> Guid {
    Guid::ZERO
}

/// Registers a provider.
///
/// # Safety
///
/// `provider` is NULL or readable. `handle` is NULL or writable, and during the call other threads access it only
/// atomically. `callback` may be called with `context` on any thread until the handle is unregistered.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EtwRegister(
    provider: *const Guid,
    callback: Option<EnableCallback>,
    context: *mut c_void,
    handle: *mut u64,
) -> NtStatus {
    // SAFETY: the same contract.
    unsafe { common::register(Origin::kernel(), provider, callback, context, handle) }
}

/// Gives up a registration.
///
/// # Safety
///
/// None beyond being called through the C ABI; any handle is answered.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EtwUnregister(handle: u64) -> NtStatus {
    Host::current().engine().unregister(handle)
}

/// Sets something about a registration.
///
/// # Safety
///
/// `data` is NULL or readable for `length` bytes. A length above 0x7FFF is refused without reading.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EtwSetInformation(
    handle: u64,
    class: EventInfoClass,
    data: *const c_void,
    length: u32,
) -> NtStatus {
    // SAFETY: the same contract.
    unsafe { common::set_information(handle, class, data, length) }
}

/// Whether a session may want an event.
///
/// # Safety
///
/// `descriptor` is NULL or readable.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EtwEventEnabled(handle: u64, descriptor: *const EventDescriptor) -> u8 {
    // SAFETY: the same contract.
    unsafe { common::event_enabled(handle, descriptor) }
}

/// Whether a session may want events of a level and keyword.
///
/// # Safety
///
/// None beyond being called through the C ABI; any handle is answered.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EtwProviderEnabled(handle: u64, level: u8, keyword: u64) -> u8 {
    common::provider_enabled(handle, level, keyword)
}

/// Writes an event.
///
/// # Safety
///
/// The pointers are NULL or readable; `data` for `count` descriptors, and each descriptor for its size.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EtwWrite(
    handle: u64,
    descriptor: *const EventDescriptor,
    activity: *const Guid,
    count: u32,
    data: *const EventDataDescriptor<'_>,
) -> NtStatus {
    let write = RawWrite {
        routine: Routine::Write,
        handle,
        descriptor,
        filter: 0,
        flags: 0,
        activity,
        related: ptr::null(),
        count,
        data,
    };
    // SAFETY: the same contract.
    unsafe { common::write(&write, no_activity) }
}

/// Writes an event that relates two activities.
///
/// # Safety
///
/// As for [`EtwWrite`]; `related` is NULL or readable.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EtwWriteTransfer(
    handle: u64,
    descriptor: *const EventDescriptor,
    activity: *const Guid,
    related: *const Guid,
    count: u32,
    data: *const EventDataDescriptor<'_>,
) -> NtStatus {
    let write = RawWrite {
        routine: Routine::WriteTransfer,
        handle,
        descriptor,
        filter: 0,
        flags: 0,
        activity,
        related,
        count,
        data,
    };
    // SAFETY: the same contract.
    unsafe { common::write(&write, no_activity) }
}

/// Writes an event with a filter and flags.
///
/// # Safety
///
/// As for [`EtwWriteTransfer`].
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EtwWriteEx(
    handle: u64,
    descriptor: *const EventDescriptor,
    filter: u64,
    flags: u32,
    activity: *const Guid,
    related: *const Guid,
    count: u32,
    data: *const EventDataDescriptor<'_>,
) -> NtStatus {
    let write =
        RawWrite { routine: Routine::WriteEx, handle, descriptor, filter, flags, activity, related, count, data };
    // SAFETY: the same contract.
    unsafe { common::write(&write, no_activity) }
}

/// Writes a string as an event.
///
/// # Safety
///
/// `activity` is NULL or readable; `text` is NULL or a terminated UTF-16 string.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EtwWriteString(
    handle: u64,
    level: u8,
    keyword: u64,
    activity: *const Guid,
    text: *const u16,
) -> NtStatus {
    // SAFETY: the same contract.
    unsafe { common::write_string(handle, level, keyword, activity, text, no_activity) }
}

/// Creates activity ids, and reads and sets the thread's.
///
/// # Safety
///
/// `id` is NULL, or readable and writable.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EtwActivityIdControl(code: u32, id: *mut Guid) -> NtStatus {
    // SAFETY: the same contract.
    unsafe { common::activity_id_control(id, |engine, id| engine.activity_id_control(code, id)) }
}

/// The current thread's object. Nothing is in it: only its address means something, and it is that of no other thread.
#[unsafe(no_mangle)]
pub extern "system" fn KeGetCurrentThread() -> *const c_void {
    common::thread_object()
}

/// Finds a routine of this module by its name; NULL for one that is hidden, or that this module does not have.
///
/// # Safety
///
/// `name` is NULL or readable, and so is its buffer for its length.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn MmGetSystemRoutineAddress(name: *const UnicodeString) -> *mut c_void {
    // SAFETY: the same contract.
    let name = unsafe { memory::read_unicode(name) }.unwrap_or_default();
    let host = Host::current();
    let engine = host.engine();
    let mut found = ptr::null();
    engine.record(Routine::FindRoutine, Subject::Name(name.clone()), || match address(&name) {
        Some(address) if !engine.is_hidden(&name) => {
            found = address;
            NtStatus::Success
        }
        _ => NtStatus::EntryPointNotFound,
    });
    found.cast_mut().cast()
}

fn address(name: &str) -> Option<*const ()> {
    Some(match name {
        "EtwRegister" => EtwRegister as *const (),
        "EtwUnregister" => EtwUnregister as *const (),
        "EtwSetInformation" => EtwSetInformation as *const (),
        "EtwEventEnabled" => EtwEventEnabled as *const (),
        "EtwProviderEnabled" => EtwProviderEnabled as *const (),
        "EtwWrite" => EtwWrite as *const (),
        "EtwWriteTransfer" => EtwWriteTransfer as *const (),
        "EtwWriteEx" => EtwWriteEx as *const (),
        "EtwWriteString" => EtwWriteString as *const (),
        "EtwActivityIdControl" => EtwActivityIdControl as *const (),
        "KeGetCurrentThread" => KeGetCurrentThread as *const (),
        "MmGetSystemRoutineAddress" => MmGetSystemRoutineAddress as *const (),
        _ => return None,
    })
}
