//! {{Name}}: a KMDF driver that adds numbers.
#![no_std]

mod trace; // trace

extern crate wdk_panic;

use core::ffi::c_void;
use core::mem::size_of;
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};

use wdk_etw::NtStatus;
use wdk_sys::{
    _WDF_IO_QUEUE_DISPATCH_TYPE, _WDF_TRI_STATE, DRIVER_OBJECT, GUID, NT_SUCCESS, NTSTATUS, PCUNICODE_STRING, PWDFDEVICE_INIT,
    ULONG, WDF_DRIVER_CONFIG, WDF_IO_QUEUE_CONFIG, WDF_NO_HANDLE, WDF_NO_OBJECT_ATTRIBUTES, WDFDEVICE, WDFDRIVER, WDFQUEUE,
    WDFREQUEST, call_unsafe_wdf_function_binding,
};

/// Takes a `u32`, adds it to the sum, and returns the sum.
const ADD: u32 = 0x0022_2000;

static SUM: AtomicU32 = AtomicU32::new(0);

/// The device interface: programs look for it to open a device.
static INTERFACE: GUID = GUID { {{interface}} };

/// # Safety
///
/// Called by the system.
#[unsafe(export_name = "DriverEntry")]
pub unsafe extern "system" fn driver_entry(driver: *mut DRIVER_OBJECT, path: PCUNICODE_STRING) -> NTSTATUS {
    // SAFETY: `unload` stops it, or the end of this function if that will not be called.
    let provider = unsafe { trace::start() }; // trace
    let mut config = WDF_DRIVER_CONFIG {
        Size: length_of::<WDF_DRIVER_CONFIG>(),
        EvtDriverDeviceAdd: Some(device_add),
        EvtDriverUnload: Some(unload),
        ..WDF_DRIVER_CONFIG::default()
    };
    // SAFETY: the first two are the system's; the configuration outlives the call.
    let status = unsafe {
        call_unsafe_wdf_function_binding!(
            WdfDriverCreate,
            driver,
            path,
            WDF_NO_OBJECT_ATTRIBUTES,
            &raw mut config,
            WDF_NO_HANDLE.cast::<WDFDRIVER>()
        )
    };
    // SAFETY: the system's path.
    unsafe { trace::driver_entry(path, &provider, status) }; // trace
    if !NT_SUCCESS(status) {
        trace::stop(); // trace
    }
    status
}

unsafe extern "C" fn unload(_: WDFDRIVER) {
    trace::stop(); // trace
}

unsafe extern "C" fn device_add(_: WDFDRIVER, mut init: PWDFDEVICE_INIT) -> NTSTATUS {
    let mut device: WDFDEVICE = ptr::null_mut();
    // SAFETY: the framework's initialisation structure; both places outlive the call.
    let status = unsafe {
        call_unsafe_wdf_function_binding!(WdfDeviceCreate, &raw mut init, WDF_NO_OBJECT_ATTRIBUTES, &raw mut device)
    };
    if !NT_SUCCESS(status) {
        return status;
    }
    let mut config = WDF_IO_QUEUE_CONFIG {
        Size: length_of::<WDF_IO_QUEUE_CONFIG>(),
        DispatchType: _WDF_IO_QUEUE_DISPATCH_TYPE::WdfIoQueueDispatchSequential,
        PowerManaged: _WDF_TRI_STATE::WdfUseDefault,
        DefaultQueue: 1,
        EvtIoDeviceControl: Some(control),
        ..WDF_IO_QUEUE_CONFIG::default()
    };
    // SAFETY: the device is new, the configuration outlives the call, and the handle is not wanted.
    let status = unsafe {
        call_unsafe_wdf_function_binding!(
            WdfIoQueueCreate,
            device,
            &raw mut config,
            WDF_NO_OBJECT_ATTRIBUTES,
            ptr::null_mut()
        )
    };
    if !NT_SUCCESS(status) {
        return status;
    }
    // SAFETY: the device is alive, and the identifier outlives the call.
    unsafe { call_unsafe_wdf_function_binding!(WdfDeviceCreateDeviceInterface, device, &raw const INTERFACE, ptr::null()) }
}

unsafe extern "C" fn control(_: WDFQUEUE, request: WDFREQUEST, _: usize, input: usize, code: ULONG) {
    let activity = trace::request_start(code, u32::try_from(input).unwrap_or(u32::MAX)); // trace
    let result = if code == ADD {
        // SAFETY: the framework has handed the request to this driver.
        unsafe { add(request) }
    } else {
        Err(NtStatus::InvalidDeviceRequest)
    };
    trace::request_stop(activity, result); // trace
    let status = result.err().unwrap_or(NtStatus::Success).as_signed();
    let information = if result.is_ok() { 4 } else { 0 };
    // SAFETY: the request is ours, and completed once.
    unsafe { call_unsafe_wdf_function_binding!(WdfRequestCompleteWithInformation, request, status, information) };
}

/// Adds the number in the request's buffer and puts the sum there.
///
/// # Safety
///
/// The request belongs to the driver, and its control code is of `METHOD_BUFFERED`.
unsafe fn add(request: WDFREQUEST) -> Result<u32, NtStatus> {
    let (mut input, mut output): (*mut c_void, *mut c_void) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the request is ours, and the place outlives the call.
    check(unsafe {
        call_unsafe_wdf_function_binding!(WdfRequestRetrieveInputBuffer, request, 4, &raw mut input, ptr::null_mut())
    })?;
    // SAFETY: as above.
    check(unsafe {
        call_unsafe_wdf_function_binding!(WdfRequestRetrieveOutputBuffer, request, 4, &raw mut output, ptr::null_mut())
    })?;
    // SAFETY: the framework has checked that the buffer has four bytes.
    let number = unsafe { input.cast::<u32>().read_unaligned() };
    let sum = SUM.fetch_add(number, Ordering::Relaxed).wrapping_add(number);
    // SAFETY: as above.
    unsafe { output.cast::<u32>().write_unaligned(sum) };
    Ok(sum)
}

fn check(status: NTSTATUS) -> Result<(), NtStatus> {
    if NT_SUCCESS(status) { Ok(()) } else { Err(NtStatus::from_int(status.cast_unsigned())) }
}

/// The size of a structure, as its field `Size` has it.
#[expect(clippy::cast_possible_truncation, reason = "structures of the framework are small")]
const fn length_of<T>() -> ULONG {
    size_of::<T>() as ULONG
}
