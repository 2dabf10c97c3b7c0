//! The operating system behind a provider: kernel mode or user mode.
//!
//! Each mode is a zero-sized type in its own file, which declares the routines it calls. A provider's type names its
//! mode, so a driver links only the kernel's routines: code of the other mode is never instantiated. This needs no
//! Cargo feature, and both modes can be used in one build.

pub(crate) mod kernel;
pub(crate) mod protected;
pub(crate) mod user;

use core::ffi::c_void;
use core::fmt::Debug;

use etw_types::{EventDataDescriptor, EventDescriptor, EventFilterDescriptor, Guid, HResult, NtStatus, Win32Error};

/// A registration handle (`REGHANDLE`); 0 means none.
pub(crate) type RegHandle = u64;

/// `ETWENABLECALLBACK` and `ENABLECALLBACK`: ETW calls it on enable, disable and capture-state.
pub(crate) type RawCallback = unsafe extern "system" fn(
    source: *const Guid,
    control_code: u32,
    level: u8,
    match_any: u64,
    match_all: u64,
    filter: *const EventFilterDescriptor,
    context: *mut c_void,
);

/// `EtwSetInformation` and `EventSetInformation`, or the function that a
/// [`SetInformationMode`](crate::SetInformationMode) uses instead.
pub(crate) type SetInformationFn<S> = unsafe fn(handle: RegHandle, class: u32, data: *const c_void, length: u32) -> S;

/// The functions of `EtwActivityIdControl`: read the thread's id, create an id, set the thread's id and return the old one.
pub(crate) const GET_ID: u32 = 1;
const CREATE_ID: u32 = 3;
pub(crate) const GET_SET_ID: u32 = 4;

/// Converts ASCII to UTF-16, for names in constants.
#[expect(clippy::indexing_slicing, reason = "evaluated at compile time, below the arrays' length")]
pub(crate) const fn wide<const N: usize>(ascii: &[u8; N]) -> [u16; N] {
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
    impl<M: super::Mode> Sealed for super::protected::Protected<M> {}
    impl Sealed for etw_types::NtStatus {}
    impl Sealed for etw_types::HResult {}
}

/// The status type of a mode: [`NtStatus`] or [`HResult`].
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
    /// Another thread is registering or unregistering the provider, or this thread is doing so further up its stack.
    const BUSY: Self;
    /// An argument is outside its limits.
    const INVALID_PARAMETER: Self;
    /// A security identifier is shorter than its header says.
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
/// This trait is sealed. Each of its hidden functions is a routine of the mode.
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
    /// Whether unregistering waits for writers.
    #[doc(hidden)]
    const IS_PROTECTED: bool = false;

    /// The status that the routines of this mode return.
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

    /// Returns the documented status for "setting information is off" without calling anything.
    #[doc(hidden)]
    unsafe fn set_information_off(handle: RegHandle, class: u32, data: *const c_void, length: u32) -> Self::Status;

    /// Calls the statically imported routine.
    #[doc(hidden)]
    unsafe fn set_information_direct(handle: RegHandle, class: u32, data: *const c_void, length: u32) -> Self::Status;

    /// Looks the routine up at run time. Returns "not supported" if the system does not have it.
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

    /// Returns a number that identifies the running thread and is never 0. Code that interrupts a thread gets that
    /// thread's number.
    #[doc(hidden)]
    fn current_thread() -> usize;

    /// Lets other threads run for a moment, at `PASSIVE_LEVEL`.
    #[doc(hidden)]
    fn wait();
}

/// Creates an activity id. Returns the zero GUID if the system returns an error.
pub(crate) fn new_activity_id<M: Mode>() -> Guid {
    let mut id = Guid::ZERO;
    // SAFETY: `id` is valid for writing.
    let _ = unsafe { M::create_activity_id(&raw mut id) };
    id
}
