//! {{Name}}: a KMDF driver that adds numbers.
#![no_std]

mod trace;

extern crate wdk_panic;

use core::sync::atomic::{AtomicU32, Ordering};

use wdk_etw::{Guid, NtStatus};
use wdk_kmdf::{
    Device, DeviceInit, Driver, DriverHandle, Passive, QueueConfig, QueueEvents, Request, create_driver,
};
use wdk_sys::{DRIVER_OBJECT, NTSTATUS, PCUNICODE_STRING};

/// The control code of the request that adds a `u32` to the sum and returns the new sum.
const ADD: u32 = 0x0022_2000;

/// The device interface. Programs use it to find the device.
const INTERFACE: Guid = Guid::from_u128({{interface}});

/// # Safety
///
/// Only the system may call this function.
#[unsafe(export_name = "DriverEntry")]
pub unsafe extern "system" fn driver_entry(driver: *mut DRIVER_OBJECT, path: PCUNICODE_STRING) -> NTSTATUS {
    // SAFETY: `unload` calls `trace::stop`. If this function fails, `unload` is not called, and this function calls it.
    let provider = unsafe { trace::start() };
    // SAFETY: the arguments are the system's, and this is `DriverEntry`.
    let result = unsafe { create_driver::<ThisDriver>(driver, path) };
    let status = result.err().unwrap_or(NtStatus::Success).as_signed();
    // SAFETY: the system's registry path is valid during this call.
    unsafe { trace::driver_entry(path, &provider, status) };
    if result.is_err() {
        trace::stop();
    }
    status
}

struct ThisDriver;

impl Driver for ThisDriver {
    fn device_add(_: DriverHandle, init: DeviceInit<'_>) -> Result<(), NtStatus> {
        let device = init.create(|device| {
            device.create_queue(QueueConfig::sequential().default_queue())?;
            Ok(Adder { sum: AtomicU32::new(0) })
        })?;
        device.create_interface(&INTERFACE)
    }

    fn unload(_: Passive<'_>) {
        trace::stop();
    }
}

/// The state of a device.
struct Adder {
    sum: AtomicU32,
}

impl Device for Adder {}

impl QueueEvents for Adder {
    fn device_control(&self, mut request: Request, code: u32) {
        let activity = trace::request_start(code, u32::try_from(request.input_length()).unwrap_or(u32::MAX));
        let result = if code == ADD { self.add(&mut request) } else { Err(NtStatus::InvalidDeviceRequest) };
        trace::request_stop(activity, result);
        request.finish(result.map(drop));
    }
}

impl Adder {
    /// Adds the number in the request's input and replies with the sum.
    fn add(&self, request: &mut Request) -> Result<u32, NtStatus> {
        let number: u32 = request.input_value()?;
        if request.output_length() < size_of::<u32>() {
            return Err(NtStatus::BufferTooSmall);
        }
        let sum = self.sum.fetch_add(number, Ordering::Relaxed).wrapping_add(number);
        request.reply_value(&sum)?;
        Ok(sum)
    }
}
