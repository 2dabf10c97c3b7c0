//! The routines of user mode as a provider declares them. On Windows they are the system's.

mod lookup;
mod routines;

use std::ffi::{c_char, c_void};

use etw_types::{EventDataDescriptor, EventDescriptor, EventInfoClass, Guid};

use crate::common::EnableCallback;

unsafe extern "system" {
    pub(crate) fn EventRegister(
        provider: *const Guid,
        callback: Option<EnableCallback>,
        context: *mut c_void,
        handle: *mut u64,
    ) -> u32;
    pub(crate) safe fn EventUnregister(handle: u64) -> u32;
    pub(crate) fn EventSetInformation(handle: u64, class: EventInfoClass, data: *const c_void, length: u32) -> u32;
    pub(crate) fn EventEnabled(handle: u64, descriptor: *const EventDescriptor) -> u8;
    pub(crate) safe fn EventProviderEnabled(handle: u64, level: u8, keyword: u64) -> u8;
    pub(crate) fn EventWrite(
        handle: u64,
        descriptor: *const EventDescriptor,
        count: u32,
        data: *const EventDataDescriptor<'_>,
    ) -> u32;
    pub(crate) fn EventWriteTransfer(
        handle: u64,
        descriptor: *const EventDescriptor,
        activity: *const Guid,
        related: *const Guid,
        count: u32,
        data: *const EventDataDescriptor<'_>,
    ) -> u32;
    pub(crate) fn EventWriteEx(
        handle: u64,
        descriptor: *const EventDescriptor,
        filter: u64,
        flags: u32,
        activity: *const Guid,
        related: *const Guid,
        count: u32,
        data: *const EventDataDescriptor<'_>,
    ) -> u32;
    pub(crate) fn EventWriteString(handle: u64, level: u8, keyword: u64, text: *const u16) -> u32;
    pub(crate) fn EventActivityIdControl(code: u32, id: *mut Guid) -> u32;
    pub(crate) fn GetModuleHandleExW(flags: u32, name: *const u16, module: *mut *mut c_void) -> i32;
    pub(crate) fn GetProcAddress(module: *mut c_void, name: *const c_char) -> *mut c_void;
    pub(crate) safe fn FreeLibrary(module: *mut c_void) -> i32;
}
