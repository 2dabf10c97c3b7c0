//! Device queues, and drivers that process one IRP at a time in `StartIo`.

use std::cell::Cell;
use std::mem::offset_of;

use nt_processor::cpu::thread;
use nt_processor::layout::{DEVICE_OBJECT, IRP, KDEVICE_QUEUE, KDEVICE_QUEUE_ENTRY, LIST_ENTRY};
use nt_processor::memory::{Code, Fault, GuestPtr};
use nt_verifier::routine::{DISPATCH, Ignored, routines};
use nt_verifier::verify::{self, Rule, Wdm};
use windows_constants::object::DeviceQueueObject;

use crate::sync::irql;
use crate::{Kernel, call_back, kernel, lock};

type Queue = GuestPtr<KDEVICE_QUEUE>;
type Entry = GuestPtr<KDEVICE_QUEUE_ENTRY>;

routines! { pub(super) ROUTINES;
    #[irql(DISPATCH)]
    fn KeInitializeDeviceQueue(queue: Queue) -> Result<(), Fault> {
        queue.zero()?;
        queue.Type().write(DeviceQueueObject)?;
        queue.Size().write(size_of::<KDEVICE_QUEUE>() as u16)?;
        queue.DeviceListHead().initialize()
    }

    #[irql(DISPATCH)]
    fn KeInsertDeviceQueue(queue: Queue, entry: Entry) -> Result<bool, Fault> {
        irql::needs_dispatch();
        insert(queue, entry, None)
    }

    #[irql(DISPATCH)]
    fn KeInsertByKeyDeviceQueue(queue: Queue, entry: Entry, key: u32) -> Result<bool, Fault> {
        irql::needs_dispatch();
        insert(queue, entry, Some(key))
    }

    #[irql(DISPATCH)]
    fn KeRemoveDeviceQueue(queue: Queue) -> Result<Entry, Fault> {
        irql::needs_dispatch();
        remove(queue)
    }

    #[irql(DISPATCH)]
    fn KeRemoveEntryDeviceQueue(_queue: Ignored<Queue>, entry: Entry) -> Result<bool, Fault> {
        kernel().scheduler.change(|_| {
            let was_in = entry.Inserted().read()? != 0;
            if was_in {
                unlink(entry)?;
            }
            Ok(was_in)
        })
    }

    #[irql(DISPATCH)]
    fn IoStartPacket(
        device: GuestPtr<DEVICE_OBJECT>,
        packet: GuestPtr<IRP>,
        _key: Ignored<GuestPtr<u32>>,
        cancel: GuestPtr<Code>,
    ) -> Result<(), Fault> {
        packet.CancelRoutine().write(cancel)?;
        let is_busy = {
            let mut io = lock(&kernel().io);
            let is_busy = io.started.iter().any(|(known, _)| *known == device);
            io.started.push((device, if is_busy { packet } else { GuestPtr::NULL }));
            is_busy
        };
        if is_busy { Ok(()) } else { start(device, packet) }
    }

    #[irql(DISPATCH)]
    fn IoStartNextPacket(device: GuestPtr<DEVICE_OBJECT>, _cancelable: Ignored<bool>) -> Result<(), Fault> {
        let Kernel { io, locks, .. } = kernel();
        irql::needs_dispatch();
        if lock(locks).holds_spin_lock(thread::number()) {
            let breach = Rule::LockMisuse.named(Wdm::SpinLockSafe);
            verify::find(breach, format_args!("starts the next packet while it holds a spin lock"));
        }
        if STARTING.get() == device {
            let breach = Rule::RequestMisuse.named(Wdm::StartIoRecursion);
            verify::find(breach, format_args!("starts the next packet in StartIo, which runs again inside of itself"));
        }
        device.CurrentIrp().write(GuestPtr::NULL)?;
        let next = {
            let mut io = lock(io);
            let position = io.started.iter().position(|(known, packet)| *known == device && !packet.is_null());
            let next = position.map(|position| io.started.remove(position).1);
            if next.is_none() {
                io.started.retain(|(known, _)| *known != device);
            }
            next
        };
        next.map_or(Ok(()), |packet| start(device, packet))
    }
}

thread_local! {
    /// The device whose `StartIo` this thread runs.
    static STARTING: Cell<GuestPtr<DEVICE_OBJECT>> = const { Cell::new(GuestPtr::NULL) };
}

/// Returns the entry that contains a link.
const fn entry_of(link: GuestPtr<LIST_ENTRY>) -> Entry {
    link.container(offset_of!(KDEVICE_QUEUE_ENTRY, DeviceListEntry))
}

/// Inserts an entry if the queue is busy; otherwise only marks the queue as busy. Returns whether the entry was
/// inserted.
fn insert(queue: Queue, entry: Entry, key: Option<u32>) -> Result<bool, Fault> {
    kernel().scheduler.change(|_| {
        if queue.Busy().read()? == 0 {
            queue.Busy().write(1)?;
            return Ok(false);
        }
        // The position is after the last entry whose key is not higher.
        let head = queue.DeviceListHead();
        let mut before = head.Blink().read()?;
        while let Some(key) = key
            && before != head
            && entry_of(before).SortKey().read()? > key
        {
            before = before.Blink().read()?;
        }
        before.insert(entry.DeviceListEntry())?;
        entry.SortKey().write(key.unwrap_or_default())?;
        entry.Inserted().write(1)?;
        Ok(true)
    })
}

fn unlink(entry: Entry) -> Result<(), Fault> {
    entry.DeviceListEntry().unlink()?;
    entry.Inserted().write(0)
}

/// Removes the first entry. If the queue is empty, marks it as not busy and returns NULL.
fn remove(queue: Queue) -> Result<Entry, Fault> {
    kernel().scheduler.change(|_| {
        let first = queue.DeviceListHead().Flink().read()?;
        if first == queue.DeviceListHead() {
            queue.Busy().write(0)?;
            return Ok(GuestPtr::NULL);
        }
        unlink(entry_of(first))?;
        Ok(entry_of(first))
    })
}

/// Calls the driver's `StartIo` for an IRP, at `DISPATCH_LEVEL`.
fn start(device: GuestPtr<DEVICE_OBJECT>, packet: GuestPtr<IRP>) -> Result<(), Fault> {
    let routine = device.DriverObject().read()?.DriverStartIo().read()?;
    device.CurrentIrp().write(packet)?;
    packet.CurrentStackLocation().read()?.DeviceObject().write(device)?;
    let old = irql::raise(DISPATCH);
    let outer = STARTING.replace(device);
    call_back("StartIo", DISPATCH, routine, &[device.address(), packet.address()]);
    STARTING.set(outer);
    irql::lower(old);
    Ok(())
}
