//! {{Name}}: a driver without a framework that adds numbers.
#![no_std]

mod trace; // trace

extern crate wdk_panic;

use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};

use wdk_etw::NtStatus;
use wdk_sys::ntddk::{IoCreateDevice, IoDeleteDevice, IofCompleteRequest, RtlInitUnicodeString};
use wdk_sys::{
    DEVICE_OBJECT, DO_DEVICE_INITIALIZING, DRIVER_OBJECT, FILE_DEVICE_SECURE_OPEN, FILE_DEVICE_UNKNOWN, IRP, IRP_MJ_CLOSE,
    IRP_MJ_CREATE, IRP_MJ_DEVICE_CONTROL, NT_SUCCESS, NTSTATUS, PCUNICODE_STRING, PDEVICE_OBJECT, UNICODE_STRING,
};

/// Takes a `u32`, adds it to the sum, and returns the sum.
const ADD: u32 = 0x0022_2000;

static SUM: AtomicU32 = AtomicU32::new(0);

const DEVICE: &str = "\\Device\\{{Name}}\0";

/// The device's name in UTF-16, terminated.
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
/// Called by the system.
#[unsafe(export_name = "DriverEntry")]
pub unsafe extern "system" fn driver_entry(driver: *mut DRIVER_OBJECT, path: PCUNICODE_STRING) -> NTSTATUS {
    // SAFETY: `unload` stops it, or the end of this function where that will not be called.
    let provider = unsafe { trace::start() }; // trace
    // SAFETY: the system's driver object.
    let status = unsafe { create(driver) };
    // SAFETY: the system's path.
    unsafe { trace::driver_entry(path, &provider, status) }; // trace
    if !NT_SUCCESS(status) {
        trace::stop(); // trace
    }
    status
}

unsafe fn create(driver: *mut DRIVER_OBJECT) -> NTSTATUS {
    let mut name = UNICODE_STRING::default();
    let mut device: PDEVICE_OBJECT = ptr::null_mut();
    // SAFETY: the text is terminated and static.
    unsafe { RtlInitUnicodeString(&raw mut name, NAME.as_ptr()) };
    // SAFETY: every pointer is valid for the call.
    let status = unsafe {
        let kind = FILE_DEVICE_UNKNOWN;
        IoCreateDevice(driver, 0, &raw mut name, kind, FILE_DEVICE_SECURE_OPEN, 0, &raw mut device)
    };
    if NT_SUCCESS(status) {
        // SAFETY: the driver object is the system's, the device is new.
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
    // SAFETY: the device that `create` made; nobody has it open any more.
    unsafe { IoDeleteDevice((*driver).DeviceObject) };
    trace::stop(); // trace
}

unsafe extern "C" fn open_or_close(_: *mut DEVICE_OBJECT, irp: *mut IRP) -> NTSTATUS {
    // SAFETY: the request is ours.
    unsafe { complete(irp, NtStatus::Success, 0) }
}

unsafe extern "C" fn control(_: *mut DEVICE_OBJECT, irp: *mut IRP) -> NTSTATUS {
    // SAFETY: a request that reaches a driver has a current stack location, of a device control here; a buffered code has a
    // buffer for the longer of input and output.
    let (parameters, buffer) = unsafe {
        let stack = (*irp).Tail.Overlay.__bindgen_anon_2.__bindgen_anon_1.CurrentStackLocation;
        ((*stack).Parameters.DeviceIoControl, (*irp).AssociatedIrp.SystemBuffer.cast::<u32>())
    };
    let activity = trace::request_start(parameters.IoControlCode, parameters.InputBufferLength); // trace
    let result = if parameters.IoControlCode != ADD {
        Err(NtStatus::InvalidDeviceRequest)
    } else if parameters.InputBufferLength < 4 || parameters.OutputBufferLength < 4 {
        Err(NtStatus::BufferTooSmall)
    } else {
        // SAFETY: the buffer has room for four bytes.
        let number = unsafe { buffer.read_unaligned() };
        let sum = SUM.fetch_add(number, Ordering::Relaxed).wrapping_add(number);
        // SAFETY: as before.
        unsafe { buffer.write_unaligned(sum) };
        Ok(sum)
    };
    trace::request_stop(activity, result); // trace
    // SAFETY: the request is ours, and completed once.
    unsafe { complete(irp, result.err().unwrap_or(NtStatus::Success), if result.is_ok() { 4 } else { 0 }) }
}

unsafe fn complete(irp: *mut IRP, status: NtStatus, information: u64) -> NTSTATUS {
    // SAFETY: by this function's contract the request is the caller's.
    unsafe {
        (*irp).IoStatus.__bindgen_anon_1.Status = status.as_signed();
        (*irp).IoStatus.Information = information;
        IofCompleteRequest(irp, 0);
    }
    status.as_signed()
}
