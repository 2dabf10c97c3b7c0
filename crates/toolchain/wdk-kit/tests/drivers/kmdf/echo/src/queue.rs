//! The device's queue: reads, writes, and one control code that discards the written data.

use core::ptr;

use wdk_sys::{
    _POOL_TYPE, _WDF_EXECUTION_LEVEL, _WDF_IO_QUEUE_DISPATCH_TYPE, _WDF_SYNCHRONIZATION_SCOPE, _WDF_TRI_STATE,
    FILE_ANY_ACCESS, FILE_DEVICE_UNKNOWN, METHOD_BUFFERED, NT_SUCCESS, NTSTATUS, STATUS_INVALID_DEVICE_REQUEST,
    STATUS_SUCCESS, ULONG, WDF_IO_QUEUE_CONFIG, WDF_NO_HANDLE, WDF_NO_OBJECT_ATTRIBUTES, WDF_OBJECT_ATTRIBUTES,
    WDFDEVICE, WDFMEMORY, WDFQUEUE, WDFREQUEST, call_unsafe_wdf_function_binding,
};

use crate::{Context, context, size};

const CAPACITY: usize = 4096;
const TAG: ULONG = u32::from_le_bytes(*b"echo");
const FORGET: ULONG = (FILE_DEVICE_UNKNOWN << 16) | (FILE_ANY_ACCESS << 14) | (0x800 << 2) | METHOD_BUFFERED;

/// Creates the queue, the lock and the buffer.
pub(crate) fn initialize(device: WDFDEVICE) -> NTSTATUS {
    let mut config = WDF_IO_QUEUE_CONFIG {
        Size: size::<WDF_IO_QUEUE_CONFIG>(),
        DispatchType: _WDF_IO_QUEUE_DISPATCH_TYPE::WdfIoQueueDispatchSequential,
        PowerManaged: _WDF_TRI_STATE::WdfUseDefault,
        DefaultQueue: 1,
        EvtIoRead: Some(read),
        EvtIoWrite: Some(write),
        EvtIoDeviceControl: Some(control),
        ..WDF_IO_QUEUE_CONFIG::default()
    };
    let mut attributes = WDF_OBJECT_ATTRIBUTES {
        Size: size::<WDF_OBJECT_ATTRIBUTES>(),
        ExecutionLevel: _WDF_EXECUTION_LEVEL::WdfExecutionLevelInheritFromParent,
        SynchronizationScope: _WDF_SYNCHRONIZATION_SCOPE::WdfSynchronizationScopeInheritFromParent,
        ParentObject: device.cast(),
        ..WDF_OBJECT_ATTRIBUTES::default()
    };
    let state = context(device);
    // SAFETY: the context was created with the device.
    let lock = unsafe { &raw mut (*state).lock };
    // SAFETY: as before.
    let memory = unsafe { &raw mut (*state).memory };
    // SAFETY: the pointers are valid for the call.
    let status = unsafe { call_unsafe_wdf_function_binding!(WdfWaitLockCreate, &raw mut attributes, lock) };
    if !NT_SUCCESS(status) {
        return status;
    }
    // SAFETY: as before.
    let status = unsafe {
        call_unsafe_wdf_function_binding!(
            WdfMemoryCreate,
            &raw mut attributes,
            _POOL_TYPE::NonPagedPoolNx,
            TAG,
            CAPACITY,
            memory,
            ptr::null_mut()
        )
    };
    if !NT_SUCCESS(status) {
        return status;
    }
    // SAFETY: as before.
    unsafe {
        call_unsafe_wdf_function_binding!(
            WdfIoQueueCreate,
            device,
            &raw mut config,
            WDF_NO_OBJECT_ATTRIBUTES,
            WDF_NO_HANDLE.cast::<WDFQUEUE>()
        )
    }
}

/// Runs `work` on the device's context with its lock held.
fn locked<R>(queue: WDFQUEUE, work: impl FnOnce(&mut Context) -> R) -> R {
    // SAFETY: a queue has a device.
    let device = unsafe { call_unsafe_wdf_function_binding!(WdfIoQueueGetDevice, queue) };
    let state = context(device);
    // SAFETY: the lock was created before the queue.
    let lock = unsafe { (*state).lock };
    // SAFETY: the IRQL is PASSIVE_LEVEL. Without a timeout the call always succeeds.
    let _ = unsafe { call_unsafe_wdf_function_binding!(WdfWaitLockAcquire, lock, ptr::null_mut()) };
    // SAFETY: the lock makes this the only reference to the context.
    let result = work(unsafe { &mut *state });
    // SAFETY: the lock has been held since the call above.
    unsafe { call_unsafe_wdf_function_binding!(WdfWaitLockRelease, lock) };
    result
}

extern "C" fn read(queue: WDFQUEUE, request: WDFREQUEST, length: usize) {
    let (status, count) = locked(queue, |state| {
        let count = length.min(state.length);
        let mut output: WDFMEMORY = ptr::null_mut();
        // SAFETY: this driver owns the request.
        let status =
            unsafe { call_unsafe_wdf_function_binding!(WdfRequestRetrieveOutputMemory, request, &raw mut output) };
        if !NT_SUCCESS(status) {
            return (status, 0);
        }
        let mut size = 0;
        // SAFETY: the memory object lives as long as the device.
        let from = unsafe { call_unsafe_wdf_function_binding!(WdfMemoryGetBuffer, state.memory, &raw mut size) };
        // SAFETY: the buffer has at least `count` bytes.
        let status = unsafe { call_unsafe_wdf_function_binding!(WdfMemoryCopyFromBuffer, output, 0, from, count) };
        (status, count)
    });
    complete(request, status, count);
}

extern "C" fn write(queue: WDFQUEUE, request: WDFREQUEST, length: usize) {
    let (status, count) = locked(queue, |state| {
        let count = length.min(CAPACITY);
        let mut input: WDFMEMORY = ptr::null_mut();
        // SAFETY: this driver owns the request.
        let status =
            unsafe { call_unsafe_wdf_function_binding!(WdfRequestRetrieveInputMemory, request, &raw mut input) };
        if !NT_SUCCESS(status) {
            return (status, 0);
        }
        let mut size = 0;
        // SAFETY: the memory object lives as long as the device.
        let to = unsafe { call_unsafe_wdf_function_binding!(WdfMemoryGetBuffer, state.memory, &raw mut size) };
        // SAFETY: the buffer has room for `count` bytes.
        let status = unsafe { call_unsafe_wdf_function_binding!(WdfMemoryCopyToBuffer, input, 0, to, count) };
        state.length = if NT_SUCCESS(status) { count } else { 0 };
        (status, state.length)
    });
    complete(request, status, count);
}

extern "C" fn control(queue: WDFQUEUE, request: WDFREQUEST, _: usize, _: usize, code: ULONG) {
    let status = if code == FORGET {
        locked(queue, |state| state.length = 0);
        STATUS_SUCCESS
    } else {
        STATUS_INVALID_DEVICE_REQUEST
    };
    complete(request, status, 0);
}

fn complete(request: WDFREQUEST, status: NTSTATUS, count: usize) {
    // SAFETY: each request is completed once.
    unsafe {
        call_unsafe_wdf_function_binding!(WdfRequestCompleteWithInformation, request, status, count as u64);
    }
}
