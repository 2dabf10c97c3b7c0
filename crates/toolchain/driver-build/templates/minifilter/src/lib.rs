//! {{Name}}: a minifilter that keeps files with the extension `keep` from being deleted or renamed.
#![no_std]

mod filter_manager;
mod trace;

extern crate wdk_panic;

use core::ffi::c_void;
use core::ptr;
use core::slice;
use core::sync::atomic::{AtomicPtr, Ordering};

use filter_manager::{
    CallbackData, FLT_FILE_NAME_NORMALIZED, FLT_FILE_NAME_QUERY_DEFAULT, FLT_POSTOP_FINISHED_PROCESSING,
    FLT_PREOP_COMPLETE, FLT_PREOP_SUCCESS_NO_CALLBACK, FLT_PREOP_SUCCESS_WITH_CALLBACK, Filter,
    FltGetFileNameInformation, FltParseFileNameInformation, FltRegisterFilter, FltReleaseFileNameInformation,
    FltStartFiltering, FltUnregisterFilter, IRP_MJ_CREATE, IRP_MJ_OPERATION_END, IRP_MJ_SET_INFORMATION,
    NameInformation, OperationRegistration, Registration, RelatedObjects,
};
use wdk_etw::NtStatus;
use wdk_sys::_FILE_INFORMATION_CLASS::{
    FileDispositionInformation, FileDispositionInformationEx, FileRenameInformation, FileRenameInformationEx,
};
use wdk_sys::{DRIVER_OBJECT, NT_SUCCESS, NTSTATUS, PCUNICODE_STRING, UNICODE_STRING};

/// The registered minifilter.
static FILTER: AtomicPtr<Filter> = AtomicPtr::new(ptr::null_mut());

static OPERATIONS: [OperationRegistration; 3] = [
    OperationRegistration::new(IRP_MJ_CREATE, Some(before_create), Some(after_create)),
    OperationRegistration::new(IRP_MJ_SET_INFORMATION, Some(before_set_information), None),
    OperationRegistration::new(IRP_MJ_OPERATION_END, None, None),
];

static REGISTRATION: Registration = Registration::new(&OPERATIONS, unload);

/// # Safety
///
/// Only the system may call this function.
#[unsafe(export_name = "DriverEntry")]
pub unsafe extern "system" fn driver_entry(driver: *mut DRIVER_OBJECT, path: PCUNICODE_STRING) -> NTSTATUS {
    // SAFETY: `unload` calls `trace::stop`. If this function fails, `unload` is not called, and this function calls it.
    let provider = unsafe { trace::start() };
    // SAFETY: the system's driver object.
    let status = unsafe { register(driver) };
    // SAFETY: the system's registry path is valid during this call.
    unsafe { trace::driver_entry(path, &provider, status) };
    if !NT_SUCCESS(status) {
        trace::stop();
    }
    status
}

/// # Safety
///
/// `driver` must be the system's driver object.
unsafe fn register(driver: *mut DRIVER_OBJECT) -> NTSTATUS {
    let mut filter: *mut Filter = ptr::null_mut();
    // SAFETY: the registration is static, and the other pointers are valid for the call.
    let status = unsafe { FltRegisterFilter(driver, &raw const REGISTRATION, &raw mut filter) };
    if !NT_SUCCESS(status) {
        return status;
    }
    FILTER.store(filter, Ordering::Release);
    // SAFETY: the filter was just registered.
    let status = unsafe { FltStartFiltering(filter) };
    if !NT_SUCCESS(status) {
        // SAFETY: as before, and it is not used afterwards.
        unsafe { FltUnregisterFilter(filter) };
    }
    status
}

unsafe extern "C" fn unload(_flags: u32) -> NTSTATUS {
    // SAFETY: `register` registered it. Callbacks that run now have returned when this call returns.
    unsafe { FltUnregisterFilter(FILTER.swap(ptr::null_mut(), Ordering::AcqRel)) };
    trace::stop();
    NtStatus::Success.as_signed()
}

unsafe extern "C" fn before_create(
    _data: *mut CallbackData,
    _objects: *const RelatedObjects,
    _context: *mut *mut c_void,
) -> i32 {
    FLT_PREOP_SUCCESS_WITH_CALLBACK
}

/// Runs at `PASSIVE_LEVEL`, as every callback after a create does.
unsafe extern "C" fn after_create(
    data: *mut CallbackData,
    _objects: *const RelatedObjects,
    _context: *mut c_void,
    _flags: u32,
) -> i32 {
    // SAFETY: the filter manager's callback data is valid during the callback.
    let status = unsafe { (*data).io_status.__bindgen_anon_1.Status };
    // SAFETY: as before.
    if let Some(name) = unsafe { Name::query(data) } {
        // SAFETY: the name lives as long as `name`.
        unsafe { trace::opened(name.full(), status) };
    }
    FLT_POSTOP_FINISHED_PROCESSING
}

unsafe extern "C" fn before_set_information(
    data: *mut CallbackData,
    _objects: *const RelatedObjects,
    _context: *mut *mut c_void,
) -> i32 {
    // SAFETY: the filter manager's callback data is valid during the callback, and its parameters are those of this operation.
    let class = unsafe { (*(*data).iopb).parameters.set_file_information.class };
    let guarded =
        [FileRenameInformation, FileRenameInformationEx, FileDispositionInformation, FileDispositionInformationEx];
    if !guarded.contains(&class) {
        return FLT_PREOP_SUCCESS_NO_CALLBACK;
    }
    // SAFETY: as before.
    let Some(name) = (unsafe { Name::query(data) }) else { return FLT_PREOP_SUCCESS_NO_CALLBACK };
    if !name.is_kept() {
        return FLT_PREOP_SUCCESS_NO_CALLBACK;
    }
    // SAFETY: the name lives as long as `name`.
    unsafe { trace::refused(name.full(), class) };
    // SAFETY: this callback completes the operation, so the result is its own.
    unsafe {
        (*data).io_status.__bindgen_anon_1.Status = NtStatus::AccessDenied.as_signed();
        (*data).io_status.Information = 0;
    }
    FLT_PREOP_COMPLETE
}

/// The name of the file of an operation. It is released when this value is dropped.
struct Name(*mut NameInformation);

impl Name {
    /// Queries the name. Returns `None` if there is none now.
    ///
    /// # Safety
    ///
    /// `data` must be the callback data of the current callback.
    unsafe fn query(data: *mut CallbackData) -> Option<Self> {
        let mut name: *mut NameInformation = ptr::null_mut();
        let options = FLT_FILE_NAME_NORMALIZED | FLT_FILE_NAME_QUERY_DEFAULT;
        // SAFETY: by this function's contract, and the pointer is valid for the call.
        let status = unsafe { FltGetFileNameInformation(data, options, &raw mut name) };
        if !NT_SUCCESS(status) {
            return None;
        }
        let name = Self(name);
        // SAFETY: the filter manager has just returned it.
        let status = unsafe { FltParseFileNameInformation(name.0) };
        NT_SUCCESS(status).then_some(name)
    }

    /// The whole name, with the volume.
    fn full(&self) -> *const UNICODE_STRING {
        // SAFETY: the name information lives as long as this value.
        unsafe { &raw const (*self.0).name }
    }

    /// Whether the extension is `keep`, in any case.
    fn is_kept(&self) -> bool {
        // SAFETY: as before; the filter manager has set the extension.
        let UNICODE_STRING { Length: length, Buffer: buffer, .. } = unsafe { (*self.0).extension };
        if buffer.is_null() {
            return false;
        }
        // SAFETY: the string has this many bytes.
        let units = unsafe { slice::from_raw_parts(buffer, usize::from(length) / 2) };
        let lower = |unit: u16| u8::try_from(unit).map(|byte| byte.to_ascii_lowercase()).unwrap_or_default();
        units.len() == 4 && units.iter().zip(b"keep").all(|(unit, letter)| lower(*unit) == *letter)
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        // SAFETY: `query` got this reference, and it is not used afterwards.
        unsafe { FltReleaseFileNameInformation(self.0) };
    }
}
