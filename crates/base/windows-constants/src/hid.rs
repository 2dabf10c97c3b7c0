//! Human interface devices.

use crate::device::FILE_DEVICE_KEYBOARD;
use crate::request::{METHOD_BUFFERED, METHOD_IN_DIRECT, METHOD_NEITHER, METHOD_OUT_DIRECT};

/// The macro `CTL_CODE` for this class, whose codes any handle can send: `FILE_ANY_ACCESS`.
const fn code(function: u32, method: u32) -> u32 {
    FILE_DEVICE_KEYBOARD << 16 | function << 2 | method
}

constants! {
    "The revision of `HID_MINIDRIVER_REGISTRATION`, hidport.h."
    u32 {
        HID_REVISION = 1,
    }

    "Types of descriptors, hidport.h."
    u8 {
        HID_HID_DESCRIPTOR_TYPE = 0x21,
        HID_REPORT_DESCRIPTOR_TYPE = 0x22,
    }

    "Identifiers of strings, hidport.h."
    u64 {
        HID_STRING_ID_IMANUFACTURER = 14,
        HID_STRING_ID_IPRODUCT = 15,
        HID_STRING_ID_ISERIALNUMBER = 16,
    }

    "Control codes that the class driver sends to minidrivers only, hidport.h."
    u32 {
        IOCTL_HID_GET_DEVICE_DESCRIPTOR = code(0, METHOD_NEITHER),
        IOCTL_HID_GET_REPORT_DESCRIPTOR = code(1, METHOD_NEITHER),
        IOCTL_HID_READ_REPORT = code(2, METHOD_NEITHER),
        IOCTL_HID_WRITE_REPORT = code(3, METHOD_NEITHER),
        IOCTL_HID_GET_STRING = code(4, METHOD_NEITHER),
        IOCTL_HID_GET_DEVICE_ATTRIBUTES = code(9, METHOD_NEITHER),
    }

    "Control codes that clients send, hidclass.h."
    u32 {
        IOCTL_HID_SET_FEATURE = code(100, METHOD_IN_DIRECT),
        IOCTL_HID_SET_OUTPUT_REPORT = code(101, METHOD_IN_DIRECT),
        IOCTL_HID_GET_FEATURE = code(100, METHOD_OUT_DIRECT),
        IOCTL_HID_GET_INPUT_REPORT = code(104, METHOD_OUT_DIRECT),
        IOCTL_HID_GET_MANUFACTURER_STRING = code(110, METHOD_OUT_DIRECT),
        IOCTL_HID_GET_PRODUCT_STRING = code(111, METHOD_OUT_DIRECT),
        IOCTL_HID_GET_SERIALNUMBER_STRING = code(112, METHOD_OUT_DIRECT),
        IOCTL_HID_GET_INDEXED_STRING = code(120, METHOD_OUT_DIRECT),
        IOCTL_HID_GET_COLLECTION_INFORMATION = code(106, METHOD_BUFFERED),
        IOCTL_HID_GET_COLLECTION_DESCRIPTOR = code(100, METHOD_NEITHER),
        IOCTL_HID_FLUSH_QUEUE = code(101, METHOD_NEITHER),
    }
}
