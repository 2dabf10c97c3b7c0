//! The kernel's routines as a provider declares them, and a callback that records its arguments. Nothing here refers to the
//! crate under test: the linker resolves the routines.

use std::ffi::c_void;
use std::sync::Mutex;

use etw_types::{
    ControlCode, EventDataDescriptor, EventDescriptor, EventFilterDescriptor, EventInfoClass, Guid, Keyword, Level,
    NtStatus, UnicodeString,
};

pub(crate) const PROVIDER: Guid = Guid::from_name("Symbols-Test");

pub(crate) type EnableCallback =
    unsafe extern "system" fn(*const Guid, u32, u8, u64, u64, *const EventFilterDescriptor, *mut c_void);

unsafe extern "system" {
    pub(crate) fn EtwRegister(
        provider: *const Guid,
        callback: Option<EnableCallback>,
        context: *mut c_void,
        handle: *mut u64,
    ) -> NtStatus;
    pub(crate) safe fn EtwUnregister(handle: u64) -> NtStatus;
    pub(crate) fn EtwSetInformation(handle: u64, class: EventInfoClass, data: *const c_void, length: u32) -> NtStatus;
    pub(crate) fn EtwEventEnabled(handle: u64, descriptor: *const EventDescriptor) -> u8;
    pub(crate) safe fn EtwProviderEnabled(handle: u64, level: u8, keyword: u64) -> u8;
    pub(crate) fn EtwWrite(
        handle: u64,
        descriptor: *const EventDescriptor,
        activity: *const Guid,
        count: u32,
        data: *const EventDataDescriptor<'_>,
    ) -> NtStatus;
    pub(crate) fn EtwWriteTransfer(
        handle: u64,
        descriptor: *const EventDescriptor,
        activity: *const Guid,
        related: *const Guid,
        count: u32,
        data: *const EventDataDescriptor<'_>,
    ) -> NtStatus;
    pub(crate) fn EtwWriteEx(
        handle: u64,
        descriptor: *const EventDescriptor,
        filter: u64,
        flags: u32,
        activity: *const Guid,
        related: *const Guid,
        count: u32,
        data: *const EventDataDescriptor<'_>,
    ) -> NtStatus;
    pub(crate) fn EtwWriteString(
        handle: u64,
        level: u8,
        keyword: u64,
        activity: *const Guid,
        text: *const u16,
    ) -> NtStatus;
    pub(crate) fn EtwActivityIdControl(code: u32, id: *mut Guid) -> NtStatus;
    pub(crate) fn MmGetSystemRoutineAddress(name: *const UnicodeString) -> *mut c_void;
}

/// The arguments of one call of a C callback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EnableCall {
    pub(crate) source: Guid,
    pub(crate) control: ControlCode,
    pub(crate) level: u8,
    pub(crate) any: u64,
    pub(crate) all: u64,
    pub(crate) filter: Option<(u32, Vec<u8>)>,
}

/// The context that [`note`] expects.
#[derive(Default)]
pub(crate) struct Notes(Mutex<Vec<EnableCall>>);

impl Notes {
    pub(crate) fn context(&self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    pub(crate) fn take(&self) -> Vec<EnableCall> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// A callback that records its arguments. Its context must be a [`Notes`].
pub(crate) unsafe extern "system" fn note(
    source: *const Guid,
    control: u32,
    level: u8,
    any: u64,
    all: u64,
    filter: *const EventFilterDescriptor,
    context: *mut c_void,
) {
    // SAFETY: every test registers this callback with its `Notes`, which outlives the registration.
    let notes = unsafe { &*context.cast_const().cast::<Notes>() };
    // SAFETY: a callback's source is never NULL.
    let source = unsafe { source.read() };
    // SAFETY: filter data is NULL or valid during the callback.
    let filter = unsafe { filter.as_ref() }.map(|filter| {
        let size = usize::try_from(filter.size).unwrap();
        // SAFETY: the descriptor describes readable bytes.
        let data = unsafe { std::slice::from_raw_parts(filter.ptr, size) };
        (filter.kind, data.to_vec())
    });
    let control = ControlCode::from_int(control);
    notes.0.lock().unwrap().push(EnableCall { source, control, level, any, all, filter });
}

/// Registers the test's provider with the kernel's routine.
pub(crate) fn register(notes: &Notes) -> u64 {
    let mut handle = 0;
    // SAFETY: the pointers are valid, and every test keeps its notes until the engine is dropped.
    let status = unsafe { EtwRegister(&PROVIDER, Some(note), notes.context(), &raw mut handle) };
    assert_eq!(status, NtStatus::Success);
    assert_ne!(handle, 0);
    handle
}

/// Registers the test's provider without a callback.
pub(crate) fn register_silent() -> u64 {
    let mut handle = 0;
    // SAFETY: the pointers are valid.
    let status = unsafe { EtwRegister(&PROVIDER, None, std::ptr::null_mut(), &raw mut handle) };
    assert_eq!(status, NtStatus::Success);
    handle
}

pub(crate) fn error_event(keyword: u64) -> EventDescriptor {
    EventDescriptor::new(Level::Error, Keyword::from_bits(keyword))
}

/// Returns the text as UTF-16 with a terminator.
pub(crate) fn wide(text: &str) -> Vec<u16> {
    text.encode_utf16().chain([0]).collect()
}
