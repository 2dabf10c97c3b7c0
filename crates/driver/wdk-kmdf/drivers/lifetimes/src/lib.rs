//! Tries to make a callback use what is gone, with safe code: a device that is removed while a request of its own is on its way, a
//! control device that deletes itself, a filter above a device with direct I/O. Each control code begins one attempt; the lines that
//! the driver prints say what came of it.
#![no_std]

extern crate wdk_panic;

mod control;
mod filter;

use core::sync::atomic::{AtomicU32, Ordering};

use wdk_etw::NtStatus;
use wdk_kmdf::{
    Completion, Device, DeviceInit, Driver, DriverHandle, IoTarget, Operation, OwnRequest, OwnRequestEvents, Passive,
    QueueConfig, QueueEvents, Request, SpinLock, create_driver,
};
use wdk_sys::{DRIVER_OBJECT, NTSTATUS, PCUNICODE_STRING};

const fn code(function: u32) -> u32 {
    0x0022_0000 | (0x800 + function) << 2
}

/// Makes the device below this one the target of other devices.
const SHARE: u32 = code(0);
/// Sends a request of the device's own to that target.
const SEND: u32 = code(1);
/// Creates a control device, whose work item deletes it.
const DELETE_IN_WORK: u32 = code(2);
/// Creates a control device that deletes itself when a client asks for it.
const CREATE_CONTROL: u32 = code(3);
/// Chooses what the next device is: the first byte of the input, a [`filter::Lower`] or 0.
const NEXT: u32 = code(4);
/// What is sent to the shared target.
const TO_TARGET: u32 = code(5);
/// Creates a control device that is never deleted.
const FORGET: u32 = code(6);

static NEXT_KIND: AtomicU32 = AtomicU32::new(0);
static SHARED: SpinLock<Option<IoTarget>> = SpinLock::new(None);

/// # Safety
///
/// Only the system may call this function.
#[unsafe(export_name = "DriverEntry")]
pub unsafe extern "system" fn driver_entry(driver: *mut DRIVER_OBJECT, path: PCUNICODE_STRING) -> NTSTATUS {
    // SAFETY: the arguments are the system's, and this is `DriverEntry`.
    let created = unsafe { create_driver::<LifetimesDriver>(driver, path) };
    created.err().unwrap_or(NtStatus::Success).as_signed()
}

struct LifetimesDriver;

impl Driver for LifetimesDriver {
    fn device_add(driver: DriverHandle, init: DeviceInit<'_>) -> Result<(), NtStatus> {
        if let Some(lower) = filter::Lower::from_int(NEXT_KIND.swap(0, Ordering::Relaxed)) {
            return filter::add(init, lower);
        }
        init.device::<Sender>().passive_level().create(|device| {
            device.create_queue(QueueConfig::parallel().default_queue())?;
            let target = device.io_target().ok_or(NtStatus::NoSuchDevice)?;
            let own = device.create_request(&target)?;
            Ok(Sender { driver, own, target: SpinLock::new(Some(target)), lives: AtomicU32::new(ALIVE) })
        })?;
        Ok(())
    }

    fn unload(_: Passive<'_>) {
        drop(SHARED.with(Option::take));
    }
}

/// What a value has until it is dropped.
const ALIVE: u32 = 0x11FE;

/// A device that sends a request of its own to the target of another one.
struct Sender {
    driver: DriverHandle,
    own: OwnRequest,
    target: SpinLock<Option<IoTarget>>,
    lives: AtomicU32,
}

impl Device for Sender {
    fn cleanup(&self) {
        drop(self.target.with(Option::take));
        wdk::println!("lifetimes: sender cleaned up");
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.lives.store(0, Ordering::Relaxed);
        wdk::println!("lifetimes: sender dropped, passive {}", Passive::current().is_some());
    }
}

impl OwnRequestEvents for Sender {
    fn completed(&self, completion: Completion) {
        let lives = self.lives.load(Ordering::Relaxed) == ALIVE;
        // The request is deleted with its device, and is not sent again.
        let again = self.send().err();
        wdk::println!("lifetimes: completed {:#x}, alive {lives}, again {again:?}", completion.status.as_int());
    }
}

impl QueueEvents for Sender {
    fn device_control(&self, request: Request, code: u32) {
        let result = match code {
            SHARE => {
                drop(SHARED.with(|shared| core::mem::replace(shared, self.target.with(Option::take))));
                Ok(())
            }
            SEND => self.send(),
            DELETE_IN_WORK => control::create(self.driver).map(|()| control::delete_in_work()),
            CREATE_CONTROL => control::create(self.driver),
            FORGET => control::forget(self.driver),
            NEXT => request.input_value::<u8>().map(|kind| NEXT_KIND.store(kind.into(), Ordering::Relaxed)),
            _ => Err(NtStatus::InvalidDeviceRequest),
        };
        request.finish(result);
    }
}

impl Sender {
    /// Sends the request to the shared target, which is taken out for that time: a request must not be sent under a spin lock.
    fn send(&self) -> Result<(), NtStatus> {
        let target = SHARED.with(Option::take).ok_or(NtStatus::NotFound)?;
        let sent = self.own.send(&target, Operation::Control(TO_TARGET), None, None, None);
        SHARED.with(|shared| *shared = Some(target));
        sent
    }
}
