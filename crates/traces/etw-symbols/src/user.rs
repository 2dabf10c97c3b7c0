//! The routines that advapi32.dll exports, by their exact names. They return Win32 codes.
//!
//! They differ from the kernel routines in three ways: the codes, the thread's activity id for events that are written
//! without one, and that every thread can store an activity id.

use std::ffi::c_void;
use std::ptr;

use etw_engine::{Engine, Origin, Routine};
use etw_types::{EventDataDescriptor, EventDescriptor, EventInfoClass, Guid, Win32Error};

use crate::Host;
use crate::common::{self, EnableCallback, RawWrite};
use crate::error::win32_from_nt;

/// User mode writes the thread's activity id if the caller passes none.
fn activity_of_thread(engine: &Engine) -> Guid {
    engine.thread_activity()
}

/// Registers a provider.
///
/// # Safety
///
/// The same as `EtwRegister`.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EventRegister(
    provider: *const Guid,
    callback: Option<EnableCallback>,
    context: *mut c_void,
    handle: *mut u64,
) -> Win32Error {
    // SAFETY: the caller upholds the same contract.
    win32_from_nt(unsafe { common::register(this_process(), provider, callback, context, handle) })
}

/// Unregisters a provider.
///
/// # Safety
///
/// There are no requirements: any handle is valid input.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EventUnregister(handle: u64) -> Win32Error {
    win32_from_nt(Host::current().engine().unregister(handle))
}

/// Sets a property of a registration.
///
/// # Safety
///
/// `data` must be NULL or readable for `length` bytes. A length above 0x7FFF is rejected without reading.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EventSetInformation(
    handle: u64,
    class: EventInfoClass,
    data: *const c_void,
    length: u32,
) -> Win32Error {
    // SAFETY: the caller upholds the same contract.
    win32_from_nt(unsafe { common::set_information(handle, class, data, length) })
}

/// Returns whether a session may accept an event.
///
/// # Safety
///
/// `descriptor` must be NULL or readable.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EventEnabled(handle: u64, descriptor: *const EventDescriptor) -> u8 {
    // SAFETY: the caller upholds the same contract.
    unsafe { common::event_enabled(handle, descriptor) }
}

/// Returns whether a session may accept events of this level and keyword.
///
/// # Safety
///
/// There are no requirements: any handle is valid input.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EventProviderEnabled(handle: u64, level: u8, keyword: u64) -> u8 {
    common::provider_enabled(handle, level, keyword)
}

/// Writes an event.
///
/// # Safety
///
/// Every pointer must be NULL or readable: `data` for `count` descriptors, and the data of each descriptor for its size.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EventWrite(
    handle: u64,
    descriptor: *const EventDescriptor,
    count: u32,
    data: *const EventDataDescriptor<'_>,
) -> Win32Error {
    let write = RawWrite {
        routine: Routine::Write,
        handle,
        descriptor,
        filter: 0,
        flags: 0,
        activity: ptr::null(),
        related: ptr::null(),
        count,
        data,
    };
    // SAFETY: the caller upholds the same contract.
    win32_from_nt(unsafe { common::write(&write, activity_of_thread) })
}

/// Writes an event that relates two activities.
///
/// # Safety
///
/// The same as [`EventWrite`]; `activity` and `related` must be NULL or readable.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EventWriteTransfer(
    handle: u64,
    descriptor: *const EventDescriptor,
    activity: *const Guid,
    related: *const Guid,
    count: u32,
    data: *const EventDataDescriptor<'_>,
) -> Win32Error {
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
    // SAFETY: the caller upholds the same contract.
    win32_from_nt(unsafe { common::write(&write, activity_of_thread) })
}

/// Writes an event with a filter and flags.
///
/// # Safety
///
/// The same as [`EventWriteTransfer`].
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EventWriteEx(
    handle: u64,
    descriptor: *const EventDescriptor,
    filter: u64,
    flags: u32,
    activity: *const Guid,
    related: *const Guid,
    count: u32,
    data: *const EventDataDescriptor<'_>,
) -> Win32Error {
    let write =
        RawWrite { routine: Routine::WriteEx, handle, descriptor, filter, flags, activity, related, count, data };
    // SAFETY: the caller upholds the same contract.
    win32_from_nt(unsafe { common::write(&write, activity_of_thread) })
}

/// Writes a string as an event.
///
/// # Safety
///
/// `text` must be NULL or a terminated UTF-16 string.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EventWriteString(handle: u64, level: u8, keyword: u64, text: *const u16) -> Win32Error {
    // SAFETY: the caller upholds the same contract for `text`; the activity id is NULL.
    let status = unsafe { common::write_string(handle, level, keyword, ptr::null(), text, activity_of_thread) };
    win32_from_nt(status)
}

/// Creates activity ids, and reads and sets the activity id of the thread.
///
/// # Safety
///
/// `id` must be NULL, or readable and writable.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EventActivityIdControl(code: u32, id: *mut Guid) -> Win32Error {
    // SAFETY: the caller upholds the same contract.
    let status = unsafe { common::activity_id_control(id, |engine, id| engine.user_activity_id_control(code, id)) };
    win32_from_nt(status)
}

/// Returns the id of the current thread.
#[unsafe(no_mangle)]
pub extern "system" fn GetCurrentThreadId() -> u32 {
    // Any number that no other running thread has; 0 is not a valid id.
    let address = common::thread_object().addr() >> 4;
    u32::try_from(address & 0xFFFF_FFFF).unwrap_or_default() | 1 << 31
}

/// Waits for a number of milliseconds.
#[unsafe(no_mangle)]
pub extern "system" fn Sleep(milliseconds: u32) {
    std::thread::sleep(std::time::Duration::from_millis(milliseconds.into()));
}

pub use crate::modules::{FreeLibrary, GetModuleHandleExW, GetProcAddress};

/// Returns the address of a routine of this module.
pub(crate) fn address(name: &str) -> Option<*const ()> {
    Some(match name {
        "EventRegister" => EventRegister as *const (),
        "EventUnregister" => EventUnregister as *const (),
        "EventSetInformation" => EventSetInformation as *const (),
        "EventEnabled" => EventEnabled as *const (),
        "EventProviderEnabled" => EventProviderEnabled as *const (),
        "EventWrite" => EventWrite as *const (),
        "EventWriteTransfer" => EventWriteTransfer as *const (),
        "EventWriteEx" => EventWriteEx as *const (),
        "EventWriteString" => EventWriteString as *const (),
        "EventActivityIdControl" => EventActivityIdControl as *const (),
        _ => return None,
    })
}

/// Returns this process as an origin, which filters by process compare against.
fn this_process() -> Origin {
    let image = std::env::current_exe().ok();
    let image = image.as_ref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
    Origin::user(std::process::id(), &image.unwrap_or_default())
}
