//! Returns what was written to it, a while later: a port of Microsoft's sample `general/echo/kmdf` (`DriverSync`).
//!
//! A write replaces the device's data, and a read returns it. Neither is completed at once: the request is kept until a timer
//! ticks. Meanwhile its client can cancel it. The queue is sequential, so there is one such request at a time.
#![no_std]

extern crate wdk_panic;

use core::time::Duration;

use wdk_etw::{Guid, NtStatus};
use wdk_kmdf::{
    Device, DeviceHandle, DeviceInit, Driver, DriverHandle, Memory, Passive, PendingRequest, Queue, QueueConfig,
    QueueEvents, Request, SpinLock, Timer, TimerEvents, create_driver,
};
use wdk_sys::{DRIVER_OBJECT, NTSTATUS, PCUNICODE_STRING};

/// The device interface, by which programs find the device.
const INTERFACE: Guid = Guid::from_u128(0xcdc3_5b6e_0be4_4936_bf5f_5537_380a_7c1a);
/// The longest write.
const MAX_WRITE_LENGTH: usize = 40 * 1024;
/// From the start of the device to the first tick.
const FIRST_TICK: Duration = Duration::from_millis(100);
/// Between two ticks.
const PERIOD: Duration = Duration::from_secs(10);

/// # Safety
///
/// Only the system may call this function.
#[unsafe(export_name = "DriverEntry")]
pub unsafe extern "system" fn driver_entry(driver: *mut DRIVER_OBJECT, path: PCUNICODE_STRING) -> NTSTATUS {
    // SAFETY: the arguments are the system's, and this is `DriverEntry`.
    let created = unsafe { create_driver::<EchoDriver>(driver, path) };
    created.err().unwrap_or(NtStatus::Success).as_signed()
}

struct EchoDriver;

impl Driver for EchoDriver {
    fn device_add(_: DriverHandle, init: DeviceInit<'_>) -> Result<(), NtStatus> {
        let device = init.create(|device| {
            Ok(Echo {
                queue: device.create_queue(QueueConfig::sequential().default_queue())?,
                timer: device.create_periodic_timer(PERIOD)?,
                request: device.create_pending_request()?,
                data: SpinLock::new(None),
            })
        })?;
        device.create_interface(&INTERFACE)
    }

    fn unload(_: Passive<'_>) {}
}

struct Echo {
    queue: Queue,
    timer: Timer,
    /// The request that the next tick completes.
    request: PendingRequest,
    /// What was written last.
    data: SpinLock<Option<Memory>>,
}

impl Device for Echo {
    fn self_managed_io_init(&self, _: DeviceHandle<'_, Self>) -> Result<(), NtStatus> {
        self.queue.start();
        self.timer.start(FIRST_TICK);
        Ok(())
    }

    fn self_managed_io_suspend(&self, device: DeviceHandle<'_, Self>) -> Result<(), NtStatus> {
        // The timer completes the request that the driver still has.
        self.queue.stop_and_wait(device.passive());
        self.timer.stop(device.passive());
        Ok(())
    }

    fn self_managed_io_restart(&self, device: DeviceHandle<'_, Self>) -> Result<(), NtStatus> {
        self.self_managed_io_init(device)
    }
}

impl QueueEvents for Echo {
    fn read(&self, mut request: Request) {
        let copied = self.data.with(|data| {
            let Some(data) = data else { return Ok(false) };
            let length = data.len().min(request.output_length());
            request.reply(data.get(..length).unwrap_or_default()).map(|()| true)
        });
        match copied {
            Ok(true) => self.keep(request),
            // Nothing was written yet.
            Ok(false) => request.complete(NtStatus::Success),
            Err(status) => request.complete(status),
        }
    }

    fn write(&self, mut request: Request) {
        match store(&request) {
            Ok(data) => {
                request.consume(data.len());
                // The old memory is freed after the lock is released.
                drop(self.data.with(|place| place.replace(data)));
                self.keep(request);
            }
            Err(status) => request.complete(status),
        }
    }
}

impl TimerEvents for Echo {
    fn tick(&self) {
        if let Some(request) = self.request.take() {
            request.complete(NtStatus::Success);
        }
    }
}

impl Echo {
    /// Keeps a request for the next tick.
    #[inline]
    fn keep(&self, request: Request) {
        // If this fails, the request is completed with the error: the client has cancelled it.
        let _ = self.request.keep(request);
    }
}

/// Copies what a client wrote.
fn store(request: &Request) -> Result<Memory, NtStatus> {
    let input = request.input()?;
    if input.len() > MAX_WRITE_LENGTH {
        return Err(NtStatus::BufferOverflow);
    }
    Memory::copy_of(input, *b"Echo")
}
