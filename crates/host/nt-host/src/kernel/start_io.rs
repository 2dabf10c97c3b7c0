//! Device queues, and drivers that take one packet at a time through `StartIo`.

use super::packet::{irp, location};
use super::routine::{DISPATCH, Routine, routine};
use super::{call_back, devices, irql, kernel, lock};
use crate::memory::guest;

/// `KDEVICE_QUEUE`: type at 0, list at 8, lock at 0x18, busy at 0x20. An entry: list at 0, key at 16, inserted at 20.
const LIST: u64 = 8;
const BUSY: u64 = 0x20;
const KEY: u64 = 16;
const INSERTED: u64 = 20;
/// `DeviceQueueObject`.
const TYPE: u16 = 20;
/// `DRIVER_OBJECT.DriverStartIo`.
const START_IO: u64 = 0x60;
/// `DEVICE_OBJECT.CurrentIrp`.
const CURRENT: u64 = 0x20;

pub(super) const ROUTINES: &[Routine] = &[
    routine("KeInitializeDeviceQueue", DISPATCH, |call| {
        let queue = call.arg(0);
        guest::fill(queue, 0, 0x28);
        guest::write(queue, TYPE);
        guest::write(queue + 2, 0x28_u16);
        guest::write(queue + LIST, queue + LIST);
        guest::write(queue + LIST + 8, queue + LIST);
        0
    }),
    routine("KeInsertDeviceQueue", DISPATCH, |call| insert(call.arg(0), call.arg(1), None).into()),
    routine("KeInsertByKeyDeviceQueue", DISPATCH, |call| insert(call.arg(0), call.arg(1), Some(call.u32(2))).into()),
    routine("KeRemoveDeviceQueue", DISPATCH, |call| remove(call.arg(0))),
    routine("KeRemoveEntryDeviceQueue", DISPATCH, |call| {
        kernel().scheduler.change(|_| {
            let entry = call.arg(1);
            let was_in = guest::read::<u8>(entry + INSERTED) != 0;
            if was_in {
                unlink(entry);
            }
            was_in.into()
        })
    }),
    // Arguments: device, packet, place of a key or NULL, cancel routine.
    routine("IoStartPacket", DISPATCH, |call| {
        guest::write(call.arg(1) + irp::CANCEL_ROUTINE, call.arg(3));
        let queued = lock(&kernel().io).started.iter().any(|(device, _)| *device == call.arg(0));
        if queued {
            lock(&kernel().io).started.push((call.arg(0), call.arg(1)));
        } else {
            lock(&kernel().io).started.push((call.arg(0), 0));
            start(call.arg(0), call.arg(1));
        }
        0
    }),
    routine("IoStartNextPacket", DISPATCH, |call| {
        let device = call.arg(0);
        guest::write(device + CURRENT, 0_u64);
        let next = {
            let mut io = lock(&kernel().io);
            let position = io.started.iter().position(|(known, packet)| *known == device && *packet != 0);
            let next = position.map(|position| io.started.remove(position).1);
            if next.is_none() {
                io.started.retain(|(known, _)| *known != device);
            }
            next
        };
        if let Some(packet) = next {
            start(device, packet);
        }
        0
    }),
];

/// Queues an entry unless the queue was free: then it is busy from now on. Whether it was queued.
fn insert(queue: u64, entry: u64, key: Option<u32>) -> bool {
    kernel().scheduler.change(|_| {
        if guest::read::<u8>(queue + BUSY) == 0 {
            guest::write(queue + BUSY, 1_u8);
            return false;
        }
        // Behind the last entry whose key is not higher.
        let mut before: u64 = guest::read(queue + LIST + 8);
        while key.is_some_and(|key| before != queue + LIST && guest::read::<u32>(before + KEY) > key) {
            before = guest::read(before + 8);
        }
        let after: u64 = guest::read(before);
        guest::write(entry, after);
        guest::write(entry + 8, before);
        guest::write(before, entry);
        guest::write(after + 8, entry);
        guest::write(entry + KEY, key.unwrap_or_default());
        guest::write(entry + INSERTED, 1_u8);
        true
    })
}

fn unlink(entry: u64) {
    let (after, before): (u64, u64) = (guest::read(entry), guest::read(entry + 8));
    guest::write(before, after);
    guest::write(after + 8, before);
    guest::write(entry + INSERTED, 0_u8);
}

/// Takes the first entry; an empty queue is free from now on.
fn remove(queue: u64) -> u64 {
    kernel().scheduler.change(|_| {
        let first: u64 = guest::read(queue + LIST);
        if first == queue + LIST {
            guest::write(queue + BUSY, 0_u8);
            return 0;
        }
        unlink(first);
        first
    })
}

/// Gives a packet to the driver's `StartIo`, at `DISPATCH_LEVEL`.
fn start(device: u64, packet: u64) {
    let driver: u64 = guest::read(device + devices::DRIVER);
    let routine: u64 = guest::read(driver + START_IO);
    guest::write(device + CURRENT, packet);
    let place: u64 = guest::read(packet + irp::CURRENT_STACK);
    guest::write(place + location::DEVICE, device);
    let old = irql::raise(DISPATCH);
    call_back("StartIo", DISPATCH, routine, &[device, packet]);
    irql::lower(old);
}
