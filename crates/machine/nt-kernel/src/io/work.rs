//! Work items.

use nt_processor::layout::{DEVICE_OBJECT, IO_WORKITEM, WORK_QUEUE_ITEM};
use nt_processor::memory::{Code, Fault, GuestPtr, Opaque};
use nt_verifier::routine::{ANY, DISPATCH, Ignored, PASSIVE, routines};
use nt_verifier::verify::{self, Rule};

use crate::io::device::Held;
use crate::pool;
use crate::sync::worker::submit;
use crate::{call_back, kernel, lock};

const SIZE: u64 = size_of::<IO_WORKITEM>() as u64;

routines! { pub(super) ROUTINES;
    #[irql(DISPATCH), fails_with_zero]
    fn IoAllocateWorkItem(&call, device: GuestPtr<DEVICE_OBJECT>) -> Result<Option<GuestPtr<IO_WORKITEM>>, Fault> {
        let memory = lock(&kernel().pool).allocate(SIZE, *b"IoWk", false, call.from);
        let Some(item) = memory.map(GuestPtr::<IO_WORKITEM>::new) else { return Ok(None) };
        item.Object().write(device.cast())?;
        Ok(Some(item))
    }

    #[irql(ANY)]
    fn IoSizeofWorkItem() -> u32 {
        SIZE as u32
    }

    #[irql(ANY)]
    fn IoInitializeWorkItem(device: GuestPtr<DEVICE_OBJECT>, item: GuestPtr<IO_WORKITEM>) -> Result<(), Fault> {
        item.zero()?;
        item.Object().write(device.cast())
    }

    #[irql(ANY)]
    fn IoUninitializeWorkItem(_item: Ignored<GuestPtr<IO_WORKITEM>>) {}

    #[irql(DISPATCH)]
    fn IoFreeWorkItem(item: GuestPtr<IO_WORKITEM>) {
        if kernel().scheduler.look(|state| state.has_work(item.address())) {
            verify::find(Rule::UseAfterFree, format_args!("frees a work item while it is queued"));
        }
        pool::free(item.address(), None);
    }

    #[irql(DISPATCH)]
    fn IoQueueWorkItem(
        item: GuestPtr<IO_WORKITEM>,
        routine: GuestPtr<Code>,
        _queue: Ignored<i32>,
        context: GuestPtr<Opaque>,
    ) -> Result<(), Fault> {
        queue_io(item, routine, context, false)
    }

    #[irql(DISPATCH)]
    fn IoQueueWorkItemEx(
        item: GuestPtr<IO_WORKITEM>,
        routine: GuestPtr<Code>,
        _queue: Ignored<i32>,
        context: GuestPtr<Opaque>,
    ) -> Result<(), Fault> {
        queue_io(item, routine, context, true)
    }

    #[irql(DISPATCH)]
    fn ExQueueWorkItem(item: GuestPtr<WORK_QUEUE_ITEM>, _queue: Ignored<i32>) -> Result<(), Fault> {
        let WORK_QUEUE_ITEM { WorkerRoutine: target, Parameter: context, .. } = item.read()?;
        submit(item.address(), move || {
            call_back("work item", PASSIVE, target, &[context]);
        });
        Ok(())
    }

    #[irql(ANY)]
    fn ExInitializeWorkItem(
        item: GuestPtr<WORK_QUEUE_ITEM>,
        routine: GuestPtr<Code>,
        context: GuestPtr<Opaque>,
    ) -> Result<(), Fault> {
        item.zero()?;
        item.WorkerRoutine().write(routine)?;
        item.Parameter().write(context.address())
    }
}

fn queue_io(
    item: GuestPtr<IO_WORKITEM>,
    target: GuestPtr<Code>,
    context: GuestPtr<Opaque>,
    extended: bool,
) -> Result<(), Fault> {
    let object = item.Object().read()?;
    // As in Windows, a queued work item has a reference to its device. It is released after the routine has returned.
    let held = Held::new(object);
    submit(item.address(), move || {
        let arguments = [object.address(), context.address(), if extended { item.address() } else { 0 }];
        call_back("work item", PASSIVE, target, &arguments);
        drop(held);
    });
    Ok(())
}
