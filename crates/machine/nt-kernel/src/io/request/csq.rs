//! Cancel-safe IRP queues. The driver stores the IRPs and owns the lock; the routines here remove and complete canceled
//! IRPs.

use etw_types::NtStatus;
use nt_processor::cpu::thread;
use nt_processor::layout::{DEVICE_OBJECT, IO_CSQ, IO_CSQ_IRP_CONTEXT, IRP};
use nt_processor::memory::{Code, Fault, GuestPtr, Opaque};
use nt_verifier::routine::{ANY, DISPATCH, Ignored, Outcome, routines};
use windows_constants::device::{IO_TYPE_CSQ, IO_TYPE_CSQ_EX, IO_TYPE_CSQ_IRP_CONTEXT};
use windows_constants::request::SL_PENDING_RETURNED;

use crate::kernel;

/// The cancel routine of the IRPs in a queue. No driver can import it, because no export can have this name.
const CANCEL: &str = "(cancel-safe queue)";

type Queue = GuestPtr<IO_CSQ>;

routines! { pub(super) ROUTINES;
    #[irql(ANY)]
    fn IoCsqInitialize(
        queue: Queue,
        insert: GuestPtr<Code>,
        remove: GuestPtr<Code>,
        peek: GuestPtr<Code>,
        acquire: GuestPtr<Code>,
        release: GuestPtr<Code>,
        complete: GuestPtr<Code>,
    ) -> Outcome {
        initialize(queue, IO_TYPE_CSQ, [insert, remove, peek, acquire, release, complete])
    }

    #[irql(ANY)]
    fn IoCsqInitializeEx(
        queue: Queue,
        insert: GuestPtr<Code>,
        remove: GuestPtr<Code>,
        peek: GuestPtr<Code>,
        acquire: GuestPtr<Code>,
        release: GuestPtr<Code>,
        complete: GuestPtr<Code>,
    ) -> Outcome {
        initialize(queue, IO_TYPE_CSQ_EX, [insert, remove, peek, acquire, release, complete])
    }

    #[irql(DISPATCH)]
    fn IoCsqInsertIrp(
        queue: Queue,
        packet: GuestPtr<IRP>,
        context: Option<GuestPtr<IO_CSQ_IRP_CONTEXT>>,
    ) -> Result<(), Fault> {
        insert(queue, packet, context, 0).map(drop)
    }

    /// The last argument is for the driver's insert routine.
    #[irql(DISPATCH)]
    fn IoCsqInsertIrpEx(
        queue: Queue,
        packet: GuestPtr<IRP>,
        context: Option<GuestPtr<IO_CSQ_IRP_CONTEXT>>,
        insert_context: GuestPtr<Opaque>,
    ) -> Result<NtStatus, Fault> {
        insert(queue, packet, context, insert_context.address())
    }

    /// The context is for the driver's peek routine.
    #[irql(DISPATCH)]
    fn IoCsqRemoveNextIrp(queue: Queue, context: GuestPtr<Opaque>) -> Result<GuestPtr<IRP>, Fault> {
        let held = Held::take(queue)?;
        let mut packet = peek(queue, GuestPtr::NULL, context.address())?;
        while let Some(found) = packet.non_null() {
            if take_cancel_routine(found)?.is_some() {
                remove(queue, found)?;
                break;
            }
            // The IRP is being canceled: its cancel routine waits for the lock and will complete the IRP.
            packet = peek(queue, found, context.address())?;
        }
        held.give_back()?;
        Ok(packet)
    }

    #[irql(DISPATCH)]
    fn IoCsqRemoveIrp(queue: Queue, context: GuestPtr<IO_CSQ_IRP_CONTEXT>) -> Result<Option<GuestPtr<IRP>>, Fault> {
        let held = Held::take(queue)?;
        let packet = GuestPtr::<IRP>::new(context.Irp().read()?);
        let packet = match packet.non_null() {
            Some(packet) if take_cancel_routine(packet)?.is_some() => {
                remove(queue, packet)?;
                Some(packet)
            }
            _ => None,
        };
        held.give_back()?;
        Ok(packet)
    }

    /// Called with the cancel spin lock held.
    #[irql(DISPATCH), named(CANCEL)]
    fn cancel(_device: Ignored<GuestPtr<DEVICE_OBJECT>>, packet: GuestPtr<IRP>) -> Result<(), Fault> {
        super::cancel::release(packet.CancelIrql().read()?);
        let Some(link) = link_of(packet) else { return Ok(()) };
        let link = GuestPtr::<IO_CSQ_IRP_CONTEXT>::new(link.read()?);
        let queue = if link.Type().read()? == IO_TYPE_CSQ_IRP_CONTEXT { link.Csq().read()? } else { link.cast() };
        let held = Held::take(queue)?;
        remove(queue, packet)?;
        held.give_back()?;
        complete_canceled(queue, packet)
    }
}

/// The driver's routines to insert, remove, peek, lock, unlock and complete.
type Routines = [GuestPtr<Code>; 6];

fn initialize(queue: Queue, kind: u32, routines: Routines) -> Outcome {
    let [insert, remove, peek, acquire, release, complete] = routines;
    queue.Type().write(kind)?;
    queue.CsqInsertIrp().write(insert)?;
    queue.CsqRemoveIrp().write(remove)?;
    queue.CsqPeekNextIrp().write(peek)?;
    queue.CsqAcquireLock().write(acquire)?;
    queue.CsqReleaseLock().write(release)?;
    queue.CsqCompleteCanceledIrp().write(complete)?;
    queue.ReservePointer().write(0)?;
    Ok(())
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
        && link.Type().read()? == IO_TYPE_CSQ_IRP_CONTEXT
    {
        link.Irp().write(0)?;
    }
    place.write(0)
}

/// Removes the cancel routine. Returns `None` if the IRP is being canceled and the routine was already removed.
fn take_cancel_routine(packet: GuestPtr<IRP>) -> Result<Option<u64>, Fault> {
    Ok(Some(packet.CancelRoutine().cast::<u64>().swap(0)?).filter(|routine| *routine != 0))
}

fn complete_canceled(queue: Queue, packet: GuestPtr<IRP>) -> Result<(), Fault> {
    call(queue.CsqCompleteCanceledIrp(), &[queue.address(), packet.address()]).map(drop)
}

fn insert(
    queue: Queue,
    packet: GuestPtr<IRP>,
    context: Option<GuestPtr<IO_CSQ_IRP_CONTEXT>>,
    insert_context: u64,
) -> Result<NtStatus, Fault> {
    let held = Held::take(queue)?;
    let link = context.map_or(queue.address(), GuestPtr::address);
    if let Some(place) = link_of(packet) {
        place.write(link)?;
    }
    if let Some(context) = context {
        context.write(IO_CSQ_IRP_CONTEXT {
            Type: IO_TYPE_CSQ_IRP_CONTEXT,
            Padding: 0,
            Irp: packet.address(),
            Csq: queue,
        })?;
    }
    packet.CurrentStackLocation().read()?.Control().change(|control| control | SL_PENDING_RETURNED)?;
    let result = call(queue.CsqInsertIrp(), &[queue.address(), packet.address(), insert_context])? as u32;
    let is_extended = queue.Type().read()? == IO_TYPE_CSQ_EX;
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
