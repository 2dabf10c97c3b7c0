//! User mode: the functions of advapi32.dll.

use core::ffi::c_void;
use core::mem::transmute;
use core::ptr;

use etw_types::{EventDataDescriptor, EventDescriptor, Guid, HResult, Win32Error};

use super::{CREATE_ID, Mode, RawCallback, RegHandle, wide};

/// User mode: calls `Event*`, returns [`HResult`].
///
/// ```
/// # use etw_symbols as _;
/// use wdk_etw::{HResult, Provider, User, define_provider};
///
/// define_provider!(PROVIDER, "MyCompany.MyService", mode(User));
/// let provider: &Provider<User> = &PROVIDER;
/// assert_eq!(provider.unregister(), HResult::Ok);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct User;

// Signatures by the Windows SDK's documentation of evntprov.h.
#[cfg_attr(windows, link(name = "advapi32.dll", kind = "raw-dylib", modifiers = "+verbatim"))]
unsafe extern "system" {
    fn EventRegister(
        ProviderId: *const Guid,
        EnableCallback: Option<RawCallback>,
        CallbackContext: *mut c_void,
        RegHandle: *mut RegHandle,
    ) -> Win32Error;
    fn EventUnregister(RegHandle: RegHandle) -> Win32Error;
    fn EventSetInformation(
        RegHandle: RegHandle,
        InformationClass: u32,
        EventInformation: *const c_void,
        InformationLength: u32,
    ) -> Win32Error;
    fn EventWriteTransfer(
        RegHandle: RegHandle,
        EventDescriptor: *const EventDescriptor,
        ActivityId: *const Guid,
        RelatedActivityId: *const Guid,
        UserDataCount: u32,
        UserData: *const EventDataDescriptor<'_>,
    ) -> Win32Error;
    fn EventWriteEx(
        RegHandle: RegHandle,
        EventDescriptor: *const EventDescriptor,
        Filter: u64,
        Flags: u32,
        ActivityId: *const Guid,
        RelatedActivityId: *const Guid,
        UserDataCount: u32,
        UserData: *const EventDataDescriptor<'_>,
    ) -> Win32Error;
    fn EventWriteString(RegHandle: RegHandle, Level: u8, Keyword: u64, String: *const u16) -> Win32Error;
    fn EventEnabled(RegHandle: RegHandle, EventDescriptor: *const EventDescriptor) -> u8;
    fn EventProviderEnabled(RegHandle: RegHandle, Level: u8, Keyword: u64) -> u8;
    fn EventActivityIdControl(ControlCode: u32, ActivityId: *mut Guid) -> Win32Error;
}

#[cfg_attr(windows, link(name = "kernel32.dll", kind = "raw-dylib", modifiers = "+verbatim"))]
unsafe extern "system" {
    fn GetModuleHandleExW(Flags: u32, ModuleName: *const u16, Module: *mut *mut c_void) -> i32;
    fn GetProcAddress(Module: *mut c_void, ProcName: *const u8) -> *const c_void;
    fn GetCurrentThreadId() -> u32;
    fn Sleep(Milliseconds: u32);
    fn FreeLibrary(Module: *mut c_void) -> i32;
}

/// The type of `EventSetInformation` when it is looked up at run time.
type EventSetInformationFn = unsafe extern "system" fn(RegHandle, u32, *const c_void, u32) -> Win32Error;

/// The modules that export `EventSetInformation`, in the order in which they are tried; UTF-16 with NUL.
static EVENTING: [u16; 40] = wide(b"api-ms-win-eventing-provider-l1-1-0.dll\0");
static ADVAPI: [u16; 13] = wide(b"advapi32.dll\0");

const NOT_SUPPORTED: HResult = HResult::from_win32(Win32Error::NotSupported);

/// A reference to a loaded module, released on drop.
struct Module(*mut c_void);

impl Module {
    /// Finds a loaded module by name. Does not load it.
    fn find(name: &'static [u16]) -> Option<Self> {
        let mut module = ptr::null_mut();
        // SAFETY: the name ends with a NUL, and `module` is valid for writing.
        let found = unsafe { GetModuleHandleExW(0, name.as_ptr(), &raw mut module) };
        // Not `then_some`: without a module, its argument would be dropped, and `FreeLibrary` called with NULL.
        (found != 0).then(|| Self(module))
    }

    /// The address of `EventSetInformation` in this module.
    fn event_set_information(&self) -> Option<EventSetInformationFn> {
        // SAFETY: the module is loaded while `self` lives, and the name ends with a NUL.
        let function = unsafe { GetProcAddress(self.0, c"EventSetInformation".as_ptr().cast()) };
        // SAFETY: null becomes `None`; otherwise it is the address of the function of that name, which has this
        // documented signature.
        unsafe { transmute::<*const c_void, Option<EventSetInformationFn>>(function) }
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: this releases the reference that `find` took.
        let _ = unsafe { FreeLibrary(self.0) };
    }
}

impl Mode for User {
    type Status = HResult;

    unsafe fn register(
        id: *const Guid,
        callback: RawCallback,
        context: *mut c_void,
        handle: *mut RegHandle,
    ) -> HResult {
        // SAFETY: the caller passes pointers that are valid for the call, and a callback and context that stay valid
        // until `unregister`.
        HResult::from_win32(unsafe { EventRegister(id, Some(callback), context, handle) })
    }

    unsafe fn unregister(handle: RegHandle) -> HResult {
        // SAFETY: the caller passes 0 or a handle from `register`.
        HResult::from_win32(unsafe { EventUnregister(handle) })
    }

    unsafe fn set_information_off(_: RegHandle, _: u32, _: *const c_void, _: u32) -> HResult {
        NOT_SUPPORTED
    }

    unsafe fn set_information_direct(handle: RegHandle, class: u32, data: *const c_void, length: u32) -> HResult {
        // SAFETY: the caller passes 0 or a live handle, and `length` readable bytes at `data`.
        HResult::from_win32(unsafe { EventSetInformation(handle, class, data, length) })
    }

    unsafe fn set_information_lookup(handle: RegHandle, class: u32, data: *const c_void, length: u32) -> HResult {
        let Some(module) = Module::find(&EVENTING).or_else(|| Module::find(&ADVAPI)) else {
            return NOT_SUPPORTED;
        };
        let Some(set_information) = module.event_set_information() else {
            return NOT_SUPPORTED;
        };
        // SAFETY: the caller passes 0 or a live handle, and `length` readable bytes at `data`; the module is still
        // loaded.
        HResult::from_win32(unsafe { set_information(handle, class, data, length) })
    }

    #[inline]
    unsafe fn write_transfer(
        handle: RegHandle,
        descriptor: *const EventDescriptor,
        activity: *const Guid,
        related: *const Guid,
        count: u32,
        data: *const EventDataDescriptor<'_>,
    ) -> HResult {
        // SAFETY: the caller passes 0 or a live handle, and pointers that are valid for the call, or null if that is
        // allowed.
        HResult::from_win32(unsafe { EventWriteTransfer(handle, descriptor, activity, related, count, data) })
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
    ) -> HResult {
        // SAFETY: as for `write_transfer`.
        HResult::from_win32(unsafe { EventWriteEx(handle, descriptor, filter, flags, activity, related, count, data) })
    }

    /// The user-mode function takes no activity id: it uses that of the thread and ignores `activity`.
    unsafe fn write_string(handle: RegHandle, level: u8, keyword: u64, _: *const Guid, text: *const u16) -> HResult {
        // SAFETY: the caller passes 0 or a live handle, and text that ends with a NUL.
        HResult::from_win32(unsafe { EventWriteString(handle, level, keyword, text) })
    }

    unsafe fn event_enabled(handle: RegHandle, descriptor: *const EventDescriptor) -> bool {
        // SAFETY: the caller passes 0 or a live handle, and a valid descriptor.
        unsafe { EventEnabled(handle, descriptor) != 0 }
    }

    unsafe fn provider_enabled(handle: RegHandle, level: u8, keyword: u64) -> bool {
        // SAFETY: the caller passes 0 or a live handle.
        unsafe { EventProviderEnabled(handle, level, keyword) != 0 }
    }

    unsafe fn create_activity_id(id: *mut Guid) -> HResult {
        // SAFETY: the caller passes a valid pointer for the id.
        HResult::from_win32(unsafe { EventActivityIdControl(CREATE_ID, id) })
    }

    fn current_thread() -> usize {
        // SAFETY: the function takes nothing and always succeeds.
        let thread = unsafe { GetCurrentThreadId() };
        usize::try_from(thread).unwrap_or(usize::MAX)
    }

    fn wait() {
        // SAFETY: the function takes any number.
        unsafe { Sleep(1) };
    }
}
