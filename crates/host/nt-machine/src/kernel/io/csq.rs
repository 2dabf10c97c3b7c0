//! Cancel-safe IRP queues. The driver stores the IRPs and owns the lock; the routines here remove and complete canceled
//! IRPs.

use etw_types::NtStatus;

use super::request::PENDING_RETURNED;
use crate::cpu::thread;
use crate::kernel::kernel;
use crate::kernel::sync::irql;
use crate::layout::{DEVICE_OBJECT, IO_CSQ, IO_CSQ_IRP_CONTEXT, IRP};
use crate::memory::{Code, Fault, GuestPtr};
use crate::routine::{ANY, Call, DISPATCH, Outcome, Routine, done, routine};

/// `IO_TYPE_CSQ_IRP_CONTEXT`, `IO_TYPE_CSQ`, `IO_TYPE_CSQ_EX`.
const CONTEXT: u32 = 1;
const PLAIN: u32 = 2;
const EXTENDED: u32 = 3;
/// The cancel routine of the IRPs in a queue. No driver can import it, because no export can have this name.
const CANCEL: &str = "(cancel-safe queue)";

type Queue = GuestPtr<IO_CSQ>;

pub(super) const ROUTINES: &[Routine] = &[
    // Arguments: queue, routines to insert, remove, peek, lock, unlock and complete.
    routine!("IoCsqInitialize", ANY, |call| initialize(call, PLAIN)),
    routine!("IoCsqInitializeEx", ANY, |call| initialize(call, EXTENDED)),
    // Arguments: queue, IRP, context of the IRP.
    routine!("IoCsqInsertIrp", DISPATCH, |call| insert(call, 0).map(drop)),
    // Arguments: as above, and a context for the insert routine.
    routine!("IoCsqInsertIrpEx", DISPATCH, |call| insert(call, call.arg(3))),
    // Arguments: queue, context for the peek routine.
    routine!("IoCsqRemoveNextIrp", DISPATCH, |call| {
        let queue: Queue = call.ptr(0);
        let held = Held::take(queue)?;
        let mut packet = peek(queue, GuestPtr::NULL, call.arg(1))?;
        while let Some(found) = packet.non_null() {
            if take_cancel_routine(found)?.is_some() {
                remove(queue, found)?;
                break;
            }
            // The IRP is being canceled: its cancel routine waits for the lock and will complete the IRP.
            packet = peek(queue, found, call.arg(1))?;
        }
        held.give_back()?;
        done(packet)
    }),
    // Arguments: queue, context of an IRP.
    routine!("IoCsqRemoveIrp", DISPATCH, |call| {
        let (queue, context) = (call.ptr::<IO_CSQ>(0), call.ptr::<IO_CSQ_IRP_CONTEXT>(1));
        let held = Held::take(queue)?;
        let packet = GuestPtr::<IRP>::new(context.Irp().read()?);
        let packet = match packet.non_null() {
            Some(packet) if take_cancel_routine(packet)?.is_some() => {
                remove(queue, packet)?;
                packet
            }
            _ => GuestPtr::NULL,
        };
        held.give_back()?;
        done(packet)
    }),
    // Arguments: device, IRP. Called with the cancel spin lock held.
    routine!(CANCEL, DISPATCH, |call| {
        let (_, packet) = (call.ptr::<DEVICE_OBJECT>(0), call.ptr::<IRP>(1));
        irql::lower(packet.CancelIrql().read()?);
        let Some(link) = link_of(packet) else { return done(()) };
        let link = GuestPtr::<IO_CSQ_IRP_CONTEXT>::new(link.read()?);
        let queue = if link.Type().read()? == CONTEXT { link.Csq().read()? } else { link.cast() };
        let held = Held::take(queue)?;
        remove(queue, packet)?;
        held.give_back()?;
        complete_canceled(queue, packet)
    }),
];

fn initialize(call: &Call, kind: u32) -> Outcome<NtStatus> {
    let queue: Queue = call.ptr(0);
    queue.Type().write(kind)?;
    queue.CsqInsertIrp().write(call.ptr(1))?;
    queue.CsqRemoveIrp().write(call.ptr(2))?;
    queue.CsqPeekNextIrp().write(call.ptr(3))?;
    queue.CsqAcquireLock().write(call.ptr(4))?;
    queue.CsqReleaseLock().write(call.ptr(5))?;
    queue.CsqCompleteCanceledIrp().write(call.ptr(6))?;
    queue.ReservePointer().write(0)?;
    Ok(NtStatus::Success)
}

/// Calls a routine of the queue. Does not check the IRQL afterwards, because the lock routines change it.
fn call(routine: GuestPtr<GuestPtr<Code>>, arguments: &[u64]) -> Result<u64, Fault> {
    Ok(thread::call(routine.read()?.address(), arguments))
}

/// The driver's lock of a queue, which is held. The lock protects the queue, so the previous IRQL is stored there.
struct Held(Queue);

impl Held {
    fn take(queue: Queue) -> Result<Self, Fault> {
        call(queue.CsqAcquireLock(), &[queue.address(), queue.ReservePointer().address()])?;
        Ok(Self(queue))
    }

    fn give_back(self) -> Result<(), Fault> {
        let irql = self.0.ReservePointer().read()? & 0xFF;
        call(self.0.CsqReleaseLock(), &[self.0.address(), irql]).map(drop)
    }
}

fn peek(queue: Queue, after: GuestPtr<IRP>, context: u64) -> Result<GuestPtr<IRP>, Fault> {
    call(queue.CsqPeekNextIrp(), &[queue.address(), after.address(), context]).map(GuestPtr::new)
}

/// Returns the member of an IRP that points to its context or its queue: `DriverContext[3]`.
fn link_of(packet: GuestPtr<IRP>) -> Option<GuestPtr<u64>> {
    packet.DriverContext().element(3)
}

fn remove(queue: Queue, packet: GuestPtr<IRP>) -> Result<(), Fault> {
    call(queue.CsqRemoveIrp(), &[queue.address(), packet.address()])?;
    let Some(place) = link_of(packet) else { return Ok(()) };
    let link = GuestPtr::<IO_CSQ_IRP_CONTEXT>::new(place.read()?);
    if let Some(link) = link.non_null()
        && link.Type().read()? == CONTEXT
    {
        link.Irp().write(0)?;
    }
    place.write(0)
}

/// Removes the cancel routine. Returns `None` if the IRP is being canceled and the routine was already removed.
fn take_cancel_routine(packet: GuestPtr<IRP>) -> Result<Option<u64>, Fault> {
    Ok(Some(packet.CancelRoutine().cast::<u64>().swap(0)?).filter(|routine| *routine != 0))
}

fn complete_canceled(queue: Queue, packet: GuestPtr<IRP>) -> Outcome {
    call(queue.CsqCompleteCanceledIrp(), &[queue.address(), packet.address()])?;
    Ok(())
}

fn insert(call_: &Call, insert_context: u64) -> Outcome<NtStatus> {
    let (queue, packet, context) = (call_.ptr::<IO_CSQ>(0), call_.ptr::<IRP>(1), call_.ptr::<IO_CSQ_IRP_CONTEXT>(2));
    let held = Held::take(queue)?;
    let link = context.non_null().map_or(queue.address(), GuestPtr::address);
    if let Some(place) = link_of(packet) {
        place.write(link)?;
    }
    if let Some(context) = context.non_null() {
        context.write(IO_CSQ_IRP_CONTEXT { Type: CONTEXT, Padding: 0, Irp: packet.address(), Csq: queue })?;
    }
    packet.CurrentStackLocation().read()?.Control().change(|control| control | PENDING_RETURNED)?;
    let result = call(queue.CsqInsertIrp(), &[queue.address(), packet.address(), insert_context])? as u32;
    let is_extended = queue.Type().read()? == EXTENDED;
    let status = if is_extended { NtStatus::from_int(result) } else { NtStatus::Success };
    if !status.is_success() {
        held.give_back()?;
        return Ok(status);
    }
    let routine = kernel().table.address(CANCEL).unwrap_or_default();
    packet.CancelRoutine().write(GuestPtr::new(routine))?;
    if packet.Cancel().read()? != 0 && take_cancel_routine(packet)?.is_some() {
        remove(queue, packet)?;
        held.give_back()?;
        complete_canceled(queue, packet)?;
        return Ok(status);
    }
    held.give_back()?;
    Ok(status)
}
