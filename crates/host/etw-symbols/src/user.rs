//! The routines that advapi32.dll exports, by their exact names. They answer Win32 codes.
//!
//! What differs from the kernel's: the codes, the activity id of the thread where a writer passes none, and activity ids
//! that every thread can carry.

use std::ffi::c_void;
use std::ptr;

use etw_engine::{Engine, Origin, Routine};
use etw_types::{EventDataDescriptor, EventDescriptor, EventInfoClass, Guid, Win32Error};

use crate::Host;
use crate::common::{self, EnableCallback, RawWrite};
use crate::error::win32_from_nt;

/// User mode writes the thread's id where the caller passes none.
fn activity_of_thread(engine: &Engine) -> Guid {
    engine.thread_activity()
}

/// Registers a provider.
///
/// # Safety
///
/// As for `EtwRegister`.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EventRegister(
    provider: *const Guid,
    callback: Option<EnableCallback>,
    context: *mut c_void,
    handle: *mut u64,
) -> Win32Error {
    // SAFETY: the same contract.
    win32_from_nt(unsafe { common::register(this_process(), provider, callback, context, handle) })
}

/// Gives up a registration.
///
/// # Safety
///
/// None beyond being called through the C ABI; any handle is answered.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EventUnregister(handle: u64) -> Win32Error {
    win32_from_nt(Host::current().engine().unregister(handle))
}

/// Sets something about a registration.
///
/// # Safety
///
/// `data` is NULL or readable for `length` bytes. A length above 0x7FFF is refused without reading.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EventSetInformation(
    handle: u64,
    class: EventInfoClass,
    data: *const c_void,
    length: u32,
) -> Win32Error {
    // SAFETY: the same contract.
    win32_from_nt(unsafe { common::set_information(handle, class, data, length) })
}

/// Whether a session may want an event.
///
/// # Safety
///
/// `descriptor` is NULL or readable.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EventEnabled(handle: u64, descriptor: *const EventDescriptor) -> u8 {
    // SAFETY: the same contract.
    unsafe { common::event_enabled(handle, descriptor) }
}

/// Whether a session may want events of a level and keyword.
///
/// # Safety
///
/// None beyond being called through the C ABI; any handle is answered.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EventProviderEnabled(handle: u64, level: u8, keyword: u64) -> u8 {
    common::provider_enabled(handle, level, keyword)
}

/// Writes an event.
///
/// # Safety
///
/// The pointers are NULL or readable; `data` for `count` descriptors, and each descriptor for its size.
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
    // SAFETY: the same contract.
    win32_from_nt(unsafe { common::write(&write, activity_of_thread) })
}

/// Writes an event that relates two activities.
///
/// # Safety
///
/// As for [`EventWrite`]; the GUIDs are NULL or readable.
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
    // SAFETY: the same contract.
    win32_from_nt(unsafe { common::write(&write, activity_of_thread) })
}

/// Writes an event with a filter and flags.
///
/// # Safety
///
/// As for [`EventWriteTransfer`].
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
    // SAFETY: the same contract.
    win32_from_nt(unsafe { common::write(&write, activity_of_thread) })
}

/// Writes a string as an event.
///
/// # Safety
///
/// `text` is NULL or a terminated UTF-16 string.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EventWriteString(handle: u64, level: u8, keyword: u64, text: *const u16) -> Win32Error {
    // SAFETY: the same contract; no activity id is passed.
    let status = unsafe { common::write_string(handle, level, keyword, ptr::null(), text, activity_of_thread) };
    win32_from_nt(status)
}

/// Creates activity ids, and reads and sets the thread's.
///
/// # Safety
///
/// `id` is NULL, or readable and writable.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EventActivityIdControl(code: u32, id: *mut Guid) -> Win32Error {
    // SAFETY: the same contract.
    let status = unsafe { common::activity_id_control(id, |engine, id| engine.user_activity_id_control(code, id)) };
    win32_from_nt(status)
}

/// The current thread's id.
#[unsafe(no_mangle)]
pub extern "system" fn GetCurrentThreadId() -> u32 {
    // Any number that no other thread has; 0 is none.
    let address = common::thread_object().addr() >> 4;
    u32::try_from(address & 0xFFFF_FFFF).unwrap_or_default() | 1 << 31
}

pub use crate::modules::{FreeLibrary, GetModuleHandleExW, GetProcAddress};

/// The address of a routine of this module.
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

/// This process, as filters by process see it.
fn this_process() -> Origin {
    let image = std::env::current_exe().ok();
    let image = image.as_ref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
    Origin::user(std::process::id(), &image.unwrap_or_default())
}
