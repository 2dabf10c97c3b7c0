//! Tries to misuse the crate with safe code. Each control code is one attempt, and the test states what must come of it.
#![no_std]

extern crate wdk_panic;

use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;

use wdk_etw::NtStatus;
use wdk_kmdf::{
    ChildList, ChildListEvents, Device, DeviceHandle, DeviceInit, DeviceRef, Driver, DriverHandle, IoTarget, Passive,
    PdoInit, PendingRequest, Queue, QueueConfig, QueueEvents, Request, SendEvents, SpinLock, StoppedRequest, Timer,
    TimerEvents, WorkItem, WorkItemEvents, create_driver,
};
use wdk_sys::{DRIVER_OBJECT, NTSTATUS, PCUNICODE_STRING};

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

/// Handles of a device that outlive it.
struct Leaked {
    timer: Timer,
    work: WorkItem,
    queue: Queue,
    pending: PendingRequest,
    children: ChildList<u32>,
    device: Option<DeviceRef<Misuse>>,
}

static LEAKED: SpinLock<Option<Leaked>> = SpinLock::new(None);
static MOVED: SpinLock<Option<Request>> = SpinLock::new(None);
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
    fn device_add(_: DriverHandle, init: DeviceInit<'_>) -> Result<(), NtStatus> {
        init.create(|device: DeviceHandle<'_, Misuse>| {
            // There is no value yet to refer to.
            if device.value().is_some() || device.reference().is_some() {
                return Err(NtStatus::InternalError);
            }
            device.create_queue(QueueConfig::parallel().default_queue())?;
            Ok(Misuse {
                timer: SpinLock::new(Some(device.create_timer()?)),
                work: device.create_work_item()?,
                spare_work: SpinLock::new(Some(device.create_work_item()?)),
                queue: SpinLock::new(Some(device.create_manual_queue(true)?)),
                pending: device.create_pending_request()?,
                spare_pending: SpinLock::new(Some(device.create_pending_request()?)),
                children: SpinLock::new(Some(device.create_child_list()?)),
                target: device.io_target(),
                own: SpinLock::new(None),
            })
        })?;
        Ok(())
    }

    fn unload(passive: Passive<'_>) {
        // The devices are gone, and their timers, work items and queues with them.
        if let Some(leaked) = LEAKED.with(Option::take) {
            leaked.timer.start(Duration::from_millis(1));
            leaked.timer.cancel();
            leaked.timer.stop(passive);
            leaked.work.enqueue();
            leaked.work.flush(passive);
            leaked.queue.start();
            leaked.queue.stop_and_wait(passive);
            leaked.queue.purge();
            if leaked.queue.next_request().is_some() {
                wdk::println!("misuse: a request from nowhere");
            }
            if leaked.pending.take().is_some() || leaked.children.scan(|_| ()).is_some() {
                wdk::println!("misuse: a place or a list outlives its device");
            }
            if [leaked.children.add(&1), leaked.children.remove(&1)] != [Err(NtStatus::DeletePending); 2] {
                wdk::println!("misuse: a child of no device");
            }
            if let Some(device) = &leaked.device {
                wdk::println!("misuse: the value outlives its device: {}", device.pending.is_some());
            }
        }
        wdk::println!("misuse: unload");
    }
}

struct Misuse {
    timer: SpinLock<Option<Timer>>,
    work: WorkItem,
    spare_work: SpinLock<Option<WorkItem>>,
    queue: SpinLock<Option<Queue>>,
    pending: PendingRequest,
    spare_pending: SpinLock<Option<PendingRequest>>,
    children: SpinLock<Option<ChildList<u32>>>,
    target: Option<IoTarget>,
    own: SpinLock<Option<DeviceRef<Self>>>,
}

impl Device for Misuse {
    fn d0_entry(&self, device: DeviceHandle<'_, Self>, _: wdk_kmdf::PowerState) -> Result<(), NtStatus> {
        let reference = device.reference();
        drop(self.own.with(|own| core::mem::replace(own, reference)));
        Ok(())
    }

    fn d0_exit(&self, _: DeviceHandle<'_, Self>, _: wdk_kmdf::PowerState) -> Result<(), NtStatus> {
        drop(self.own.with(Option::take));
        Ok(())
    }

    fn cleanup(&self) {
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

impl QueueEvents for Misuse {
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

impl Misuse {
    fn leak(&self) -> Result<(), NtStatus> {
        let timer = self.timer.with(Option::take).ok_or(NtStatus::NotFound)?;
        let work = self.spare_work.with(Option::take).ok_or(NtStatus::NotFound)?;
        let queue = self.queue.with(Option::take).ok_or(NtStatus::NotFound)?;
        let pending = self.spare_pending.with(Option::take).ok_or(NtStatus::NotFound)?;
        let children = self.children.with(Option::take).ok_or(NtStatus::NotFound)?;
        let device = self.own.with(Option::take);
        LEAKED.with(|place| *place = Some(Leaked { timer, work, queue, pending, children, device }));
        Ok(())
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
