//! The part of the filter manager's interface that this driver uses. `wdk-sys` has no bindings for `fltkernel.h`; types and
//! routines are as Microsoft Learn describes them.

use core::ffi::c_void;
use core::ptr;

use wdk_sys::{DRIVER_OBJECT, FILE_INFORMATION_CLASS, FILE_OBJECT, IO_STATUS_BLOCK, NTSTATUS, UNICODE_STRING};

pub const IRP_MJ_CREATE: u8 = 0x00;
pub const IRP_MJ_SET_INFORMATION: u8 = 0x06;
pub const IRP_MJ_OPERATION_END: u8 = 0x80;

pub const FLT_PREOP_SUCCESS_WITH_CALLBACK: i32 = 0;
pub const FLT_PREOP_SUCCESS_NO_CALLBACK: i32 = 1;
pub const FLT_PREOP_COMPLETE: i32 = 4;
pub const FLT_POSTOP_FINISHED_PROCESSING: i32 = 0;

pub const FLT_FILE_NAME_NORMALIZED: u32 = 0x1;
pub const FLT_FILE_NAME_QUERY_DEFAULT: u32 = 0x100;
const FLT_REGISTRATION_VERSION: u16 = 0x0203;

/// `FLT_FILTER`, `FLT_VOLUME`, `FLT_INSTANCE`: only the filter manager knows their contents.
pub enum Filter {}
pub enum Volume {}
pub enum Instance {}

pub type PreOperation = unsafe extern "C" fn(*mut CallbackData, *const RelatedObjects, *mut *mut c_void) -> i32;
pub type PostOperation = unsafe extern "C" fn(*mut CallbackData, *const RelatedObjects, *mut c_void, u32) -> i32;
pub type Unload = unsafe extern "C" fn(u32) -> NTSTATUS;

/// `FLT_OPERATION_REGISTRATION`.
#[repr(C)]
pub struct OperationRegistration {
    major: u8,
    flags: u32,
    before: Option<PreOperation>,
    after: Option<PostOperation>,
    reserved: *mut c_void,
}

// SAFETY: it is never changed.
unsafe impl Sync for OperationRegistration {}

impl OperationRegistration {
    pub const fn new(major: u8, before: Option<PreOperation>, after: Option<PostOperation>) -> Self {
        Self { major, flags: 0, before, after, reserved: ptr::null_mut() }
    }
}

/// `FLT_REGISTRATION`. The callbacks that this driver does not use are null.
#[repr(C)]
pub struct Registration {
    size: u16,
    version: u16,
    flags: u32,
    contexts: *const c_void,
    operations: *const OperationRegistration,
    unload: Option<Unload>,
    unused: [*const c_void; 10],
}

// SAFETY: it is never changed.
unsafe impl Sync for Registration {}

impl Registration {
    /// A registration with the callbacks of `operations`, whose last entry is `IRP_MJ_OPERATION_END`.
    pub const fn new(operations: &'static [OperationRegistration], unload: Unload) -> Self {
        Self {
            size: size_of::<Self>() as u16,
            version: FLT_REGISTRATION_VERSION,
            flags: 0,
            contexts: ptr::null(),
            operations: operations.as_ptr(),
            unload: Some(unload),
            unused: [ptr::null(); 10],
        }
    }
}

/// `FLT_RELATED_OBJECTS`.
#[repr(C)]
pub struct RelatedObjects {
    pub size: u16,
    pub transaction_context: u16,
    pub filter: *mut Filter,
    pub volume: *mut Volume,
    pub instance: *mut Instance,
    pub file_object: *mut FILE_OBJECT,
    pub transaction: *mut c_void,
}

/// `FLT_CALLBACK_DATA`.
#[repr(C)]
pub struct CallbackData {
    pub flags: u32,
    pub thread: *mut c_void,
    pub iopb: *mut ParameterBlock,
    pub io_status: IO_STATUS_BLOCK,
    pub tag_data: *mut c_void,
    pub filter_context: [*mut c_void; 4],
    pub requestor_mode: i8,
}

/// `FLT_IO_PARAMETER_BLOCK`.
#[repr(C)]
pub struct ParameterBlock {
    pub irp_flags: u32,
    pub major: u8,
    pub minor: u8,
    pub operation_flags: u8,
    pub reserved: u8,
    pub target_file_object: *mut FILE_OBJECT,
    pub target_instance: *mut Instance,
    pub parameters: Parameters,
}

/// `FLT_PARAMETERS`. Each member is in a word of its own (`POINTER_ALIGNMENT`).
#[repr(C)]
pub union Parameters {
    pub set_file_information: SetFileInformation,
    words: [u64; 6],
}

/// `FLT_PARAMETERS.SetFileInformation`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct SetFileInformation {
    pub length: u32,
    padding: u32,
    pub class: FILE_INFORMATION_CLASS,
    padding2: u32,
    pub parent_of_target: *mut FILE_OBJECT,
    pub delete_handle: *mut c_void,
    pub buffer: *mut c_void,
}

/// `FLT_FILE_NAME_INFORMATION`.
#[repr(C)]
pub struct NameInformation {
    pub size: u16,
    pub names_parsed: u16,
    pub format: u32,
    pub name: UNICODE_STRING,
    pub volume: UNICODE_STRING,
    pub share: UNICODE_STRING,
    pub extension: UNICODE_STRING,
    pub stream: UNICODE_STRING,
    pub final_component: UNICODE_STRING,
    pub parent_dir: UNICODE_STRING,
}

const _: () = assert!(size_of::<Registration>() == 0x70 && size_of::<OperationRegistration>() == 0x20);
const _: () = assert!(size_of::<CallbackData>() == 0x58 && size_of::<ParameterBlock>() == 0x48);
const _: () = assert!(size_of::<RelatedObjects>() == 0x30 && size_of::<NameInformation>() == 0x78);

#[link(name = "fltMgr")]
unsafe extern "system" {
    pub fn FltRegisterFilter(
        driver: *mut DRIVER_OBJECT,
        registration: *const Registration,
        filter: *mut *mut Filter,
    ) -> NTSTATUS;
    pub fn FltStartFiltering(filter: *mut Filter) -> NTSTATUS;
    pub fn FltUnregisterFilter(filter: *mut Filter);
    pub fn FltGetFileNameInformation(
        data: *mut CallbackData,
        options: u32,
        name: *mut *mut NameInformation,
    ) -> NTSTATUS;
    pub fn FltParseFileNameInformation(name: *mut NameInformation) -> NTSTATUS;
    pub fn FltReleaseFileNameInformation(name: *mut NameInformation);
}
