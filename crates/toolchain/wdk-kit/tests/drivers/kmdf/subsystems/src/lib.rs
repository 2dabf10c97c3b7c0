//! A test driver that uses declarations of every feature of wdk-sys, and of the filter manager.

#![no_std]

extern crate wdk_panic;

use core::ffi::c_void;
use core::mem::size_of;
use core::ptr;

use wdk_sys::hid::VhfDelete;
use wdk_sys::{
    CLIENT_CONTROLLER_BASIC_INFORMATION, DRIVER_OBJECT, GPIO_CLIENT_REGISTRATION_PACKET, HID_XFER_PACKET,
    IOCTL_GPIO_READ_PINS, IOCTL_SERIAL_SET_BAUD_RATE, IOCTL_STORAGE_QUERY_PROPERTY, NTSTATUS, PCUNICODE_STRING,
    PDRIVER_OBJECT, PGPIO_CONNECT_IO_PINS_PARAMETERS, PNP_SERIAL_BUS_DESCRIPTOR, PVOID, SERIAL_BAUD_RATE,
    SPB_CONTROLLER_CONFIG, SPB_REQUEST_PARAMETERS, SPB_TRANSFER_DIRECTION, SPB_TRANSFER_LIST, SPB_TRANSFER_LIST_ENTRY,
    SPBTARGET, STATUS_NOT_SUPPORTED, STATUS_SUCCESS, STORAGE_PROPERTY_QUERY, ULONG, USB_DEVICE_DESCRIPTOR,
    WDF_DRIVER_CONFIG, WDF_NO_HANDLE, WDF_NO_OBJECT_ATTRIBUTES, WDF_USB_DEVICE_INFORMATION, WDFDEVICE,
    call_unsafe_wdf_function_binding,
};

// Sizes and codes from the public documentation.
const _: () = assert!(size_of::<HID_XFER_PACKET>() == 16);
const _: () = assert!(size_of::<SERIAL_BAUD_RATE>() == 4);
const _: () = assert!(IOCTL_SERIAL_SET_BAUD_RATE == 0x001B_0004);
const _: () = assert!(size_of::<STORAGE_PROPERTY_QUERY>() == 12);
const _: () = assert!(IOCTL_STORAGE_QUERY_PROPERTY == 0x002D_1400);
const _: () = assert!(size_of::<USB_DEVICE_DESCRIPTOR>() == 18);
const _: () = assert!(size_of::<CLIENT_CONTROLLER_BASIC_INFORMATION>() == 16);
const _: () = assert!(IOCTL_GPIO_READ_PINS == 0x0048_0000);
const _: () = assert!(size_of::<GPIO_CLIENT_REGISTRATION_PACKET>() == 216);
const _: () = assert!(size_of::<SPB_TRANSFER_LIST_ENTRY>() == 32);
const _: () = assert!(size_of::<SPB_TRANSFER_LIST>() == 48);
const _: () = assert!(size_of::<SPB_CONTROLLER_CONFIG>() == 72);
const _: () = assert!(size_of::<SPB_REQUEST_PARAMETERS>() == 32);
const _: () = assert!(size_of::<PNP_SERIAL_BUS_DESCRIPTOR>() == 12);

#[link(name = "fltMgr")]
unsafe extern "system" {
    fn FltUnregisterFilter(filter: *mut c_void);
}

#[expect(clippy::cast_possible_truncation, reason = "structures of the framework are small")]
const fn size<T>() -> ULONG {
    size_of::<T>() as ULONG
}

extern "C" fn connect_pins(_context: PVOID, _parameters: PGPIO_CONNECT_IO_PINS_PARAMETERS) -> NTSTATUS {
    STATUS_NOT_SUPPORTED
}

extern "C" fn connect_target(_controller: WDFDEVICE, _target: SPBTARGET) -> NTSTATUS {
    STATUS_NOT_SUPPORTED
}

/// The driver's entry point.
///
/// # Safety
///
/// Called by the system.
#[unsafe(export_name = "DriverEntry")]
pub unsafe extern "system" fn driver_entry(driver: &mut DRIVER_OBJECT, path: PCUNICODE_STRING) -> NTSTATUS {
    let information = WDF_USB_DEVICE_INFORMATION { Size: size::<WDF_USB_DEVICE_INFORMATION>(), ..Default::default() };
    core::hint::black_box(GPIO_CLIENT_REGISTRATION_PACKET {
        CLIENT_ConnectIoPins: Some(connect_pins),
        ..Default::default()
    });
    core::hint::black_box(SPB_CONTROLLER_CONFIG { EvtSpbTargetConnect: Some(connect_target), ..Default::default() });
    core::hint::black_box(SPB_TRANSFER_LIST_ENTRY {
        Direction: SPB_TRANSFER_DIRECTION::SpbTransferDirectionToDevice,
        ..Default::default()
    });
    if core::hint::black_box(information.Size) == 0 {
        // SAFETY: never called. The linker cannot see this, so the imports stay in the image.
        unsafe { FltUnregisterFilter(ptr::null_mut()) };
        // SAFETY: as before.
        unsafe { VhfDelete(ptr::null_mut(), 1) };
        return STATUS_SUCCESS;
    }
    let mut config = WDF_DRIVER_CONFIG { Size: size::<WDF_DRIVER_CONFIG>(), ..Default::default() };
    let driver: PDRIVER_OBJECT = driver;
    // SAFETY: all pointers are valid for the call.
    unsafe {
        call_unsafe_wdf_function_binding!(
            WdfDriverCreate,
            driver,
            path,
            WDF_NO_OBJECT_ATTRIBUTES,
            &raw mut config,
            WDF_NO_HANDLE.cast()
        )
    }
}
