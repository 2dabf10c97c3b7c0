//! Cancel-safe queues of callback data. The driver stores the operations and owns the lock; the routines here remove and
//! complete canceled ones.

use etw_types::NtStatus;
use nt_processor::cpu::thread;
use nt_processor::layout::{FLT_CALLBACK_DATA_QUEUE, IO_CSQ_IRP_CONTEXT};
use nt_processor::memory::{Code, Fault, GuestPtr, Opaque};
use nt_verifier::routine::{ANY, DISPATCH, FILTER_MANAGER, Outcome, done, fail, routines};
use windows_constants::device::IO_TYPE_CSQ_IRP_CONTEXT;

use super::state::{Data, InstanceId, with};

/// The flag of a queue that takes no more operations.
const DISABLED: u32 = 1;

type Queue = GuestPtr<FLT_CALLBACK_DATA_QUEUE>;

routines! { pub(super) ROUTINES;
    #[irql(ANY), module(FILTER_MANAGER)]
    fn FltCbdqInitialize(
        instance: InstanceId,
        queue: Queue,
        insert: GuestPtr<Code>,
        remove: GuestPtr<Code>,
        peek: GuestPtr<Code>,
        acquire: GuestPtr<Code>,
        release: GuestPtr<Code>,
        complete: GuestPtr<Code>,
    ) -> Outcome {
        queue.zero()?;
        queue.Instance().write(instance)?;
        queue.InsertIo().write(insert)?;
        queue.RemoveIo().write(remove)?;
        queue.PeekNextIo().write(peek)?;
        queue.Acquire().write(acquire)?;
        queue.Release().write(release)?;
        queue.CompleteCanceledIo().write(complete)?;
        done(())
    }

    #[irql(DISPATCH), module(FILTER_MANAGER)]
    fn FltCbdqEnable(queue: Queue) -> Result<(), Fault> {
        locked(queue, || queue.Flags().change(|flags| flags & !DISABLED).map(drop))
    }

    #[irql(DISPATCH), module(FILTER_MANAGER)]
    fn FltCbdqDisable(queue: Queue) -> Result<(), Fault> {
        locked(queue, || queue.Flags().change(|flags| flags | DISABLED).map(drop))
    }

    /// An operation that is canceled already is not inserted: the caller completes it.
    #[irql(DISPATCH), module(FILTER_MANAGER)]
    fn FltCbdqInsertIo(
        queue: Queue,
        data: Data,
        context: Option<GuestPtr<IO_CSQ_IRP_CONTEXT>>,
        insert_context: GuestPtr<Opaque>,
    ) -> Outcome<NtStatus> {
        let status = locked(queue, || {
            if queue.Flags().read()? & DISABLED != 0 {
                return Ok(NtStatus::FltCbdqDisabled);
            }
            if with(data, |operation| operation.is_canceled).unwrap_or(true) {
                return Ok(NtStatus::Cancelled);
            }
            if let Some(context) = context {
                context.write(IO_CSQ_IRP_CONTEXT { Type: IO_TYPE_CSQ_IRP_CONTEXT, Padding: 0, Irp: data.address(), Csq: queue.cast() })?;
            }
            let arguments = [queue.address(), data.address(), insert_context.address()];
            let status = NtStatus::from_int(call(queue.InsertIo(), &arguments)? as u32);
            if status.is_success() {
                with(data, |operation| operation.queue = queue);
            }
            Ok(status)
        })?;
        if status.is_success() { done(status) } else { fail(status) }
    }

    #[irql(DISPATCH), module(FILTER_MANAGER)]
    fn FltCbdqRemoveIo(queue: Queue, context: GuestPtr<IO_CSQ_IRP_CONTEXT>) -> Result<Option<Data>, Fault> {
        locked(queue, || {
            let Some(data) = Data::new(context.Irp().read()?).non_null() else { return Ok(None) };
            context.Irp().write(0)?;
            take(queue, data)
        })
    }

    #[irql(DISPATCH), module(FILTER_MANAGER)]
    fn FltCbdqRemoveNextIo(queue: Queue, context: GuestPtr<Opaque>) -> Result<Option<Data>, Fault> {
        locked(queue, || {
            let mut next = Data::NULL;
            loop {
                let arguments = [queue.address(), next.address(), context.address()];
                next = Data::new(call(queue.PeekNextIo(), &arguments)?);
                if next.is_null() {
                    return Ok(None);
                }
                if let Some(taken) = take(queue, next)? {
                    return Ok(Some(taken));
                }
            }
        })
    }
}

/// Calls a routine of the queue. Does not check the IRQL afterwards, because the lock routines change it.
fn call(routine: GuestPtr<GuestPtr<Code>>, arguments: &[u64]) -> Result<u64, Fault> {
    Ok(thread::call(routine.read()?.address(), arguments))
}

/// Runs `body` while the driver's lock of the queue is held.
fn locked<R>(queue: Queue, body: impl FnOnce() -> Result<R, Fault>) -> Result<R, Fault> {
    let irql = queue.Csq().cast::<u8>();
    call(queue.Acquire(), &[queue.address(), irql.address()])?;
    let result = body();
    call(queue.Release(), &[queue.address(), irql.read()?.into()])?;
    result
}

/// Removes an operation from its queue, unless it is being canceled. The lock is held.
fn take(queue: Queue, data: Data) -> Result<Option<Data>, Fault> {
    let was_queued = with(data, |operation| {
        let was_queued = operation.queue == queue;
        operation.queue = GuestPtr::NULL;
        was_queued
    });
    if was_queued != Some(true) {
        return Ok(None);
    }
    call(queue.RemoveIo(), &[queue.address(), data.address()])?;
    Ok(Some(data))
}

/// Removes a canceled operation from its queue and lets the driver complete it. Returns whether it was in one.
pub(super) fn cancel(data: Data) -> Result<bool, Fault> {
    let Some(queue) = with(data, |operation| operation.queue).and_then(GuestPtr::non_null) else { return Ok(false) };
    if locked(queue, || take(queue, data))?.is_none() {
        return Ok(false);
    }
    call(queue.CompleteCanceledIo(), &[queue.address(), data.address()])?;
    Ok(true)
}
