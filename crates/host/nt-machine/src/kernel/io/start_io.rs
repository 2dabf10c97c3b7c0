//! Device queues, and drivers that process one IRP at a time in `StartIo`.

use std::mem::offset_of;

use crate::kernel::sync::irql;
use crate::kernel::{call_back, kernel, lock};
use crate::layout::{DEVICE_OBJECT, IRP, KDEVICE_QUEUE, KDEVICE_QUEUE_ENTRY, LIST_ENTRY};
use crate::memory::{Fault, GuestPtr};
use crate::routine::{DISPATCH, Outcome, Routine, done, routine};

/// `DeviceQueueObject`.
const TYPE: u16 = 20;

type Queue = GuestPtr<KDEVICE_QUEUE>;
type Entry = GuestPtr<KDEVICE_QUEUE_ENTRY>;

pub(super) const ROUTINES: &[Routine] = &[
    routine!("KeInitializeDeviceQueue", DISPATCH, |call| {
        let queue = call.ptr::<KDEVICE_QUEUE>(0);
        queue.zero()?;
        queue.Type().write(TYPE)?;
        queue.Size().write(size_of::<KDEVICE_QUEUE>() as u16)?;
        queue.DeviceListHead().initialize()
    }),
    routine!("KeInsertDeviceQueue", DISPATCH, |call| insert(call.ptr(0), call.ptr(1), None)),
    routine!("KeInsertByKeyDeviceQueue", DISPATCH, |call| insert(call.ptr(0), call.ptr(1), Some(call.u32(2)))),
    routine!("KeRemoveDeviceQueue", DISPATCH, |call| remove(call.ptr(0))),
    routine!("KeRemoveEntryDeviceQueue", DISPATCH, |call| {
        kernel().scheduler.change(|_| {
            let entry: Entry = call.ptr(1);
            let was_in = entry.Inserted().read()? != 0;
            if was_in {
                unlink(entry)?;
            }
            done(was_in)
        })
    }),
    // Arguments: device, IRP, place of a key or NULL, cancel routine.
    routine!("IoStartPacket", DISPATCH, |call| {
        let (device, packet) = (call.ptr(0), call.ptr::<IRP>(1));
        packet.CancelRoutine().write(call.ptr(3))?;
        let is_busy = {
            let mut io = lock(&kernel().io);
            let is_busy = io.started.iter().any(|(known, _)| *known == device);
            io.started.push((device, if is_busy { packet } else { GuestPtr::NULL }));
            is_busy
        };
        if is_busy { done(()) } else { start(device, packet) }
    }),
    routine!("IoStartNextPacket", DISPATCH, |call| {
        let device = call.ptr::<DEVICE_OBJECT>(0);
        device.CurrentIrp().write(GuestPtr::NULL)?;
        let next = {
            let mut io = lock(&kernel().io);
            let position = io.started.iter().position(|(known, packet)| *known == device && !packet.is_null());
            let next = position.map(|position| io.started.remove(position).1);
            if next.is_none() {
                io.started.retain(|(known, _)| *known != device);
            }
            next
        };
        next.map_or(Ok(()), |packet| start(device, packet))
    }),
];

/// Returns the entry that contains a link.
const fn entry_of(link: GuestPtr<LIST_ENTRY>) -> Entry {
    link.container(offset_of!(KDEVICE_QUEUE_ENTRY, DeviceListEntry))
}

/// Inserts an entry if the queue is busy; otherwise only marks the queue as busy. Returns whether the entry was
/// inserted.
fn insert(queue: Queue, entry: Entry, key: Option<u32>) -> Outcome<bool> {
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
fn remove(queue: Queue) -> Outcome<Entry> {
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
fn start(device: GuestPtr<DEVICE_OBJECT>, packet: GuestPtr<IRP>) -> Outcome {
    let routine = device.DriverObject().read()?.DriverStartIo().read()?;
    device.CurrentIrp().write(packet)?;
    packet.CurrentStackLocation().read()?.DeviceObject().write(device)?;
    let old = irql::raise(DISPATCH);
    call_back("StartIo", DISPATCH, routine, &[device.address(), packet.address()]);
    irql::lower(old);
    Ok(())
}
