//! Events by descriptor: manifest-based events, strings, and queries to ETW about what is enabled.

use core::ptr;

use etw_types::tracelogging::MAX_DESCRIPTORS;
use etw_types::{EventDataDescriptor, EventDescriptor, Guid, Keyword, Level};

use crate::backend::{Mode, Status};
use crate::provider::Provider;

/// `EVENT_WRITE_FLAG_*`: how [`Provider::write_ex`] writes.
///
/// | flag | kernel mode | user mode |
/// |---|---|---|
/// | [`NONE`](Self::NONE) | the only value that is documented | an ordinary event |
/// | [`IN_PRIVATE`](Self::IN_PRIVATE) | not documented | documented |
/// | [`NO_FAULTING`](Self::NO_FAULTING) | not documented | not documented; the metadata has the constant |
///
/// Microsoft's page of `EtwWriteEx` (wdm.h) says of the flags that they are reserved and must be 0. The page of
/// `EventWriteEx` (evntprov.h) describes `EVENT_WRITE_FLAG_INPRIVATE` and no other flag. Both constants and their values
/// are in Microsoft's metadata (`windows-sys` 0.61). The flags are passed on as they are: in a driver, pass `NONE`.
///
/// ```
/// # use etw_symbols as _;
/// use wdk_etw::WriteFlags;
///
/// assert_eq!(WriteFlags::default(), WriteFlags::NONE);
/// assert_eq!(WriteFlags::NO_FAULTING.bits(), 1);
/// assert_eq!(WriteFlags::from_bits(2), WriteFlags::IN_PRIVATE);
/// ```
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct WriteFlags(u32);

impl WriteFlags {
    /// No flag: the only documented value in kernel mode.
    pub const NONE: Self = Self(0);
    /// `EVENT_WRITE_FLAG_NO_FAULTING`. By its name, the event must not cause a page fault. No page of Microsoft's
    /// describes it, and no event needs it: the data of an event above `APC_LEVEL` must be resident anyway.
    #[doc(alias = "EVENT_WRITE_FLAG_NO_FAULTING")]
    pub const NO_FAULTING: Self = Self(1);
    /// Excludes the event from sessions that set `EVENT_ENABLE_PROPERTY_EXCLUDE_INPRIVATE`. Documented for user mode.
    #[doc(alias = "EVENT_WRITE_FLAG_INPRIVATE")]
    pub const IN_PRIVATE: Self = Self(2);

    /// Wraps raw flags.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// The raw flags.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }
}

/// Converts `None` to a null pointer.
fn optional(id: Option<&Guid>) -> *const Guid {
    id.map_or(ptr::null(), ptr::from_ref)
}

/// # Events by descriptor
///
/// For events whose schema is in a manifest, and for events that are built at run time. All of these functions do
/// nothing and return success if the provider is not registered or no session has the event enabled.
///
/// In kernel mode a missing activity id is recorded as a zero GUID (in user mode, as the thread's current activity), so
/// pass the id. Data must always be in system address space and, above `APC_LEVEL`, resident. The kernel reads a
/// descriptor's bytes twice, so they must not change during the call; the shared borrow guarantees that.
impl<M: Mode> Provider<M> {
    /// Writes an event (`EtwWriteTransfer`).
    ///
    /// ```
    /// use wdk_etw::{Channel, EventDataDescriptor, EventDescriptor, Keyword, Level};
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// # use etw_symbols as _;
    /// const STARTED: EventDescriptor = EventDescriptor::new(Level::Informational, Keyword::from_bits(1))
    ///     .with_id_version(100, 0)
    ///     .with_channel(Channel::TraceClassic);
    /// let count = 3_u32.to_le_bytes();
    /// PROVIDER.write(&STARTED, None, None, &[EventDataDescriptor::new(&count)]);
    /// ```
    ///
    /// # Errors
    ///
    /// Returns `STATUS_INVALID_PARAMETER` if there are more than 128 descriptors; `STATUS_INTEGER_OVERFLOW` or
    /// `STATUS_BUFFER_OVERFLOW` if the event exceeds 64 KiB or the session's buffer size; `STATUS_NO_MEMORY` if the
    /// session's buffers are full.
    ///
    /// # IRQL
    ///
    /// Any.
    #[doc(alias("EtwWrite", "EtwWriteTransfer", "EventWrite", "EventWriteTransfer"))]
    pub fn write(
        &self,
        descriptor: &EventDescriptor,
        activity: Option<&Guid>,
        related: Option<&Guid>,
        data: &[EventDataDescriptor<'_>],
    ) -> M::Status {
        let count = match self.admit(descriptor, data) {
            Ok(count) => count,
            Err(status) => return status,
        };
        self.with_handle(M::Status::SUCCESS, |handle| {
            // SAFETY: the handle is 0 or live (no writer runs during `unregister`: by the contract of `register`, or by
            // rundown protection). All pointers are null if that is allowed, or made from references that outlive the call.
            unsafe {
                M::write_transfer(handle, descriptor, optional(activity), optional(related), count, data.as_ptr())
            }
        })
    }

    /// [`write`](Self::write) for an event that the caller has found to be wanted.
    #[doc(hidden)]
    #[inline]
    pub fn write_wanted<const N: usize>(
        &self,
        descriptor: &EventDescriptor,
        activity: Option<&Guid>,
        related: Option<&Guid>,
        data: &[EventDataDescriptor<'_>; N],
    ) -> M::Status {
        const { assert!(N <= MAX_DESCRIPTORS) };
        #[expect(clippy::cast_possible_truncation, reason = "asserted above")]
        let count = N as u32;
        self.with_handle(M::Status::SUCCESS, |handle| {
            // SAFETY: as in `write`.
            unsafe {
                M::write_transfer(handle, descriptor, optional(activity), optional(related), count, data.as_ptr())
            }
        })
    }

    /// Writes an event with a filter and flags (`EtwWriteEx`, Windows 7 and later).
    ///
    /// `filter` selects sessions to exclude, as documented for `EtwWriteEx`; 0 excludes none. [`WriteFlags`] says which flags
    /// are documented: in kernel mode only [`WriteFlags::NONE`].
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// use wdk_etw::{EventDataDescriptor, EventDescriptor, Keyword, Level, WriteFlags};
    ///
    /// const STARTED: EventDescriptor = EventDescriptor::new(Level::Informational, Keyword::from_bits(1));
    /// let data = [EventDataDescriptor::new(b"data")];
    /// let status = PROVIDER.write_ex(&STARTED, 0, WriteFlags::NONE, None, None, &data);
    /// assert!(status.is_success());
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`write`](Self::write).
    ///
    /// # IRQL
    ///
    /// Any.
    #[doc(alias("EtwWriteEx", "EventWriteEx"))]
    pub fn write_ex(
        &self,
        descriptor: &EventDescriptor,
        filter: u64,
        flags: WriteFlags,
        activity: Option<&Guid>,
        related: Option<&Guid>,
        data: &[EventDataDescriptor<'_>],
    ) -> M::Status {
        let count = match self.admit(descriptor, data) {
            Ok(count) => count,
            Err(status) => return status,
        };
        self.with_handle(M::Status::SUCCESS, |handle| {
            // SAFETY: as in `write`.
            unsafe {
                M::write_ex(
                    handle,
                    descriptor,
                    filter,
                    flags.bits(),
                    optional(activity),
                    optional(related),
                    count,
                    data.as_ptr(),
                )
            }
        })
    }

    /// Writes a string as an event of its own (`EtwWriteString`).
    ///
    /// `text` is UTF-16 and ends with a NUL. User mode has no way to pass an activity id here: the thread's current
    /// activity is used.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// use wdk_etw::{Level, NtStatus};
    ///
    /// let text: Vec<u16> = "Hello\0".encode_utf16().collect();
    /// assert_eq!(PROVIDER.write_string(Level::Informational, 1, None, &text), NtStatus::Success);
    /// assert_eq!(PROVIDER.write_string(Level::Informational, 1, None, &[]), NtStatus::InvalidParameter);
    /// ```
    ///
    /// # Errors
    ///
    /// Returns `STATUS_INVALID_PARAMETER` if `text` does not end with a NUL; otherwise the errors of
    /// [`write`](Self::write).
    ///
    /// # IRQL
    ///
    /// Any.
    #[doc(alias("EtwWriteString", "EventWriteString"))]
    pub fn write_string(
        &self,
        level: Level,
        keyword: impl Into<Keyword>,
        activity: Option<&Guid>,
        text: &[u16],
    ) -> M::Status {
        let keyword = keyword.into();
        if text.last() != Some(&0) {
            return M::Status::INVALID_PARAMETER;
        }
        if !self.enabled(level, keyword) {
            return M::Status::SUCCESS;
        }
        self.with_handle(M::Status::SUCCESS, |handle| {
            // SAFETY: the handle is 0 or live; the text ends with a NUL within the slice.
            unsafe { M::write_string(handle, level.as_int(), keyword.bits(), optional(activity), text.as_ptr()) }
        })
    }

    /// Asks ETW whether a session has an event with this descriptor enabled (`EtwEventEnabled`).
    ///
    /// [`enabled`](Self::enabled) returns nearly the same result from the provider's own state, without a call. ETW
    /// also takes each session's properties into account.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// use wdk_etw::{EventDescriptor, Keyword, Level};
    ///
    /// const STARTED: EventDescriptor = EventDescriptor::new(Level::Informational, Keyword::from_bits(1));
    /// assert!(!PROVIDER.query_event_enabled(&STARTED), "it is not registered");
    /// ```
    ///
    /// # IRQL
    ///
    /// Any.
    #[doc(alias("EtwEventEnabled", "EventEnabled"))]
    #[must_use]
    pub fn query_event_enabled(&self, descriptor: &EventDescriptor) -> bool {
        // SAFETY: the handle is 0 or live; the descriptor is a reference.
        self.with_handle(false, |handle| unsafe { M::event_enabled(handle, descriptor) })
    }

    /// Asks ETW whether a session has this level and keyword enabled (`EtwProviderEnabled`).
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// use wdk_etw::Level;
    ///
    /// assert!(!PROVIDER.query_enabled(Level::Critical, 0), "it is not registered");
    /// ```
    ///
    /// # IRQL
    ///
    /// Any.
    #[doc(alias("EtwProviderEnabled", "EventProviderEnabled"))]
    #[must_use]
    pub fn query_enabled(&self, level: Level, keyword: impl Into<Keyword>) -> bool {
        let keyword = keyword.into().bits();
        // SAFETY: the handle is 0 or live.
        self.with_handle(false, |handle| unsafe { M::provider_enabled(handle, level.as_int(), keyword) })
    }

    /// Returns the number of descriptors if the event is to be written, otherwise the status to return.
    fn admit(&self, descriptor: &EventDescriptor, data: &[EventDataDescriptor<'_>]) -> Result<u32, M::Status> {
        if !self.enabled_at_run_time(descriptor.level, descriptor.keyword) {
            return Err(M::Status::SUCCESS);
        }
        match u32::try_from(data.len()) {
            Ok(count) if data.len() <= MAX_DESCRIPTORS => Ok(count),
            _ => Err(M::Status::INVALID_PARAMETER),
        }
    }
}
