//! The driver `kmdf-echo` without `wdk-kmdf`: the same objects, locks and order of calls, written with the functions of `wdk-sys`.
//! The bench compares the two.
#![no_std]

extern crate wdk_panic;

use core::mem::size_of;
use core::ptr;

#[expect(clippy::unsafe_removed_from_name, reason = "every call is in an unsafe block")]
use wdk_sys::call_unsafe_wdf_function_binding as wdf;
use wdk_sys::ntddk::{KeAcquireSpinLockRaiseToDpc, KeReleaseSpinLock};
use wdk_sys::{
    _POOL_TYPE, _WDF_EXECUTION_LEVEL, _WDF_IO_QUEUE_DISPATCH_TYPE, _WDF_SYNCHRONIZATION_SCOPE, _WDF_TRI_STATE,
    DRIVER_OBJECT, GUID, KSPIN_LOCK, NTSTATUS, PCUNICODE_STRING, PVOID, PWDFDEVICE_INIT, WDF_DRIVER_CONFIG,
    WDF_IO_QUEUE_CONFIG, WDF_NO_OBJECT_ATTRIBUTES, WDF_OBJECT_ATTRIBUTES, WDF_OBJECT_CONTEXT_TYPE_INFO,
    WDF_PNPPOWER_EVENT_CALLBACKS, WDF_TIMER_CONFIG, WDFDEVICE, WDFDRIVER, WDFMEMORY, WDFOBJECT, WDFQUEUE, WDFREQUEST,
    WDFTIMER,
};

/// The device interface, by which programs find the device.
const INTERFACE: GUID =
    GUID { Data1: 0xcdc3_5b6e, Data2: 0x0be4, Data3: 0x4936, Data4: [0xbf, 0x5f, 0x55, 0x37, 0x38, 0x0a, 0x7c, 0x1a] };
/// The longest write.
const MAX_WRITE_LENGTH: usize = 40 * 1024;
/// From the start of the device to the first tick: 100 ms, in units of 100 ns.
const FIRST_TICK: i64 = -1_000_000;
/// Between two ticks, in milliseconds.
const PERIOD: u32 = 10_000;
const TAG: u32 = u32::from_le_bytes(*b"Echo");
const STATUS_SUCCESS: NTSTATUS = 0;
const STATUS_BUFFER_OVERFLOW: NTSTATUS = 0x8000_0005_u32.cast_signed();
const STATUS_CANCELLED: NTSTATUS = 0xC000_0120_u32.cast_signed();

/// The context of the queue.
#[repr(C)]
struct Echo {
    timer: WDFTIMER,
    /// For `request` and `information`.
    request_lock: KSPIN_LOCK,
    /// The request that the next tick completes, or null.
    request: WDFREQUEST,
    /// The number of bytes to complete it with.
    information: usize,
    /// For `data`, `bytes` and `length`.
    data_lock: KSPIN_LOCK,
    /// What was written last, or null.
    data: WDFMEMORY,
    bytes: *mut u8,
    length: usize,
}

#[repr(transparent)]
struct Info(WDF_OBJECT_CONTEXT_TYPE_INFO);

// SAFETY: the value never changes.
unsafe impl Sync for Info {}

static INFO: Info = Info(WDF_OBJECT_CONTEXT_TYPE_INFO {
    Size: size::<WDF_OBJECT_CONTEXT_TYPE_INFO>(),
    ContextName: c"Echo".as_ptr().cast_mut().cast(),
    ContextSize: size_of::<Echo>(),
    UniqueType: (&raw const INFO).cast(),
    EvtDriverGetUniqueContextType: None,
});

/// # Safety
///
/// Only the system may call this function.
#[unsafe(export_name = "DriverEntry")]
pub unsafe extern "system" fn driver_entry(driver: *mut DRIVER_OBJECT, path: PCUNICODE_STRING) -> NTSTATUS {
    let mut config = WDF_DRIVER_CONFIG {
        Size: size::<WDF_DRIVER_CONFIG>(),
        EvtDriverDeviceAdd: Some(device_add),
        ..WDF_DRIVER_CONFIG::default()
    };
    // SAFETY: the arguments are the system's.
    unsafe { wdf!(WdfDriverCreate, driver, path, WDF_NO_OBJECT_ATTRIBUTES, &raw mut config, ptr::null_mut()) }
}

unsafe extern "C" fn device_add(_: WDFDRIVER, mut init: PWDFDEVICE_INIT) -> NTSTATUS {
    let mut callbacks = WDF_PNPPOWER_EVENT_CALLBACKS {
        Size: size::<WDF_PNPPOWER_EVENT_CALLBACKS>(),
        EvtDeviceSelfManagedIoInit: Some(start),
        EvtDeviceSelfManagedIoSuspend: Some(suspend),
        EvtDeviceSelfManagedIoRestart: Some(start),
        ..WDF_PNPPOWER_EVENT_CALLBACKS::default()
    };
    // SAFETY: the framework passes the structure; the device is not created yet.
    unsafe { wdf!(WdfDeviceInitSetPnpPowerEventCallbacks, init, &raw mut callbacks) };
    let mut device: WDFDEVICE = ptr::null_mut();
    // SAFETY: as above.
    let status = unsafe { wdf!(WdfDeviceCreate, &raw mut init, WDF_NO_OBJECT_ATTRIBUTES, &raw mut device) };
    if status < 0 {
        return status;
    }
    // SAFETY: the device was just created.
    let status = unsafe { create_queue(device) };
    if status < 0 {
        return status;
    }
    // SAFETY: as above.
    unsafe { wdf!(WdfDeviceCreateDeviceInterface, device, ptr::from_ref(&INTERFACE), ptr::null()) }
}

/// # Safety
///
/// The device must exist.
unsafe fn create_queue(device: WDFDEVICE) -> NTSTATUS {
    let mut config = WDF_IO_QUEUE_CONFIG {
        Size: size::<WDF_IO_QUEUE_CONFIG>(),
        DispatchType: _WDF_IO_QUEUE_DISPATCH_TYPE::WdfIoQueueDispatchSequential,
        PowerManaged: _WDF_TRI_STATE::WdfUseDefault,
        DefaultQueue: 1,
        EvtIoRead: Some(read),
        EvtIoWrite: Some(write),
        ..WDF_IO_QUEUE_CONFIG::default()
    };
    let mut attributes = WDF_OBJECT_ATTRIBUTES {
        EvtDestroyCallback: Some(destroy),
        ContextTypeInfo: &raw const INFO.0,
        ..object_attributes()
    };
    let mut queue: WDFQUEUE = ptr::null_mut();
    // SAFETY: the device exists.
    let status = unsafe { wdf!(WdfIoQueueCreate, device, &raw mut config, &raw mut attributes, &raw mut queue) };
    if status < 0 {
        return status;
    }
    let mut config = WDF_TIMER_CONFIG {
        Size: size::<WDF_TIMER_CONFIG>(),
        EvtTimerFunc: Some(tick),
        Period: PERIOD,
        ..WDF_TIMER_CONFIG::default()
    };
    let mut attributes = WDF_OBJECT_ATTRIBUTES { ParentObject: queue.cast(), ..object_attributes() };
    // SAFETY: the queue was just created with this context.
    let timer = unsafe { &raw mut (*context(queue.cast())).timer };
    // SAFETY: the queue exists.
    unsafe { wdf!(WdfTimerCreate, &raw mut config, &raw mut attributes, timer) }
}

unsafe extern "C" fn start(device: WDFDEVICE) -> NTSTATUS {
    // SAFETY: the framework passes the device.
    let queue = unsafe { wdf!(WdfDeviceGetDefaultQueue, device) };
    // SAFETY: the device has this queue, with this context.
    let timer = unsafe { (*context(queue.cast())).timer };
    // SAFETY: as above.
    unsafe { wdf!(WdfIoQueueStart, queue) };
    // SAFETY: the queue owns the timer.
    let _was_running = unsafe { wdf!(WdfTimerStart, timer, FIRST_TICK) };
    STATUS_SUCCESS
}

unsafe extern "C" fn suspend(device: WDFDEVICE) -> NTSTATUS {
    // SAFETY: the framework passes the device.
    let queue = unsafe { wdf!(WdfDeviceGetDefaultQueue, device) };
    // SAFETY: the device has this queue, with this context.
    let timer = unsafe { (*context(queue.cast())).timer };
    // SAFETY: as above. The timer completes the request that the driver still has.
    unsafe { wdf!(WdfIoQueueStopSynchronously, queue) };
    // SAFETY: the queue owns the timer.
    let _was_running = unsafe { wdf!(WdfTimerStop, timer, 1) };
    STATUS_SUCCESS
}

unsafe extern "C" fn read(queue: WDFQUEUE, request: WDFREQUEST, length: usize) {
    // SAFETY: the framework passes the queue.
    let echo = unsafe { context(queue.cast()) };
    // SAFETY: the lock is in the context.
    let irql = unsafe { KeAcquireSpinLockRaiseToDpc(&raw mut (*echo).data_lock) };
    // SAFETY: the data is locked.
    let (data, bytes, available) = unsafe { ((*echo).data, (*echo).bytes, (*echo).length) };
    let copied = available.min(length);
    let mut status = STATUS_SUCCESS;
    if !data.is_null() {
        let mut buffer: PVOID = ptr::null_mut();
        // SAFETY: the framework passes ownership of the request.
        status = unsafe { wdf!(WdfRequestRetrieveOutputBuffer, request, length, &raw mut buffer, ptr::null_mut()) };
        if status >= 0 {
            // SAFETY: the buffer has at least `length` bytes.
            unsafe { ptr::copy_nonoverlapping(bytes, buffer.cast::<u8>(), copied) };
        }
    }
    // SAFETY: this processor holds the lock.
    unsafe { KeReleaseSpinLock(&raw mut (*echo).data_lock, irql) };
    if data.is_null() || status < 0 {
        // SAFETY: the driver owns the request.
        unsafe { complete(request, status, 0) };
    } else {
        // SAFETY: as above.
        unsafe { keep(echo, request, copied) };
    }
}

unsafe extern "C" fn write(queue: WDFQUEUE, request: WDFREQUEST, length: usize) {
    // SAFETY: the framework passes the queue.
    let echo = unsafe { context(queue.cast()) };
    let mut buffer: PVOID = ptr::null_mut();
    // SAFETY: the framework passes ownership of the request.
    let mut status = unsafe { wdf!(WdfRequestRetrieveInputBuffer, request, length, &raw mut buffer, ptr::null_mut()) };
    if status >= 0 && length > MAX_WRITE_LENGTH {
        status = STATUS_BUFFER_OVERFLOW;
    }
    let mut data: WDFMEMORY = ptr::null_mut();
    let mut bytes: PVOID = ptr::null_mut();
    if status >= 0 {
        // SAFETY: the variables outlive the call.
        status = unsafe {
            wdf!(
                WdfMemoryCreate,
                WDF_NO_OBJECT_ATTRIBUTES,
                _POOL_TYPE::NonPagedPoolNx,
                TAG,
                length,
                &raw mut data,
                &raw mut bytes
            )
        };
    }
    if status != STATUS_SUCCESS {
        // SAFETY: the driver owns the request.
        return unsafe { complete(request, status, 0) };
    }
    // SAFETY: both have `length` bytes.
    unsafe { ptr::copy_nonoverlapping(buffer.cast::<u8>(), bytes.cast::<u8>(), length) };
    // SAFETY: the lock is in the context.
    let irql = unsafe { KeAcquireSpinLockRaiseToDpc(&raw mut (*echo).data_lock) };
    // SAFETY: the data is locked.
    let old = unsafe { ptr::replace(&raw mut (*echo).data, data) };
    // SAFETY: as above.
    unsafe { ((*echo).bytes, (*echo).length) = (bytes.cast(), length) };
    // SAFETY: this processor holds the lock.
    unsafe { KeReleaseSpinLock(&raw mut (*echo).data_lock, irql) };
    if !old.is_null() {
        // SAFETY: nothing else refers to the old memory.
        unsafe { wdf!(WdfObjectDelete, old.cast()) };
    }
    // SAFETY: the driver owns the request.
    unsafe { keep(echo, request, length) };
}

/// Keeps a request for the next tick.
///
/// # Safety
///
/// The driver must own the request.
unsafe fn keep(echo: *mut Echo, request: WDFREQUEST, information: usize) {
    // SAFETY: the lock is in the context.
    let irql = unsafe { KeAcquireSpinLockRaiseToDpc(&raw mut (*echo).request_lock) };
    // SAFETY: the driver owns the request. The cancel callback waits for the lock.
    let status = unsafe { wdf!(WdfRequestMarkCancelableEx, request, Some(cancel)) };
    if status >= 0 {
        // SAFETY: the fields are locked.
        unsafe { ((*echo).request, (*echo).information) = (request, information) };
    }
    // SAFETY: this processor holds the lock.
    unsafe { KeReleaseSpinLock(&raw mut (*echo).request_lock, irql) };
    if status < 0 {
        // SAFETY: the framework did not take the request.
        unsafe { complete(request, status, 0) };
    }
}

unsafe extern "C" fn tick(timer: WDFTIMER) {
    // SAFETY: the framework passes the timer, whose parent is the queue.
    let queue = unsafe { wdf!(WdfTimerGetParentObject, timer) };
    // SAFETY: as above.
    let echo = unsafe { context(queue) };
    // SAFETY: the lock is in the context.
    let irql = unsafe { KeAcquireSpinLockRaiseToDpc(&raw mut (*echo).request_lock) };
    // SAFETY: the fields are locked.
    let (mut request, information) = unsafe { ((*echo).request, (*echo).information) };
    if !request.is_null() {
        // SAFETY: a request in the context is not completed.
        let status = unsafe { wdf!(WdfRequestUnmarkCancelable, request) };
        if status == STATUS_CANCELLED {
            request = ptr::null_mut();
        } else {
            // SAFETY: the fields are locked.
            unsafe { (*echo).request = ptr::null_mut() };
        }
    }
    // SAFETY: this processor holds the lock.
    unsafe { KeReleaseSpinLock(&raw mut (*echo).request_lock, irql) };
    if !request.is_null() {
        // SAFETY: the driver owns the request.
        unsafe { complete(request, STATUS_SUCCESS, information) };
    }
}

unsafe extern "C" fn cancel(request: WDFREQUEST) {
    // SAFETY: the framework passes a request that came from the queue.
    let queue = unsafe { wdf!(WdfRequestGetIoQueue, request) };
    // SAFETY: as above.
    let echo = unsafe { context(queue.cast()) };
    // SAFETY: the lock is in the context.
    let irql = unsafe { KeAcquireSpinLockRaiseToDpc(&raw mut (*echo).request_lock) };
    // SAFETY: the fields are locked.
    let kept = unsafe { ptr::replace(&raw mut (*echo).request, ptr::null_mut()) };
    // SAFETY: this processor holds the lock.
    unsafe { KeReleaseSpinLock(&raw mut (*echo).request_lock, irql) };
    if kept == request {
        // SAFETY: the driver owns the request.
        unsafe { complete(request, STATUS_CANCELLED, 0) };
    }
}

unsafe extern "C" fn destroy(queue: WDFOBJECT) {
    // SAFETY: the context is valid during this callback, and nothing else uses it any more.
    let data = unsafe { (*context(queue)).data };
    if !data.is_null() {
        // SAFETY: nothing else refers to the memory.
        unsafe { wdf!(WdfObjectDelete, data.cast()) };
    }
}

/// # Safety
///
/// The driver must own the request, and loses it.
unsafe fn complete(request: WDFREQUEST, status: NTSTATUS, information: usize) {
    // SAFETY: guaranteed by the caller.
    unsafe { wdf!(WdfRequestCompleteWithInformation, request, status, information as u64) };
}

/// Returns the context of the queue.
///
/// # Safety
///
/// The queue must exist.
unsafe fn context(queue: WDFOBJECT) -> *mut Echo {
    // SAFETY: guaranteed by the caller.
    unsafe { wdf!(WdfObjectGetTypedContextWorker, queue, &raw const INFO.0) }.cast()
}

fn object_attributes() -> WDF_OBJECT_ATTRIBUTES {
    WDF_OBJECT_ATTRIBUTES {
        Size: size::<WDF_OBJECT_ATTRIBUTES>(),
        ExecutionLevel: _WDF_EXECUTION_LEVEL::WdfExecutionLevelInheritFromParent,
        SynchronizationScope: _WDF_SYNCHRONIZATION_SCOPE::WdfSynchronizationScopeInheritFromParent,
        ..WDF_OBJECT_ATTRIBUTES::default()
    }
}

/// Returns the `Size` field of a structure.
const fn size<T>() -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "structures have a few dozen bytes")]
    let size = size_of::<T>() as u32;
    size
}
