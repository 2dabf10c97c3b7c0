//! {{Name}}: a driver without a framework that adds numbers.
#![no_std]

mod trace;

extern crate wdk_panic;

use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};

use wdk_etw::NtStatus;
use wdk_sys::ntddk::{IoCreateDevice, IoDeleteDevice, IofCompleteRequest, RtlInitUnicodeString};
use wdk_sys::{
    DEVICE_OBJECT, DO_DEVICE_INITIALIZING, DRIVER_OBJECT, FILE_DEVICE_SECURE_OPEN, FILE_DEVICE_UNKNOWN, IRP, IRP_MJ_CLOSE,
    IRP_MJ_CREATE, IRP_MJ_DEVICE_CONTROL, NT_SUCCESS, NTSTATUS, PCUNICODE_STRING, PDEVICE_OBJECT, UNICODE_STRING,
};

/// The control code of the request that adds a `u32` to the sum and returns the new sum.
const ADD: u32 = 0x0022_2000;

static SUM: AtomicU32 = AtomicU32::new(0);

const DEVICE: &str = "\\Device\\{{Name}}\0";

/// The device's name in UTF-16, with a terminating null.
static NAME: [u16; DEVICE.len()] = {
    let (text, mut units, mut at) = (DEVICE.as_bytes(), [0; DEVICE.len()], 0);
    while at < text.len() {
        units[at] = text[at] as u16;
        at += 1;
    }
    units
};

/// # Safety
///
/// Only the system may call this function.
#[unsafe(export_name = "DriverEntry")]
pub unsafe extern "system" fn driver_entry(driver: *mut DRIVER_OBJECT, path: PCUNICODE_STRING) -> NTSTATUS {
    // SAFETY: `unload` calls `trace::stop`. If this function fails, `unload` is not called, and this function calls it.
    let provider = unsafe { trace::start() };
    // SAFETY: the system's driver object.
    let status = unsafe { create(driver) };
    // SAFETY: the system's registry path is valid during this call.
    unsafe { trace::driver_entry(path, &provider, status) };
    if !NT_SUCCESS(status) {
        trace::stop();
    }
    status
}

unsafe fn create(driver: *mut DRIVER_OBJECT) -> NTSTATUS {
    let mut name = UNICODE_STRING::default();
    let mut device: PDEVICE_OBJECT = ptr::null_mut();
    // SAFETY: the text is static and null-terminated.
    unsafe { RtlInitUnicodeString(&raw mut name, NAME.as_ptr()) };
    // SAFETY: every pointer is valid for the call.
    let status = unsafe {
        let kind = FILE_DEVICE_UNKNOWN;
        IoCreateDevice(driver, 0, &raw mut name, kind, FILE_DEVICE_SECURE_OPEN, 0, &raw mut device)
    };
    if NT_SUCCESS(status) {
        // SAFETY: the driver object is the system's and valid; `IoCreateDevice` has just made the device.
        unsafe {
            (*driver).DriverUnload = Some(unload);
            (*driver).MajorFunction[IRP_MJ_CREATE as usize] = Some(open_or_close);
            (*driver).MajorFunction[IRP_MJ_CLOSE as usize] = Some(open_or_close);
            (*driver).MajorFunction[IRP_MJ_DEVICE_CONTROL as usize] = Some(control);
            (*device).Flags &= !DO_DEVICE_INITIALIZING;
        }
    }
    status
}

unsafe extern "C" fn unload(driver: *mut DRIVER_OBJECT) {
    // SAFETY: `create` made the device, and no handle to it is open any more.
    unsafe { IoDeleteDevice((*driver).DeviceObject) };
    trace::stop();
}

unsafe extern "C" fn open_or_close(_: *mut DEVICE_OBJECT, irp: *mut IRP) -> NTSTATUS {
    // SAFETY: the system passes the IRP to this routine, which completes it once.
    unsafe { complete(irp, NtStatus::Success, 0) }
}

unsafe extern "C" fn control(_: *mut DEVICE_OBJECT, irp: *mut IRP) -> NTSTATUS {
    // SAFETY: an IRP that reaches a driver has a current stack location, here that of a device control request. With a buffered
    // control code, the system buffer is as long as the longer of input and output.
    let (parameters, buffer) = unsafe {
        let stack = (*irp).Tail.Overlay.__bindgen_anon_2.__bindgen_anon_1.CurrentStackLocation;
        ((*stack).Parameters.DeviceIoControl, (*irp).AssociatedIrp.SystemBuffer.cast::<u32>())
    };
    let activity = trace::request_start(parameters.IoControlCode, parameters.InputBufferLength);
    let result = if parameters.IoControlCode != ADD {
        Err(NtStatus::InvalidDeviceRequest)
    } else if parameters.InputBufferLength < 4 || parameters.OutputBufferLength < 4 {
        Err(NtStatus::BufferTooSmall)
    } else {
        // SAFETY: the buffer has at least four bytes.
        let number = unsafe { buffer.read_unaligned() };
        let sum = SUM.fetch_add(number, Ordering::Relaxed).wrapping_add(number);
        // SAFETY: as before.
        unsafe { buffer.write_unaligned(sum) };
        Ok(sum)
    };
    trace::request_stop(activity, result);
    // SAFETY: the system passes the IRP to this routine, which completes it once.
    unsafe { complete(irp, result.err().unwrap_or(NtStatus::Success), if result.is_ok() { 4 } else { 0 }) }
}

/// # Safety
///
/// The caller must own the IRP, and not use it afterwards.
unsafe fn complete(irp: *mut IRP, status: NtStatus, information: u64) -> NTSTATUS {
    // SAFETY: by this function's contract the caller owns the IRP.
    unsafe {
        (*irp).IoStatus.__bindgen_anon_1.Status = status.as_signed();
        (*irp).IoStatus.Information = information;
        IofCompleteRequest(irp, 0);
    }
    status.as_signed()
}
