//! A driver without Microsoft's crates, which compiles in a second. It prints the build of Windows, creates a device, and completes
//! every request with success.
#![no_std]

use core::ffi::{c_char, c_void};
use core::ptr;

/// `DRIVER_OBJECT` on x64.
#[repr(C)]
pub struct DriverObject {
    start: [u8; 8],
    device: *mut c_void,
    middle: [u8; 0x58],
    unload: extern "system" fn(&DriverObject),
    dispatch: [extern "system" fn(*mut c_void, &mut Irp) -> i32; 28],
}

/// The beginning of `IRP` on x64.
#[repr(C)]
pub struct Irp {
    start: [u8; 0x30],
    status: i32,
    information: usize,
}

#[repr(C)]
struct UnicodeString {
    length: u16,
    maximum_length: u16,
    buffer: *const u16,
}

/// `RTL_OSVERSIONINFOW`.
#[repr(C)]
struct Version {
    size: u32,
    numbers: [u32; 2],
    build: u32,
    rest: [u32; 65],
}

#[link(name = "ntoskrnl")]
unsafe extern "C" {
    fn DbgPrint(format: *const c_char, ...) -> u32;
    fn RtlGetVersion(version: &mut Version) -> i32;
    fn IoCreateDevice(
        driver: &DriverObject,
        extension: u32,
        name: &UnicodeString,
        kind: u32,
        characteristics: u32,
        is_exclusive: u8,
        device: &mut *mut c_void,
    ) -> i32;
    fn IoDeleteDevice(device: *mut c_void);
    fn IofCompleteRequest(irp: &mut Irp, boost: i8);
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

#[unsafe(no_mangle)]
pub extern "system" fn DriverEntry(driver: &mut DriverObject, _: *mut c_void) -> i32 {
    let mut version = Version { size: size_of::<Version>() as u32, numbers: [0; 2], build: 0, rest: [0; 65] };
    // SAFETY: the structure has its size, and `%u` the value that it needs.
    unsafe {
        RtlGetVersion(&mut version);
        DbgPrint(c"build %u\n".as_ptr(), version.build);
    }
    driver.unload = unload;
    driver.dispatch = [complete; 28];
    let name: [u16; 13] = [92, 68, 101, 118, 105, 99, 101, 92, 80, 114, 111, 98, 101];
    let name = UnicodeString { length: 26, maximum_length: 26, buffer: name.as_ptr() };
    let mut device = ptr::null_mut();
    // SAFETY: `\Device\Probe`, as counted, and a device of an unknown type.
    unsafe { IoCreateDevice(driver, 0, &name, 0x22, 0, 0, &mut device) }
}

extern "system" fn complete(_: *mut c_void, irp: &mut Irp) -> i32 {
    irp.status = 0;
    irp.information = 0;
    // SAFETY: a dispatch routine owns its request.
    unsafe { IofCompleteRequest(irp, 0) };
    0
}

extern "system" fn unload(driver: &DriverObject) {
    // SAFETY: the driver has this one device.
    unsafe { IoDeleteDevice(driver.device) };
}
