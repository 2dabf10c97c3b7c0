//! The operating system behind a provider: kernel mode or user mode.
//!
//! Each mode is a zero-sized type in a file of its own that declares the routines it calls. A provider names its mode in
//! its type, so a driver links the kernel's routines and nothing else: code of the other mode is never instantiated. No
//! Cargo feature is involved, and both modes can live in one build.

pub(crate) mod kernel;
pub(crate) mod user;

use core::ffi::c_void;
use core::fmt::Debug;

use etw_types::{EventDataDescriptor, EventDescriptor, EventFilterDescriptor, Guid, HResult, NtStatus, Win32Error};

/// A registration handle (`REGHANDLE`); 0 means none.
pub(crate) type RegHandle = u64;

/// `ETWENABLECALLBACK` and `ENABLECALLBACK`: what ETW calls on enable, disable and capture-state.
pub(crate) type RawCallback = unsafe extern "system" fn(
    source: *const Guid,
    control_code: u32,
    level: u8,
    match_any: u64,
    match_all: u64,
    filter: *const EventFilterDescriptor,
    context: *mut c_void,
);

/// `EtwSetInformation` and `EventSetInformation`, or what stands in for them in a mode of
/// [`SetInformationMode`](crate::SetInformationMode).
pub(crate) type SetInformationFn<S> = unsafe fn(handle: RegHandle, class: u32, data: *const c_void, length: u32) -> S;

/// The function of `EtwActivityIdControl` that creates an id.
const CREATE_ID: u32 = 3;

/// ASCII as UTF-16, for the names in constants.
#[expect(clippy::indexing_slicing, reason = "evaluated at compile time, below the arrays' length")]
const fn wide<const N: usize>(ascii: &[u8; N]) -> [u16; N] {
    let mut units = [0; N];
    let mut at = 0;
    while at < N {
        units[at] = ascii[at] as u16;
        at += 1;
    }
    units
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::kernel::Kernel {}
    impl Sealed for super::user::User {}
    impl Sealed for etw_types::NtStatus {}
    impl Sealed for etw_types::HResult {}
}

/// What a mode returns: [`NtStatus`] or [`HResult`].
///
/// This trait is sealed.
///
/// ```
/// # use etw_symbols as _;
/// use wdk_etw::{HResult, NtStatus, Status};
///
/// fn describe<S: Status>(status: S) -> &'static str {
///     if status.is_success() { "done" } else { "failed" }
/// }
/// assert_eq!(describe(NtStatus::Success), describe(HResult::Ok));
/// assert_eq!(NtStatus::from_code(0xC000_000D), NtStatus::INVALID_PARAMETER);
/// assert_eq!(NtStatus::INVALID_PARAMETER.code(), 0xC000_000D);
/// ```
pub trait Status: sealed::Sealed + Copy + Eq + Debug + Send + Sync + 'static {
    /// Success.
    const SUCCESS: Self;
    /// The provider is registered already.
    const ALREADY_REGISTERED: Self;
    /// Another thread is registering or unregistering the provider, or this one is doing so in its callback.
    const BUSY: Self;
    /// An argument is out of its limits.
    const INVALID_PARAMETER: Self;
    /// A security identifier is shorter than it says.
    const INVALID_SID: Self;
    /// A buffer is full.
    const BUFFER_TOO_SMALL: Self;

    /// Whether this is a success.
    fn is_success(self) -> bool;

    /// From a code.
    fn from_code(code: u32) -> Self;

    /// The code.
    fn code(self) -> u32;
}

impl Status for NtStatus {
    const SUCCESS: Self = Self::Success;
    const ALREADY_REGISTERED: Self = Self::AlreadyRegistered;
    const BUSY: Self = Self::DeviceBusy;
    const INVALID_PARAMETER: Self = Self::InvalidParameter;
    const INVALID_SID: Self = Self::InvalidSid;
    const BUFFER_TOO_SMALL: Self = Self::BufferTooSmall;

    #[inline]
    fn is_success(self) -> bool {
        Self::is_success(self)
    }

    #[inline]
    fn from_code(code: u32) -> Self {
        Self::from_int(code)
    }

    #[inline]
    fn code(self) -> u32 {
        self.as_int()
    }
}

impl Status for HResult {
    const SUCCESS: Self = Self::Ok;
    const ALREADY_REGISTERED: Self = Self::from_win32(Win32Error::AlreadyRegistered);
    const BUSY: Self = Self::from_win32(Win32Error::Busy);
    const INVALID_PARAMETER: Self = Self::from_win32(Win32Error::InvalidParameter);
    const INVALID_SID: Self = Self::from_win32(Win32Error::InvalidSid);
    const BUFFER_TOO_SMALL: Self = Self::from_win32(Win32Error::InsufficientBuffer);

    #[inline]
    fn is_success(self) -> bool {
        Self::is_success(self)
    }

    #[inline]
    fn from_code(code: u32) -> Self {
        Self::from_int(code)
    }

    #[inline]
    fn code(self) -> u32 {
        self.as_int()
    }
}

/// Where a provider runs: [`Kernel`](crate::Kernel) or [`User`](crate::User).
///
/// This trait is sealed; its hidden functions are the routines of the mode, one each.
///
/// ```
/// # use etw_symbols as _;
/// use wdk_etw::{Mode, Provider, Status};
///
/// /// For providers of both modes.
/// fn end<M: Mode>(provider: &Provider<M>) -> bool {
///     provider.unregister().is_success()
/// }
/// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
/// assert!(end(&PROVIDER));
/// ```
pub trait Mode: sealed::Sealed + Sized + 'static {
    /// What the routines of this mode answer.
    type Status: Status;

    #[doc(hidden)]
    unsafe fn register(
        id: *const Guid,
        callback: RawCallback,
        context: *mut c_void,
        handle: *mut RegHandle,
    ) -> Self::Status;

    #[doc(hidden)]
    unsafe fn unregister(handle: RegHandle) -> Self::Status;

    /// The documented answer where setting information is switched off; calls nothing.
    #[doc(hidden)]
    unsafe fn set_information_off(handle: RegHandle, class: u32, data: *const c_void, length: u32) -> Self::Status;

    /// Calls the statically imported routine.
    #[doc(hidden)]
    unsafe fn set_information_direct(handle: RegHandle, class: u32, data: *const c_void, length: u32) -> Self::Status;

    /// Finds the routine at run time; returns "not supported" where the system lacks it.
    #[doc(hidden)]
    unsafe fn set_information_lookup(handle: RegHandle, class: u32, data: *const c_void, length: u32) -> Self::Status;

    #[doc(hidden)]
    unsafe fn write_transfer(
        handle: RegHandle,
        descriptor: *const EventDescriptor,
        activity: *const Guid,
        related: *const Guid,
        count: u32,
        data: *const EventDataDescriptor<'_>,
    ) -> Self::Status;

    #[doc(hidden)]
    #[expect(clippy::too_many_arguments, reason = "the routine has as many")]
    unsafe fn write_ex(
        handle: RegHandle,
        descriptor: *const EventDescriptor,
        filter: u64,
        flags: u32,
        activity: *const Guid,
        related: *const Guid,
        count: u32,
        data: *const EventDataDescriptor<'_>,
    ) -> Self::Status;

    #[doc(hidden)]
    unsafe fn write_string(
        handle: RegHandle,
        level: u8,
        keyword: u64,
        activity: *const Guid,
        text: *const u16,
    ) -> Self::Status;

    #[doc(hidden)]
    unsafe fn event_enabled(handle: RegHandle, descriptor: *const EventDescriptor) -> bool;

    #[doc(hidden)]
    unsafe fn provider_enabled(handle: RegHandle, level: u8, keyword: u64) -> bool;

    #[doc(hidden)]
    unsafe fn create_activity_id(id: *mut Guid) -> Self::Status;

    /// A number that no other thread has while this one runs; never 0. Interrupts have that of the thread they interrupt.
    #[doc(hidden)]
    fn current_thread() -> usize;
}

/// A new activity id; the zero GUID where the system refuses.
pub(crate) fn new_activity_id<M: Mode>() -> Guid {
    let mut id = Guid::ZERO;
    // SAFETY: `id` is a place for an id.
    let _ = unsafe { M::create_activity_id(&raw mut id) };
    id
}
