//! A test driver without hardware. It has a named control device, a periodic timer that queues a work item, and a counter
//! with a spin lock. It reads the period from the registry.

#![no_std]

extern crate wdk_panic;

use core::mem::size_of;
use core::ptr;

use wdk::wdf::SpinLock;
use wdk_alloc::WdkAllocator;
use wdk_sys::ntddk::{RtlInitUnicodeString, RtlQueryRegistryValues};
use wdk_sys::{
    _WDF_DRIVER_INIT_FLAGS, _WDF_EXECUTION_LEVEL, _WDF_SYNCHRONIZATION_SCOPE, DRIVER_OBJECT, NT_SUCCESS, NTSTATUS,
    PCUNICODE_STRING, PCWSTR, PDRIVER_OBJECT, PWDFDEVICE_INIT, REG_DWORD, RTL_QUERY_REGISTRY_DIRECT,
    RTL_QUERY_REGISTRY_TABLE, RTL_QUERY_REGISTRY_TYPECHECK, STATUS_INSUFFICIENT_RESOURCES, STATUS_SUCCESS, ULONG,
    UNICODE_STRING, WDF_DRIVER_CONFIG, WDF_NO_OBJECT_ATTRIBUTES, WDF_OBJECT_ATTRIBUTES, WDF_OBJECT_CONTEXT_TYPE_INFO,
    WDF_TIMER_CONFIG, WDF_WORKITEM_CONFIG, WDFDEVICE, WDFDRIVER, WDFTIMER, WDFWORKITEM,
    call_unsafe_wdf_function_binding,
};

#[global_allocator]
static ALLOCATOR: WdkAllocator = WdkAllocator;

const DEFAULT_PERIOD: ULONG = 1000;

#[expect(clippy::cast_possible_truncation, reason = "structures of the framework are small")]
const fn size<T>() -> ULONG {
    size_of::<T>() as ULONG
}

/// The context of the control device.
struct Context {
    lock: SpinLock,
    work: WDFWORKITEM,
    ticks: u64,
}

struct Shared(WDF_OBJECT_CONTEXT_TYPE_INFO);

// SAFETY: this driver does not write to it; the framework only reads it.
unsafe impl Sync for Shared {}

static CONTEXT_TYPE: Shared = Shared(WDF_OBJECT_CONTEXT_TYPE_INFO {
    Size: size::<WDF_OBJECT_CONTEXT_TYPE_INFO>(),
    ContextName: c"Ticks".as_ptr().cast(),
    ContextSize: size_of::<Context>(),
    UniqueType: &raw const CONTEXT_TYPE.0,
    EvtDriverGetUniqueContextType: None,
});

/// Converts ASCII text to terminated UTF-16.
macro_rules! wide {
    ($text:literal) => {
        const { &units::<{ $text.len() + 1 }>($text) }
    };
}

const fn units<const N: usize>(text: &str) -> [u16; N] {
    let mut units = [0; N];
    let mut at = 0;
    while at < text.len() {
        units[at] = text.as_bytes()[at] as u16;
        at += 1;
    }
    units
}

static DEVICE: &[u16] = wide!("\\Device\\KitTimerTicks");
static LINK: &[u16] = wide!("\\DosDevices\\KitTimerTicks");
static SDDL: &[u16] = wide!("D:P(A;;GA;;;SY)(A;;GA;;;BA)");
static PERIOD: &[u16] = wide!("Period");

fn string(units: &'static [u16]) -> UNICODE_STRING {
    let mut string = UNICODE_STRING::default();
    // SAFETY: the text is terminated and static.
    unsafe { RtlInitUnicodeString(&raw mut string, units.as_ptr()) };
    string
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
        DriverInitFlags: _WDF_DRIVER_INIT_FLAGS::WdfDriverInitNonPnpDriver.cast_unsigned(),
        EvtDriverUnload: Some(unload),
        ..WDF_DRIVER_CONFIG::default()
    };
    let driver: PDRIVER_OBJECT = driver;
    let mut handle: WDFDRIVER = ptr::null_mut();
    // SAFETY: all pointers are valid for the call.
    let status = unsafe {
        call_unsafe_wdf_function_binding!(
            WdfDriverCreate,
            driver,
            registry_path,
            WDF_NO_OBJECT_ATTRIBUTES,
            &raw mut config,
            &raw mut handle
        )
    };
    if !NT_SUCCESS(status) {
        return status;
    }
    // SAFETY: the system passes a valid path.
    let path = unsafe { (*registry_path).Buffer };
    create_device(handle, period(path))
}

/// Returns the period from the driver's registry key, or the default.
fn period(path: PCWSTR) -> ULONG {
    let mut value = DEFAULT_PERIOD;
    let mut table = [RTL_QUERY_REGISTRY_TABLE::default(); 2];
    table[0].Flags = RTL_QUERY_REGISTRY_DIRECT | RTL_QUERY_REGISTRY_TYPECHECK;
    table[0].Name = PERIOD.as_ptr().cast_mut();
    table[0].EntryContext = (&raw mut value).cast();
    table[0].DefaultType = (REG_DWORD << 24) | REG_DWORD;
    // SAFETY: the table ends with an empty entry, and a value of another type is rejected.
    let status = unsafe { RtlQueryRegistryValues(0, path, table.as_mut_ptr(), ptr::null_mut(), ptr::null_mut()) };
    if NT_SUCCESS(status) { value } else { DEFAULT_PERIOD }
}

fn create_device(driver: WDFDRIVER, period: ULONG) -> NTSTATUS {
    let sddl = string(SDDL);
    let name = string(DEVICE);
    let link = string(LINK);
    // SAFETY: the driver exists.
    let mut init: PWDFDEVICE_INIT =
        unsafe { call_unsafe_wdf_function_binding!(WdfControlDeviceInitAllocate, driver, &raw const sddl) };
    if init.is_null() {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    // SAFETY: `init` is not null.
    let status = unsafe { call_unsafe_wdf_function_binding!(WdfDeviceInitAssignName, init, &raw const name) };
    if !NT_SUCCESS(status) {
        // SAFETY: no device was created from `init`.
        unsafe { call_unsafe_wdf_function_binding!(WdfDeviceInitFree, init) };
        return status;
    }
    let mut attributes = attributes();
    attributes.ContextTypeInfo = &raw const CONTEXT_TYPE.0;
    let mut device: WDFDEVICE = ptr::null_mut();
    // SAFETY: all pointers are valid for the call, which takes ownership of `init`.
    let status = unsafe {
        call_unsafe_wdf_function_binding!(WdfDeviceCreate, &raw mut init, &raw mut attributes, &raw mut device)
    };
    if !NT_SUCCESS(status) {
        // SAFETY: no device was created from `init`.
        unsafe { call_unsafe_wdf_function_binding!(WdfDeviceInitFree, init) };
        return status;
    }
    // SAFETY: the device exists.
    let status = unsafe { call_unsafe_wdf_function_binding!(WdfDeviceCreateSymbolicLink, device, &raw const link) };
    if !NT_SUCCESS(status) {
        return status;
    }
    let status = start(device, period);
    if NT_SUCCESS(status) {
        // SAFETY: the device is complete.
        unsafe { call_unsafe_wdf_function_binding!(WdfControlFinishInitializing, device) };
    }
    status
}

fn attributes() -> WDF_OBJECT_ATTRIBUTES {
    WDF_OBJECT_ATTRIBUTES {
        Size: size::<WDF_OBJECT_ATTRIBUTES>(),
        ExecutionLevel: _WDF_EXECUTION_LEVEL::WdfExecutionLevelInheritFromParent,
        SynchronizationScope: _WDF_SYNCHRONIZATION_SCOPE::WdfSynchronizationScopeInheritFromParent,
        ..WDF_OBJECT_ATTRIBUTES::default()
    }
}

fn context(device: WDFDEVICE) -> *mut Context {
    // SAFETY: the device was created with a context of this type.
    unsafe {
        call_unsafe_wdf_function_binding!(WdfObjectGetTypedContextWorker, device.cast(), &raw const CONTEXT_TYPE.0)
    }
    .cast()
}

/// Fills the context and starts the timer.
fn start(device: WDFDEVICE, period: ULONG) -> NTSTATUS {
    let mut child = attributes();
    child.ParentObject = device.cast();
    let lock = match SpinLock::create(&mut child) {
        Ok(lock) => lock,
        Err(status) => return status,
    };
    let mut work: WDFWORKITEM = ptr::null_mut();
    let mut config = WDF_WORKITEM_CONFIG {
        Size: size::<WDF_WORKITEM_CONFIG>(),
        EvtWorkItemFunc: Some(work_item),
        AutomaticSerialization: 1,
    };
    // SAFETY: all pointers are valid for the call.
    let status =
        unsafe { call_unsafe_wdf_function_binding!(WdfWorkItemCreate, &raw mut config, &raw mut child, &raw mut work) };
    if !NT_SUCCESS(status) {
        return status;
    }
    // SAFETY: the context is zeroed memory of this type, and no other code uses it yet.
    unsafe { context(device).write(Context { lock, work, ticks: 0 }) };

    let mut config = WDF_TIMER_CONFIG {
        Size: size::<WDF_TIMER_CONFIG>(),
        EvtTimerFunc: Some(tick),
        Period: period,
        AutomaticSerialization: 1,
        ..WDF_TIMER_CONFIG::default()
    };
    let mut timer: WDFTIMER = ptr::null_mut();
    // SAFETY: all pointers are valid for the call.
    let status =
        unsafe { call_unsafe_wdf_function_binding!(WdfTimerCreate, &raw mut config, &raw mut child, &raw mut timer) };
    if NT_SUCCESS(status) {
        let due = -10_000 * i64::from(period);
        // SAFETY: the timer exists until its device is deleted.
        let _ = unsafe { call_unsafe_wdf_function_binding!(WdfTimerStart, timer, due) };
    }
    status
}

extern "C" fn tick(timer: WDFTIMER) {
    // SAFETY: the timer's parent is the device.
    let device = unsafe { call_unsafe_wdf_function_binding!(WdfTimerGetParentObject, timer) };
    let state = context(device.cast());
    // SAFETY: the context was filled before the timer started.
    let lock = unsafe { &(*state).lock };
    // SAFETY: as before.
    let work = unsafe { (*state).work };
    lock.acquire();
    // SAFETY: the lock is held.
    unsafe { (*state).ticks += 1 };
    lock.release();
    // SAFETY: the work item exists.
    unsafe { call_unsafe_wdf_function_binding!(WdfWorkItemEnqueue, work) };
}

extern "C" fn work_item(work: WDFWORKITEM) {
    // SAFETY: the work item's parent is the device.
    let device = unsafe { call_unsafe_wdf_function_binding!(WdfWorkItemGetParentObject, work) };
    let state = context(device.cast());
    // SAFETY: as in `tick`.
    let lock = unsafe { &(*state).lock };
    lock.acquire();
    // SAFETY: the lock is held.
    let ticks = unsafe { (*state).ticks };
    lock.release();
    wdk::println!("timer: {ticks} ticks");
}

extern "C" fn unload(_: WDFDRIVER) {
    wdk::println!("timer: unloaded, status {STATUS_SUCCESS}");
}
