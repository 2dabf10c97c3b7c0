//! A test driver that returns the data that was last written to it. It uses devices, typed contexts, an interface, file
//! objects, a queue, requests, memory objects and a wait lock.

#![no_std]

extern crate wdk_panic;

mod queue;

use core::mem::size_of;
use core::ptr;

use wdk_alloc::WdkAllocator;
use wdk_sys::{
    _WDF_EXECUTION_LEVEL, _WDF_FILEOBJECT_CLASS, _WDF_POWER_DEVICE_STATE, _WDF_SYNCHRONIZATION_SCOPE, _WDF_TRI_STATE,
    DRIVER_OBJECT, GUID, NT_SUCCESS, NTSTATUS, PCUNICODE_STRING, PDRIVER_OBJECT, PWDFDEVICE_INIT, STATUS_SUCCESS,
    ULONG, WDF_DRIVER_CONFIG, WDF_FILEOBJECT_CONFIG, WDF_NO_HANDLE, WDF_NO_OBJECT_ATTRIBUTES, WDF_OBJECT_ATTRIBUTES,
    WDF_OBJECT_CONTEXT_TYPE_INFO, WDF_PNPPOWER_EVENT_CALLBACKS, WDFDEVICE, WDFDRIVER, WDFFILEOBJECT, WDFMEMORY,
    WDFOBJECT, WDFREQUEST, WDFWAITLOCK, call_unsafe_wdf_function_binding,
};

#[global_allocator]
static ALLOCATOR: WdkAllocator = WdkAllocator;

/// The device interface class, with which programs find the device.
static INTERFACE: GUID =
    GUID { Data1: 0x5b2f_6d1e, Data2: 0x93a4, Data3: 0x4c1b, Data4: [0x8e, 0x57, 0x20, 0x6f, 0x0d, 0xc3, 0x4a, 0x71] };

/// Returns the size of a structure, as the framework expects it in the `Size` field.
#[expect(clippy::cast_possible_truncation, reason = "structures of the framework are small")]
pub(crate) const fn size<T>() -> ULONG {
    size_of::<T>() as ULONG
}

/// The context of a device: the data that was last written, and its lock.
pub(crate) struct Context {
    pub(crate) lock: WDFWAITLOCK,
    pub(crate) memory: WDFMEMORY,
    pub(crate) length: usize,
}

struct Shared(WDF_OBJECT_CONTEXT_TYPE_INFO);

// SAFETY: this driver does not write to it; the framework only reads it.
unsafe impl Sync for Shared {}

static CONTEXT_TYPE: Shared = Shared(WDF_OBJECT_CONTEXT_TYPE_INFO {
    Size: size::<WDF_OBJECT_CONTEXT_TYPE_INFO>(),
    ContextName: c"Echo".as_ptr().cast(),
    ContextSize: size_of::<Context>(),
    UniqueType: &raw const CONTEXT_TYPE.0,
    EvtDriverGetUniqueContextType: None,
});

/// Returns the context of a device.
pub(crate) fn context(device: WDFDEVICE) -> *mut Context {
    // SAFETY: every device of this driver is created with a context of this type.
    unsafe {
        call_unsafe_wdf_function_binding!(WdfObjectGetTypedContextWorker, device.cast(), &raw const CONTEXT_TYPE.0)
    }
    .cast()
}

/// The driver's entry point.
///
/// # Safety
///
/// Called by the framework's stub.
#[unsafe(export_name = "DriverEntry")]
pub unsafe extern "system" fn driver_entry(driver: &mut DRIVER_OBJECT, registry_path: PCUNICODE_STRING) -> NTSTATUS {
    let mut config = WDF_DRIVER_CONFIG {
        Size: size::<WDF_DRIVER_CONFIG>(),
        EvtDriverDeviceAdd: Some(device_add),
        EvtDriverUnload: Some(unload),
        ..WDF_DRIVER_CONFIG::default()
    };
    let driver: PDRIVER_OBJECT = driver;
    // SAFETY: all pointers are valid for the call.
    unsafe {
        call_unsafe_wdf_function_binding!(
            WdfDriverCreate,
            driver,
            registry_path,
            WDF_NO_OBJECT_ATTRIBUTES,
            &raw mut config,
            WDF_NO_HANDLE.cast::<WDFDRIVER>()
        )
    }
}

extern "C" fn unload(_: WDFDRIVER) {
    wdk::println!("echo: unloaded");
}

extern "C" fn device_add(_: WDFDRIVER, mut init: PWDFDEVICE_INIT) -> NTSTATUS {
    let mut power = WDF_PNPPOWER_EVENT_CALLBACKS {
        Size: size::<WDF_PNPPOWER_EVENT_CALLBACKS>(),
        EvtDeviceD0Entry: Some(d0_entry),
        ..WDF_PNPPOWER_EVENT_CALLBACKS::default()
    };
    let mut files = WDF_FILEOBJECT_CONFIG {
        Size: size::<WDF_FILEOBJECT_CONFIG>(),
        EvtDeviceFileCreate: Some(file_create),
        AutoForwardCleanupClose: _WDF_TRI_STATE::WdfUseDefault,
        FileObjectClass: _WDF_FILEOBJECT_CLASS::WdfFileObjectNotRequired,
        ..WDF_FILEOBJECT_CONFIG::default()
    };
    let mut attributes = WDF_OBJECT_ATTRIBUTES {
        Size: size::<WDF_OBJECT_ATTRIBUTES>(),
        ExecutionLevel: _WDF_EXECUTION_LEVEL::WdfExecutionLevelPassive,
        SynchronizationScope: _WDF_SYNCHRONIZATION_SCOPE::WdfSynchronizationScopeInheritFromParent,
        ContextTypeInfo: &raw const CONTEXT_TYPE.0,
        EvtCleanupCallback: Some(cleanup),
        ..WDF_OBJECT_ATTRIBUTES::default()
    };
    let mut device: WDFDEVICE = ptr::null_mut();
    // SAFETY: the framework passed `init`, and the structures outlive the call.
    unsafe { call_unsafe_wdf_function_binding!(WdfDeviceInitSetPnpPowerEventCallbacks, init, &raw mut power) };
    // SAFETY: as before.
    unsafe {
        call_unsafe_wdf_function_binding!(
            WdfDeviceInitSetFileObjectConfig,
            init,
            &raw mut files,
            WDF_NO_OBJECT_ATTRIBUTES
        );
    };
    // SAFETY: as before.
    let status = unsafe {
        call_unsafe_wdf_function_binding!(WdfDeviceCreate, &raw mut init, &raw mut attributes, &raw mut device)
    };
    if !NT_SUCCESS(status) {
        return status;
    }
    let status = queue::initialize(device);
    if !NT_SUCCESS(status) {
        return status;
    }
    // SAFETY: the device exists.
    unsafe {
        call_unsafe_wdf_function_binding!(WdfDeviceCreateDeviceInterface, device, &raw const INTERFACE, ptr::null())
    }
}

extern "C" fn d0_entry(_: WDFDEVICE, previous: _WDF_POWER_DEVICE_STATE::Type) -> NTSTATUS {
    wdk::println!("echo: on, was in state {previous}");
    STATUS_SUCCESS
}

extern "C" fn file_create(_: WDFDEVICE, request: WDFREQUEST, _: WDFFILEOBJECT) {
    // SAFETY: this driver owns the request until it completes it here.
    unsafe { call_unsafe_wdf_function_binding!(WdfRequestComplete, request, STATUS_SUCCESS) };
}

extern "C" fn cleanup(_: WDFOBJECT) {
    wdk::println!("echo: a device goes away");
}
