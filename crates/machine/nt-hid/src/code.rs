//! The control codes of `hidport.h` and `hidclass.h`.

/// `METHOD_BUFFERED`, `METHOD_IN_DIRECT`, `METHOD_OUT_DIRECT`, `METHOD_NEITHER`.
const BUFFERED: u32 = 0;
const IN_DIRECT: u32 = 1;
const OUT_DIRECT: u32 = 2;
const NEITHER: u32 = 3;

/// Returns a code for `FILE_DEVICE_KEYBOARD` and any access.
const fn code(function: u32, method: u32) -> u32 {
    0x000B_0000 | function << 2 | method
}

/// What the class driver sends to minidrivers only.
pub(super) const GET_DEVICE_DESCRIPTOR: u32 = code(0, NEITHER);
pub(super) const GET_REPORT_DESCRIPTOR: u32 = code(1, NEITHER);
pub(super) const READ_REPORT: u32 = code(2, NEITHER);
pub(super) const WRITE_REPORT: u32 = code(3, NEITHER);
pub(super) const GET_STRING: u32 = code(4, NEITHER);
pub(super) const GET_DEVICE_ATTRIBUTES: u32 = code(9, NEITHER);

/// What clients send. Those about reports and indexed strings go to minidrivers as well.
pub(super) const SET_FEATURE: u32 = code(100, IN_DIRECT);
pub(super) const SET_OUTPUT_REPORT: u32 = code(101, IN_DIRECT);
pub(super) const GET_FEATURE: u32 = code(100, OUT_DIRECT);
pub(super) const GET_INPUT_REPORT: u32 = code(104, OUT_DIRECT);
pub(super) const GET_MANUFACTURER_STRING: u32 = code(110, OUT_DIRECT);
pub(super) const GET_PRODUCT_STRING: u32 = code(111, OUT_DIRECT);
pub(super) const GET_SERIALNUMBER_STRING: u32 = code(112, OUT_DIRECT);
pub(super) const GET_INDEXED_STRING: u32 = code(120, OUT_DIRECT);
pub(super) const GET_COLLECTION_INFORMATION: u32 = code(106, BUFFERED);
pub(super) const FLUSH_QUEUE: u32 = code(101, NEITHER);

/// Returns the name of a code that the class driver sends.
pub(super) fn name(code: u32) -> &'static str {
    match code {
        GET_DEVICE_DESCRIPTOR => "IOCTL_HID_GET_DEVICE_DESCRIPTOR",
        GET_REPORT_DESCRIPTOR => "IOCTL_HID_GET_REPORT_DESCRIPTOR",
        READ_REPORT => "IOCTL_HID_READ_REPORT",
        WRITE_REPORT => "IOCTL_HID_WRITE_REPORT",
        GET_STRING => "IOCTL_HID_GET_STRING",
        GET_DEVICE_ATTRIBUTES => "IOCTL_HID_GET_DEVICE_ATTRIBUTES",
        SET_FEATURE => "IOCTL_HID_SET_FEATURE",
        SET_OUTPUT_REPORT => "IOCTL_HID_SET_OUTPUT_REPORT",
        GET_FEATURE => "IOCTL_HID_GET_FEATURE",
        GET_INPUT_REPORT => "IOCTL_HID_GET_INPUT_REPORT",
        GET_INDEXED_STRING => "IOCTL_HID_GET_INDEXED_STRING",
        _ => "a HID request",
    }
}
