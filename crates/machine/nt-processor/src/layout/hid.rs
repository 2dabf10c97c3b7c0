//! Human interface devices: what the class driver, its minidrivers and its clients share.

use super::device::{DEVICE_OBJECT, DRIVER_OBJECT};
use super::layout;
use super::string::UNICODE_STRING;
use crate::memory::{GuestPtr, Opaque};

layout! {
    HID_MINIDRIVER_REGISTRATION: 0x20 {
        Revision: u32,
        Padding: u32,
        DriverObject: GuestPtr<DRIVER_OBJECT>,
        RegistryPath: GuestPtr<UNICODE_STRING>,
        DeviceExtensionSize: u32,
        DevicesArePolled: u8,
        Reserved: [u8; 3],
    }

    HID_DEVICE_EXTENSION: 0x18 {
        PhysicalDeviceObject: GuestPtr<DEVICE_OBJECT>,
        NextDeviceObject: GuestPtr<DEVICE_OBJECT>,
        MiniDeviceExtension: GuestPtr<Opaque>,
    }

    HID_DEVICE_ATTRIBUTES: 0x20 {
        Size: u32,
        VendorID: u16,
        ProductID: u16,
        VersionNumber: u16,
        Reserved: [u16; 11],
    }

    HID_XFER_PACKET: 0x10 {
        reportBuffer: GuestPtr<u8>,
        reportBufferLen: u32,
        reportId: u8,
        Padding: [u8; 3],
    }

    HID_COLLECTION_INFORMATION: 0xC {
        DescriptorSize: u32,
        Polled: u8,
        Reserved1: u8,
        VendorID: u16,
        ProductID: u16,
        VersionNumber: u16,
    }
}
