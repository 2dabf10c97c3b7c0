//! The routines that ntoskrnl.exe exports, by their exact names.
//!
//! The parameters are those of the WDK headers. Pointers may be NULL if the documentation allows it; otherwise a NULL
//! pointer returns `InvalidParameter` instead of causing a fault.

use std::ffi::c_void;
use std::ptr;

use etw_engine::{Engine, Origin, Routine, Subject};
use etw_types::{EventDataDescriptor, EventDescriptor, EventInfoClass, Guid, NtStatus, UnicodeString};

use crate::common::{self, EnableCallback, RawWrite};
use crate::{Host, memory};

/// The kernel writes a zero GUID if the caller passes no activity id.
const fn no_activity(_: &Engine) -> Guid {
    Guid::ZERO
}

/// Registers a provider.
///
/// # Safety
///
/// `provider` must be NULL or readable. `handle` must be NULL or writable, and during the call other threads must
/// access it only atomically. `callback` may be called with `context` on any thread until the handle is unregistered.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EtwRegister(
    provider: *const Guid,
    callback: Option<EnableCallback>,
    context: *mut c_void,
    handle: *mut u64,
) -> NtStatus {
    // SAFETY: the caller upholds the same contract.
    unsafe { common::register(Origin::kernel(), provider, callback, context, handle) }
}

/// Unregisters a provider.
///
/// # Safety
///
/// There are no requirements: any handle is valid input.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EtwUnregister(handle: u64) -> NtStatus {
    Host::current().engine().unregister(handle)
}

/// Sets a property of a registration.
///
/// # Safety
///
/// `data` must be NULL or readable for `length` bytes. A length above 0x7FFF is rejected without reading.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EtwSetInformation(
    handle: u64,
    class: EventInfoClass,
    data: *const c_void,
    length: u32,
) -> NtStatus {
    // SAFETY: the caller upholds the same contract.
    unsafe { common::set_information(handle, class, data, length) }
}

/// Returns whether a session may accept an event.
///
/// # Safety
///
/// `descriptor` must be NULL or readable.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EtwEventEnabled(handle: u64, descriptor: *const EventDescriptor) -> u8 {
    // SAFETY: the caller upholds the same contract.
    unsafe { common::event_enabled(handle, descriptor) }
}

/// Returns whether a session may accept events of this level and keyword.
///
/// # Safety
///
/// There are no requirements: any handle is valid input.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EtwProviderEnabled(handle: u64, level: u8, keyword: u64) -> u8 {
    common::provider_enabled(handle, level, keyword)
}

/// Writes an event.
///
/// # Safety
///
/// Every pointer must be NULL or readable: `data` for `count` descriptors, and the data of each descriptor for its size.
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
    // SAFETY: the caller upholds the same contract.
    unsafe { common::write(&write, no_activity) }
}

/// Writes an event that relates two activities.
///
/// # Safety
///
/// The same as [`EtwWrite`]; `related` must be NULL or readable.
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
    // SAFETY: the caller upholds the same contract.
    unsafe { common::write(&write, no_activity) }
}

/// Writes an event with a filter and flags.
///
/// # Safety
///
/// The same as [`EtwWriteTransfer`].
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
    // SAFETY: the caller upholds the same contract.
    unsafe { common::write(&write, no_activity) }
}

/// Writes a string as an event.
///
/// # Safety
///
/// `activity` must be NULL or readable; `text` must be NULL or a terminated UTF-16 string.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EtwWriteString(
    handle: u64,
    level: u8,
    keyword: u64,
    activity: *const Guid,
    text: *const u16,
) -> NtStatus {
    // SAFETY: the caller upholds the same contract.
    unsafe { common::write_string(handle, level, keyword, activity, text, no_activity) }
}

/// Creates activity ids, and reads and sets the activity id of the thread.
///
/// # Safety
///
/// `id` must be NULL, or readable and writable.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn EtwActivityIdControl(code: u32, id: *mut Guid) -> NtStatus {
    // SAFETY: the caller upholds the same contract.
    unsafe { common::activity_id_control(id, |engine, id| engine.activity_id_control(code, id)) }
}

/// Returns the activity id of an IRP; `STATUS_NOT_FOUND` if it has none. Only the address of the IRP is used.
///
/// # Safety
///
/// `id` must be NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn IoGetActivityIdIrp(irp: *mut c_void, id: *mut Guid) -> NtStatus {
    let Some(found) = Host::current().engine().irp_activity(address_of(irp)) else { return NtStatus::NotFound };
    if id.is_null() {
        return NtStatus::InvalidParameter;
    }
    // SAFETY: it is not NULL, so the caller guarantees that it is writable.
    unsafe { id.write_unaligned(found) };
    NtStatus::Success
}

/// Sets the activity id of an IRP. Only the address of the IRP is used. Without an id, it takes that of the thread.
///
/// # Safety
///
/// `id` must be NULL or readable.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn IoSetActivityIdIrp(irp: *mut c_void, id: *const Guid) -> NtStatus {
    let host = Host::current();
    // SAFETY: the caller guarantees that the pointer is NULL or readable.
    let id = unsafe { memory::read(id) }.or_else(|| Some(host.engine().thread_activity()).filter(|id| !id.is_zero()));
    let Some(id) = id else { return NtStatus::NotSupported };
    host.engine().set_irp_activity(address_of(irp), Some(id));
    NtStatus::Success
}

fn address_of(irp: *mut c_void) -> u64 {
    u64::try_from(irp.addr()).unwrap_or(u64::MAX)
}

/// Returns the object of the current thread. It has no content; only its address is meaningful, and unique to the
/// thread.
#[unsafe(no_mangle)]
pub extern "system" fn KeGetCurrentThread() -> *const c_void {
    common::thread_object()
}

/// Waits for a relative time. Other times and modes are not implemented: nothing that this crate serves uses them.
///
/// # Safety
///
/// `interval` must be NULL or readable.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn KeDelayExecutionThread(_mode: i8, _alertable: u8, interval: *const i64) -> NtStatus {
    // SAFETY: guaranteed by the caller.
    let interval = unsafe { interval.as_ref() }.copied().unwrap_or_default();
    let relative = u64::try_from(interval.saturating_neg()).unwrap_or_default();
    std::thread::sleep(std::time::Duration::from_nanos(relative.saturating_mul(100)));
    NtStatus::Success
}

/// Finds a routine of this module by its name. Returns NULL if the routine is hidden or does not exist in this module.
///
/// # Safety
///
/// `name` must be NULL or readable, and its buffer must be readable for its length.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn MmGetSystemRoutineAddress(name: *const UnicodeString) -> *mut c_void {
    // SAFETY: the caller upholds the same contract.
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

/// Finds the routines by name. On Windows, it also fills the slots of the import address table that they have there.
macro_rules! routines {
    ($($routine:ident),* $(,)?) => {
        fn address(name: &str) -> Option<*const ()> {
            match name {
                $(stringify!($routine) => Some($routine as *const ()),)*
                _ => None,
            }
        }

        /// On Windows `wdk-etw` imports the routines from ntoskrnl.exe. Such a call reads `__imp_` and the routine's name,
        /// or jumps to the name itself. The linker takes an import library's object for a routine only if one of the two is
        /// still undefined, so a program has both from here, and imports nothing from ntoskrnl.exe.
        #[cfg(windows)]
        mod slots {
            use super::Slot;

            $(
                #[unsafe(export_name = concat!("__imp_", stringify!($routine)))]
                #[expect(non_upper_case_globals, reason = "the name of the routine")]
                static $routine: Slot = Slot(super::$routine as *const ());
            )*
        }
    };
}

/// A slot of an import address table: the address of a routine.
#[cfg(windows)]
#[repr(transparent)]
struct Slot(*const ());

// SAFETY: nothing writes the slot, and the routine can be called on every thread.
#[cfg(windows)]
unsafe impl Sync for Slot {}

routines! {
    EtwRegister,
    EtwUnregister,
    EtwSetInformation,
    EtwEventEnabled,
    EtwProviderEnabled,
    EtwWrite,
    EtwWriteTransfer,
    EtwWriteEx,
    EtwWriteString,
    EtwActivityIdControl,
    KeDelayExecutionThread,
    KeGetCurrentThread,
    IoGetActivityIdIrp,
    IoSetActivityIdIrp,
    MmGetSystemRoutineAddress,
}
