//! Handles that a driver keeps for longer than their device.

use core::time::Duration;

use wdk_etw::{Guid, NtStatus};
use wdk_kmdf::{
    ChildDevice, ChildList, DeviceHandle, DeviceRef, Interrupt, IoTarget, Operation, OwnRequest, Passive,
    PendingRequest, PowerReference, Queue, SpinLock, Timer, WaitLock, WmiBlock, WorkItem, wide,
};

use crate::{Misuse, Other};

const BLOCK: Guid = Guid::from_u128(0x7f3a_14c2_8f21_4f7e_9a51_0d2b_33c9_61b0);

/// Handles of a device that outlive it.
pub(crate) struct Leaked {
    timer: Timer,
    work: WorkItem,
    pub(crate) queue: Queue,
    pub(crate) pending: PendingRequest,
    children: ChildList<u32>,
    child: ChildDevice<Other>,
    pub(crate) interrupt: Interrupt,
    block: WmiBlock<u32>,
    lock: WaitLock<u32>,
    pub(crate) target: Option<IoTarget>,
    own: Option<OwnRequest>,
    pub(crate) device: Option<DeviceRef<Misuse>>,
    /// Keeps the device in D0, also when it is removed.
    pub(crate) power: Option<PowerReference<Misuse>>,
}

pub(crate) static LEAKED: SpinLock<Option<Leaked>> = SpinLock::new(None);

impl Leaked {
    pub(crate) fn create(device: DeviceHandle<'_, Misuse>) -> Result<Self, NtStatus> {
        let target = device.io_target();
        let child = device.child_device()?.describe(|init| {
            init.id(&wide(br"MISUSE\Child"), &wide(b"1"))?;
            init.raw_device(&BLOCK)
        })?;
        Ok(Self {
            timer: device.create_timer()?,
            work: device.create_work_item::<()>()?,
            queue: device.create_manual_queue(true)?,
            pending: device.create_pending_request()?,
            children: device.create_child_list()?,
            interrupt: device.create_interrupt()?,
            block: device.create_wmi_block(&BLOCK)?,
            lock: device.create_wait_lock(0)?,
            own: target.as_ref().map(|target| device.create_request(target)).transpose()?,
            target,
            child: child.create(|_| Ok(Other))?,
            device: None,
            power: None,
        })
    }

    /// Uses all of them after their device is gone.
    pub(crate) fn use_late(self, passive: Passive<'_>) {
        self.timer.start(Duration::from_millis(1));
        self.timer.cancel();
        self.timer.stop(passive);
        self.work.enqueue();
        self.work.flush(passive);
        self.queue.start();
        self.queue.stop();
        self.queue.stop_and_wait(passive);
        self.queue.purge();
        self.queue.purge_and_wait(passive);
        self.queue.drain();
        if self.queue.next_request().is_some() {
            wdk::println!("misuse: a request from nowhere");
        }
        if self.pending.take().is_some() || self.children.scan(|_| ()).is_some() {
            wdk::println!("misuse: a place or a list outlives its device");
        }
        if [self.children.add(&1), self.children.remove(&1)] != [Err(NtStatus::DeletePending); 2] {
            wdk::println!("misuse: a child of no device");
        }
        if self.interrupt.locked(|| ()) != Err(NtStatus::DeletePending)
            || self.block.fire_event(&1) != Err(NtStatus::DeletePending)
        {
            wdk::println!("misuse: an interrupt or an event of no device");
        }
        // The value is the driver's own, and the lock is kept for it.
        if self.lock.with(passive, |count| core::mem::replace(count, 1)) != 0 {
            wdk::println!("misuse: another value");
        }
        if let Some(target) = &self.target {
            self.use_target(passive, target);
        }
        // The bus is gone, and the child with it.
        if self.child.mark_missing() != Err(NtStatus::NoSuchDevice) {
            wdk::println!("misuse: a child of a bus that is gone");
        }
        if let Some(device) = &self.device {
            wdk::println!("misuse: the value outlives its device: {}", device.pending.is_some());
            if device.clone().stop_idle().is_ok() || device.clone().stop_idle_and_wait(passive).is_ok() {
                wdk::println!("misuse: power for a device that is gone");
            }
        }
    }

    fn use_target(&self, passive: Passive<'_>, target: &IoTarget) {
        let mut byte = [0];
        let results = [
            target.control(passive, 0x0022_0000, b"x", &mut byte, None),
            target.internal_control(passive, 0x0022_0000, b"x", &mut byte, None),
            target.read(passive, 0, &mut byte, None),
            target.write(passive, 0, b"x", None),
        ];
        if results.iter().any(Result::is_ok) {
            wdk::println!("misuse: a request to a device that is gone");
        }
        target.stop(passive, true);
        let _ = target.start();
        let Some(own) = &self.own else { return };
        let send = || own.send(target, Operation::Read(0), None, None, None);
        if own.cancel() || send() != Err(NtStatus::DeletePending) {
            wdk::println!("misuse: a request of a device that is gone");
        }
    }
}
