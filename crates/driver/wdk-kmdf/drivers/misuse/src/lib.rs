//! Tries to misuse the crate with safe code. Each control code is one attempt, and the test states what must come of it.
#![no_std]

extern crate wdk_panic;

mod attempts;
mod late;

use core::sync::atomic::{AtomicU32, Ordering};

use wdk_etw::NtStatus;
use wdk_kmdf::{
    ChildListEvents, Completion, Device, DeviceHandle, DeviceInit, DeviceRef, Driver, DriverHandle, InterruptEvents,
    IoTarget, Isr, OwnRequestEvents, Passive, PdoInit, PendingRequest, PowerState, QueueConfig, QueueEvents, Request,
    Resources, SendEvents, SpinLock, StoppedRequest, TimerEvents, WmiEvents, WmiMethod, WorkItem, WorkItemEvents,
    create_driver,
};
use wdk_sys::{DRIVER_OBJECT, NTSTATUS, PCUNICODE_STRING};

use late::{LEAKED, Leaked};

const fn code(function: u32) -> u32 {
    0x0022_0000 | (0x800 + function) << 2
}

/// Completes a request with success and writes nothing.
const WRITE_NOTHING: u32 = code(0);
/// Writes four bytes, then more than there is room for.
const WRITE_TOO_MUCH: u32 = code(1);
/// Drops the request.
const DROP: u32 = code(2);
/// Gives the request to a work item by a static.
const MOVE: u32 = code(3);
/// Keeps the request where there may be one already.
const KEEP: u32 = code(4);
/// Completes the request that is kept.
const RELEASE: u32 = code(5);
/// Takes locks inside of each other, and replies with the IRQLs.
const NEST: u32 = code(6);
/// Keeps handles for the time after the device.
const LEAK: u32 = code(7);
/// Uses wrong types.
const CONFUSE: u32 = code(8);
/// Forwards a request to a queue of another device.
const FORWARD_AWAY: u32 = code(9);
/// Replies with the input after the output overwrote it.
const REUSE_INPUT: u32 = code(10);
/// Uses output that was written and abandoned.
const ABANDON: u32 = code(11);

/// Keeps the request in a place of another device.
const KEEP_AWAY: u32 = code(12);
/// Uses the buffers of a `METHOD_NEITHER` request, which nothing has locked.
const UNLOCKED: u32 = code(14) | 3;
/// Passes what does not fit to functions for `PASSIVE_LEVEL`, and replies with the number of those that take it.
const ATTEMPT: u32 = code(15);
/// Uses the buffers of the request for more than they have.
const OVERRUN: u32 = code(16);
/// Returns the request to a manual queue that it was not taken from.
const REQUEUE: u32 = code(17);
/// Sends the request to the device below another device.
const SEND_AWAY: u32 = code(18);
/// Chooses the mistake that is made when the next device is added: the first byte of the input.
const NEXT: u32 = code(19);

static MOVED: SpinLock<Option<Request>> = SpinLock::new(None);
static ATTEMPTED: SpinLock<Option<Request>> = SpinLock::new(None);
static NEXT_MISTAKE: AtomicU32 = AtomicU32::new(0);
static TICKS: AtomicU32 = AtomicU32::new(0);

/// # Safety
///
/// Only the system may call this function.
#[unsafe(export_name = "DriverEntry")]
pub unsafe extern "system" fn driver_entry(driver: *mut DRIVER_OBJECT, path: PCUNICODE_STRING) -> NTSTATUS {
    // SAFETY: the arguments are the system's, and this is `DriverEntry`.
    let created = unsafe { create_driver::<MisuseDriver>(driver, path) };
    created.err().unwrap_or(NtStatus::Success).as_signed()
}

struct MisuseDriver;

impl Driver for MisuseDriver {
    fn device_add(driver: DriverHandle, init: DeviceInit<'_>) -> Result<(), NtStatus> {
        match NEXT_MISTAKE.swap(0, Ordering::Relaxed) {
            0 => {}
            mistake => return attempts::add(init, mistake),
        }
        init.create(|device: DeviceHandle<'_, Misuse>| {
            // There is no value yet to refer to.
            if device.value().is_some() || device.reference().is_some() {
                return Err(NtStatus::InternalError);
            }
            device.create_queue(QueueConfig::parallel().default_queue())?;
            Ok(Misuse {
                driver,
                work: device.create_work_item::<()>()?,
                attempts: device.create_work_item::<Attempts>()?,
                pending: device.create_pending_request()?,
                target: device.io_target(),
                spare: SpinLock::new(Some(Leaked::create(device)?)),
                own: SpinLock::new(None),
            })
        })?;
        Ok(())
    }

    fn unload(passive: Passive<'_>) {
        // The devices are gone, and their timers, work items and queues with them.
        if let Some(leaked) = LEAKED.with(Option::take) {
            leaked.use_late(passive);
        }
        wdk::println!("misuse: unload");
    }
}

struct Misuse {
    driver: DriverHandle,
    work: WorkItem,
    attempts: WorkItem,
    pending: PendingRequest,
    target: Option<IoTarget>,
    /// Handles that outlive the device if a client asks for it.
    spare: SpinLock<Option<Leaked>>,
    own: SpinLock<Option<DeviceRef<Self>>>,
}

impl Device for Misuse {
    fn prepare_hardware(&self, _: DeviceHandle<'_, Self>, resources: Resources<'_>) -> Result<(), NtStatus> {
        let outside = [resources.count(), u32::MAX];
        if outside.iter().any(|index| resources.translated(*index).or(resources.untranslated(*index)).is_some()) {
            wdk::println!("misuse: a resource that the device does not have");
        }
        Ok(())
    }

    fn d0_entry(&self, device: DeviceHandle<'_, Self>, _: PowerState) -> Result<(), NtStatus> {
        let reference = device.reference();
        drop(self.own.with(|own| core::mem::replace(own, reference)));
        Ok(())
    }

    fn d0_exit(&self, _: DeviceHandle<'_, Self>, _: PowerState) -> Result<(), NtStatus> {
        drop(self.own.with(Option::take));
        Ok(())
    }

    fn cleanup(&self) {
        // The child refers to this device.
        drop(self.spare.with(Option::take));
        wdk::println!("misuse: cleanup");
    }
}

impl Drop for Misuse {
    fn drop(&mut self) {
        wdk::println!("misuse: dropped");
    }
}

/// A type that no device has.
struct Other;

impl Device for Other {}

impl SendEvents for Other {
    fn sent(&self, _: Request, _: NtStatus) {
        wdk::println!("misuse: a callback for a device of another type");
    }
}

impl ChildListEvents for Misuse {
    type Id = u32;
    type Child = Other;

    fn describe_child(&self, _: DeviceHandle<'_, Self>, _: &u32, _: &mut PdoInit<'_>) -> Result<(), NtStatus> {
        Err(NtStatus::NotSupported)
    }

    fn create_child(&self, _: &u32, _: DeviceHandle<'_, Other>) -> Result<Other, NtStatus> {
        Err(NtStatus::NotSupported)
    }
}

impl TimerEvents for Misuse {
    fn tick(&self) {
        TICKS.fetch_add(1, Ordering::Relaxed);
    }
}

impl WorkItemEvents for Misuse {
    fn work(&self, _: DeviceHandle<'_, Self>) {
        if let Some(request) = MOVED.with(Option::take) {
            request.complete(NtStatus::Success);
        }
    }
}

/// The work item that passes what does not fit.
struct Attempts;

impl WorkItemEvents<Attempts> for Misuse {
    fn work(&self, device: DeviceHandle<'_, Self>) {
        let taken = attempts::run(self.driver, device);
        if let Some(mut request) = ATTEMPTED.with(Option::take) {
            let result = request.reply_value(&taken);
            request.finish(result);
        }
    }
}

impl InterruptEvents for Misuse {
    /// Queues the DPC twice.
    fn isr(&self, isr: Isr<'_>, _: u32) -> bool {
        isr.defer() && !isr.defer()
    }
}

impl WmiEvents for Misuse {
    type Data = u32;

    fn query(&self, _: DeviceHandle<'_, Self>) -> Result<u32, NtStatus> {
        Ok(7)
    }

    /// Replies with more than there is room for, and says that it succeeded.
    fn execute(&self, _: DeviceHandle<'_, Self>, method: WmiMethod<'_>) -> Result<(), NtStatus> {
        if method.input_value::<[u64; 8]>().is_ok() {
            return Err(NtStatus::InternalError);
        }
        let _ = if method.id() == 1 { method.reply(&[1; 64]) } else { method.reply_value(&[2_u64; 8]) };
        Ok(())
    }
}

impl OwnRequestEvents for Misuse {
    fn completed(&self, _: Completion) {
        wdk::println!("misuse: a request that was not sent");
    }
}

impl QueueEvents for Misuse {
    /// Ignores that the reply does not fit.
    fn read(&self, mut request: Request) {
        let _ = request.reply(&[b'r'; 64]);
        request.complete(NtStatus::Success);
    }

    /// Takes more than there is.
    fn write(&self, mut request: Request) {
        request.consume(usize::MAX);
        request.complete(NtStatus::Success);
    }

    fn device_control(&self, mut request: Request, code: u32) {
        let result = match code {
            WRITE_NOTHING => Ok(()),
            WRITE_TOO_MUCH => write_too_much(&mut request),
            DROP => return drop(request),
            MOVE => {
                drop(MOVED.with(|moved| moved.replace(request)));
                return self.work.enqueue();
            }
            KEEP => {
                let _ = self.pending.keep(request);
                return;
            }
            RELEASE => self.pending.take().map(|kept| kept.complete(NtStatus::Success)).ok_or(NtStatus::NotFound),
            NEST => nest(&mut request),
            LEAK => self.leak(),
            CONFUSE => return self.confuse(request),
            FORWARD_AWAY => return forward_away(request),
            KEEP_AWAY => return keep_away(request),
            UNLOCKED => use_unlocked(&mut request),
            ATTEMPT => {
                drop(ATTEMPTED.with(|attempted| attempted.replace(request)));
                return self.attempts.enqueue();
            }
            OVERRUN => attempts::overrun(&mut request),
            REQUEUE => {
                let _ = request.requeue();
                return;
            }
            SEND_AWAY => return send_away(request),
            NEXT => request.input_value::<u8>().map(|mistake| NEXT_MISTAKE.store(mistake.into(), Ordering::Relaxed)),
            REUSE_INPUT => request.reply(b"!").and_then(|()| request.reply_with_input()),
            ABANDON => request.reply(b"abandoned").and_then(|()| request.output().map(drop)),
            _ => Err(NtStatus::InvalidDeviceRequest),
        };
        request.finish(result);
    }

    fn io_stop(&self, stopped: StoppedRequest<'_>) {
        if stopped.is_removal() {
            drop(self.pending.take());
        } else if !self.pending.acknowledge(&stopped) {
            wdk::println!("misuse: a request that is not kept");
        }
    }
}

fn write_too_much(request: &mut Request) -> Result<(), NtStatus> {
    let mut output = request.output()?;
    output.write(b"four")?;
    let room = output.remaining();
    if output.write(&[0; 64]) != Err(NtStatus::BufferTooSmall) || output.remaining() != room {
        return Err(NtStatus::InternalError);
    }
    Ok(())
}

fn nest(request: &mut Request) -> Result<(), NtStatus> {
    static OUTER: SpinLock<u32> = SpinLock::new(0);
    static INNER: SpinLock<u32> = SpinLock::new(0);
    let level = || u8::from(Passive::current().is_none());
    let before = level();
    let (first, between) = OUTER.with(|outer| {
        *outer += 1;
        let first = INNER.with(|inner| {
            *inner += *outer;
            level()
        });
        (first, level())
    });
    request.reply(&[before, first, between, level()])
}

fn use_unlocked(request: &mut Request) -> Result<(), NtStatus> {
    let refused = Err(NtStatus::InvalidDeviceRequest);
    let mut copy = [0; 8];
    let is_refused = request.input().is_err() && request.copy_input(0, &mut copy) == refused;
    if is_refused && request.reply(b"?") == Err(NtStatus::InvalidDeviceRequest) {
        Ok(())
    } else {
        Err(NtStatus::InternalError)
    }
}

fn keep_away(request: Request) {
    match LEAKED.with(Option::take) {
        Some(leaked) => {
            let _ = leaked.pending.keep(request);
            LEAKED.with(|place| *place = Some(leaked));
        }
        None => request.complete(NtStatus::NotFound),
    }
}

fn forward_away(request: Request) {
    // The queue is taken out, because forwarding may call back into the driver.
    match LEAKED.with(Option::take) {
        Some(leaked) => {
            let _ = request.forward(&leaked.queue);
            LEAKED.with(|place| *place = Some(leaked));
        }
        None => request.complete(NtStatus::NotFound),
    }
}

fn send_away(request: Request) {
    match LEAKED.with(Option::take) {
        Some(leaked) => {
            match &leaked.target {
                Some(target) => drop(request.send_and_forget(target)),
                None => request.complete(NtStatus::NoSuchDevice),
            }
            LEAKED.with(|place| *place = Some(leaked));
        }
        None => request.complete(NtStatus::NotFound),
    }
}

impl Misuse {
    fn leak(&self) -> Result<(), NtStatus> {
        let mut leaked = self.spare.with(Option::take).ok_or(NtStatus::NotFound)?;
        // The device has no resource for it, so it is not connected.
        let is_locked = leaked.interrupt.locked(|| ());
        leaked.device = self.own.with(Option::take);
        leaked.power = leaked.device.clone().and_then(|device| device.stop_idle().ok());
        LEAKED.with(|place| *place = Some(leaked));
        if is_locked == Err(NtStatus::DeviceNotReady) { Ok(()) } else { Err(NtStatus::InternalError) }
    }

    fn confuse(&self, request: Request) {
        if request.file::<u64>().is_some() || request.file::<Self>().is_some() {
            return request.complete(NtStatus::InternalError);
        }
        match &self.target {
            Some(target) => {
                let _ = request.send::<Other, ()>(target, None);
            }
            None => request.complete(NtStatus::NoSuchDevice),
        }
    }
}
