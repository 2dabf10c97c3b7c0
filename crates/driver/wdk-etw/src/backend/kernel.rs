//! Kernel mode: the routines of ntoskrnl.exe.
//!
//! The declarations become imports of a driver's image only if they are called. On other systems the linker resolves
//! the symbols from whatever defines them: host tests link an ETW runtime that does.

use core::ffi::c_void;
use core::mem::transmute;
use core::ptr;

use etw_types::{EventDataDescriptor, EventDescriptor, Guid, NtStatus, UnicodeString};

use super::{CREATE_ID, Mode, RawCallback, RegHandle, wide};

/// Kernel mode: calls `Etw*`, returns [`NtStatus`].
///
/// ```
/// # use etw_symbols as _;
/// use wdk_etw::{Kernel, Provider, define_provider};
///
/// define_provider!(PROVIDER, "MyCompany.MyDriver");
/// let provider: &Provider<Kernel> = &PROVIDER;
/// assert_eq!(provider.name(), "MyCompany.MyDriver");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Kernel;

// Signatures by the WDK's documentation of wdm.h.
#[cfg_attr(windows, link(name = "ntoskrnl.exe", kind = "raw-dylib", modifiers = "+verbatim"))]
unsafe extern "system" {
    fn EtwRegister(
        ProviderId: *const Guid,
        EnableCallback: Option<RawCallback>,
        CallbackContext: *mut c_void,
        RegHandle: *mut RegHandle,
    ) -> NtStatus;
    fn EtwUnregister(RegHandle: RegHandle) -> NtStatus;
    fn EtwSetInformation(
        RegHandle: RegHandle,
        InformationClass: u32,
        EventInformation: *const c_void,
        InformationLength: u32,
    ) -> NtStatus;
    fn EtwWriteTransfer(
        RegHandle: RegHandle,
        EventDescriptor: *const EventDescriptor,
        ActivityId: *const Guid,
        RelatedActivityId: *const Guid,
        UserDataCount: u32,
        UserData: *const EventDataDescriptor<'_>,
    ) -> NtStatus;
    fn EtwWriteEx(
        RegHandle: RegHandle,
        EventDescriptor: *const EventDescriptor,
        Filter: u64,
        Flags: u32,
        ActivityId: *const Guid,
        RelatedActivityId: *const Guid,
        UserDataCount: u32,
        UserData: *const EventDataDescriptor<'_>,
    ) -> NtStatus;
    fn EtwWriteString(
        RegHandle: RegHandle,
        Level: u8,
        Keyword: u64,
        ActivityId: *const Guid,
        String: *const u16,
    ) -> NtStatus;
    fn EtwEventEnabled(RegHandle: RegHandle, EventDescriptor: *const EventDescriptor) -> u8;
    fn EtwProviderEnabled(RegHandle: RegHandle, Level: u8, Keyword: u64) -> u8;
    fn EtwActivityIdControl(ControlCode: u32, ActivityId: *mut Guid) -> NtStatus;
    fn KeGetCurrentThread() -> *const c_void;
    fn KeDelayExecutionThread(WaitMode: i8, Alertable: u8, Interval: *const i64) -> NtStatus;
    fn MmGetSystemRoutineAddress(SystemRoutineName: *const UnicodeString) -> *const c_void;
}

/// The type of `EtwSetInformation` when it is looked up at run time.
type EtwSetInformationFn = unsafe extern "system" fn(RegHandle, u32, *const c_void, u32) -> NtStatus;

/// `EtwSetInformation` in UTF-16, without a NUL: it is counted.
static SET_INFORMATION: [u16; 17] = wide(b"EtwSetInformation");

/// Returns the address of a routine of the kernel, or null if this Windows does not export it. IRQL: `PASSIVE_LEVEL`.
pub(crate) fn system_routine<const N: usize>(name: &'static [u16; N]) -> *const c_void {
    let size = u16::try_from(size_of_val(name)).unwrap_or_default();
    let name = UnicodeString { length: size, maximum_length: size, buffer: ptr::from_ref(name).cast() };
    // SAFETY: the name is a valid counted string that outlives the call.
    unsafe { MmGetSystemRoutineAddress(&raw const name) }
}

/// Reads or changes the activity id of the current thread. IRQL: at most `APC_LEVEL`.
pub(crate) fn activity_id_control(code: u32, id: &mut Guid) -> NtStatus {
    // SAFETY: the id is readable and writable during the call.
    unsafe { EtwActivityIdControl(code, ptr::from_mut(id)) }
}

impl Mode for Kernel {
    type Status = NtStatus;

    unsafe fn register(
        id: *const Guid,
        callback: RawCallback,
        context: *mut c_void,
        handle: *mut RegHandle,
    ) -> NtStatus {
        // SAFETY: the caller passes pointers that are valid for the call, and a callback and context that stay valid
        // until `unregister`.
        unsafe { EtwRegister(id, Some(callback), context, handle) }
    }

    unsafe fn unregister(handle: RegHandle) -> NtStatus {
        // SAFETY: the routine checks the handle against 0; the caller passes 0 or a handle from `register`.
        unsafe { EtwUnregister(handle) }
    }

    unsafe fn set_information_off(_: RegHandle, _: u32, _: *const c_void, _: u32) -> NtStatus {
        NtStatus::EntryPointNotFound
    }

    unsafe fn set_information_direct(handle: RegHandle, class: u32, data: *const c_void, length: u32) -> NtStatus {
        // SAFETY: the caller passes 0 or a live handle, and `length` readable bytes at `data`.
        unsafe { EtwSetInformation(handle, class, data, length) }
    }

    /// Looks the routine up each time, as `TraceLoggingSetInformation` does, because a provider calls this only once or
    /// twice. The lookup comes before the handle is checked, so a missing routine takes precedence over a missing
    /// registration.
    unsafe fn set_information_lookup(handle: RegHandle, class: u32, data: *const c_void, length: u32) -> NtStatus {
        let routine = system_routine(&SET_INFORMATION);
        if routine.is_null() {
            return NtStatus::NotSupported;
        }
        // SAFETY: a non-null result is the address of the routine of that name, which has this documented signature.
        let set_information = unsafe { transmute::<*const c_void, EtwSetInformationFn>(routine) };
        // SAFETY: the caller passes 0 or a live handle, and `length` readable bytes at `data`.
        unsafe { set_information(handle, class, data, length) }
    }

    #[inline]
    unsafe fn write_transfer(
        handle: RegHandle,
        descriptor: *const EventDescriptor,
        activity: *const Guid,
        related: *const Guid,
        count: u32,
        data: *const EventDataDescriptor<'_>,
    ) -> NtStatus {
        // SAFETY: the caller passes 0 or a live handle, and pointers that are valid for the call, or null if that is
        // allowed.
        unsafe { EtwWriteTransfer(handle, descriptor, activity, related, count, data) }
    }

    unsafe fn write_ex(
        handle: RegHandle,
        descriptor: *const EventDescriptor,
        filter: u64,
        flags: u32,
        activity: *const Guid,
        related: *const Guid,
        count: u32,
        data: *const EventDataDescriptor<'_>,
    ) -> NtStatus {
        // SAFETY: as for `write_transfer`.
        unsafe { EtwWriteEx(handle, descriptor, filter, flags, activity, related, count, data) }
    }

    unsafe fn write_string(
        handle: RegHandle,
        level: u8,
        keyword: u64,
        activity: *const Guid,
        text: *const u16,
    ) -> NtStatus {
        // SAFETY: the caller passes 0 or a live handle, and text that ends with a NUL.
        unsafe { EtwWriteString(handle, level, keyword, activity, text) }
    }

    unsafe fn event_enabled(handle: RegHandle, descriptor: *const EventDescriptor) -> bool {
        // SAFETY: the caller passes 0 or a live handle, and a valid descriptor.
        unsafe { EtwEventEnabled(handle, descriptor) != 0 }
    }

    unsafe fn provider_enabled(handle: RegHandle, level: u8, keyword: u64) -> bool {
        // SAFETY: the caller passes 0 or a live handle.
        unsafe { EtwProviderEnabled(handle, level, keyword) != 0 }
    }

    unsafe fn create_activity_id(id: *mut Guid) -> NtStatus {
        // SAFETY: the caller passes a valid pointer for the id.
        unsafe { EtwActivityIdControl(CREATE_ID, id) }
    }

    fn current_thread() -> usize {
        // SAFETY: the routine takes nothing, can be called at any IRQL, and returns the address of the thread's object.
        let thread = unsafe { KeGetCurrentThread() };
        thread.addr()
    }

    fn wait() {
        /// `KernelMode` of `KPROCESSOR_MODE`.
        const KERNEL_MODE: i8 = 0;
        // Relative times are negative, in units of 100 ns.
        let interval = -10_000;
        // SAFETY: the interval is readable. The caller is at `PASSIVE_LEVEL`.
        let _ = unsafe { KeDelayExecutionThread(KERNEL_MODE, 0, &raw const interval) };
    }
}
