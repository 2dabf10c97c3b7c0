//! Operations that minifilters pend, cancel or change; and work items.

use etw_types::NtStatus;
use nt_kernel::sync::event;
use nt_kernel::sync::waiters::Waitable;
use nt_kernel::sync::worker::submit;
use nt_kernel::{call_back, kernel, lock, pool};
use nt_processor::cpu::thread;
use nt_processor::layout::{FLT_RELATED_OBJECTS, FLT_WORKITEM};
use nt_processor::memory::{Code, Fault, GuestPtr, Opaque};
use nt_verifier::routine::{ANY, APC, DISPATCH, FILTER_MANAGER, Ignored, Out, Outcome, PASSIVE, done, fail, routines};
use nt_verifier::verify::{self, Rule};
use windows_constants::filter_manager::{
    FLT_POSTOP_FINISHED_PROCESSING, FLT_PREOP_COMPLETE, FLT_PREOP_SUCCESS_NO_CALLBACK, FLT_PREOP_SUCCESS_WITH_CALLBACK,
    FLTFL_CALLBACK_DATA_DIRTY, FLTFL_POST_OPERATION_DRAINING,
};

use super::operation;
use super::request;
use super::state::{Data, Stage, with};

/// The size of a work item in bytes, which only the filter manager knows.
const SIZE: u64 = 0x40;
/// The tags of work items for operations and for other work.
const DEFERRED: [u8; 4] = *b"FMdw";
const GENERIC: [u8; 4] = *b"FMgw";

type Item = GuestPtr<FLT_WORKITEM>;

routines! { pub(super) ROUTINES;
    /// Does not wait for an operation that was canceled before.
    #[irql(APC), module(FILTER_MANAGER), keeps_nothing]
    fn FltCancellableWaitForSingleObject(
        object: Waitable,
        timeout: GuestPtr<i64>,
        data: Data,
    ) -> Result<NtStatus, Fault> {
        match with(data, |operation| operation.is_canceled) {
            Some(true) => Ok(NtStatus::Cancelled),
            _ => event::wait(&[object], true, timeout),
        }
    }

    /// The callback gets the status of the file system. Only a pre-operation callback can request that.
    #[irql(APC), module(FILTER_MANAGER), fails(NtStatus::InsufficientResources), keeps_nothing]
    fn FltRequestOperationStatusCallback(data: Data, callback: GuestPtr<Code>, context: GuestPtr<Opaque>) -> Outcome {
        let is_requested = with(data, |operation| {
            let current = operation.current.filter(|_| operation.stage == Stage::Pre);
            operation.on_status.extend(current.map(|current| (current, callback, context.address())));
            current.is_some()
        });
        if is_requested == Some(true) { done(()) } else { fail(NtStatus::InvalidParameter) }
    }

    #[irql(DISPATCH), module(FILTER_MANAGER)]
    fn FltCompletePendedPreOperation(data: Data, status: i32, context: GuestPtr<Opaque>) -> Result<(), Fault> {
        let irql = thread::irql();
        if status != FLT_PREOP_COMPLETE && irql > APC {
            let detail = format_args!("resumes an operation at IRQL {irql}, allowed up to 1 unless it is complete");
            verify::find(Rule::IrqlTooHigh, detail);
        }
        let status = if matches!(status, FLT_PREOP_SUCCESS_WITH_CALLBACK | FLT_PREOP_SUCCESS_NO_CALLBACK | FLT_PREOP_COMPLETE) {
            status
        } else {
            verify::find(Rule::BadArgument, format_args!("resumes an operation with the callback status {status}"));
            FLT_PREOP_SUCCESS_NO_CALLBACK
        };
        operation::resume_pre(data, status, context.address())
    }

    #[irql(DISPATCH), module(FILTER_MANAGER)]
    fn FltCompletePendedPostOperation(data: Data) -> Result<(), Fault> {
        operation::resume_post(data)
    }

    #[irql(ANY), module(FILTER_MANAGER)]
    fn FltDoCompletionProcessingWhenSafe(
        data: Data,
        objects: GuestPtr<FLT_RELATED_OBJECTS>,
        context: GuestPtr<Opaque>,
        flags: u32,
        callback: GuestPtr<Code>,
        place: Out<i32>,
    ) -> Result<bool, Fault> {
        let is_in_post = with(data, |operation| operation.stage == Stage::Post);
        if u64::from(flags) & FLTFL_POST_OPERATION_DRAINING != 0 || is_in_post != Some(true) {
            let why = if is_in_post == Some(true) { "while its instance is drained" } else { "outside of a post-operation callback" };
            verify::find(Rule::RequestMisuse, format_args!("posts the completion of an operation {why}"));
            place.set(FLT_POSTOP_FINISHED_PROCESSING)?;
            return Ok(false);
        }
        let arguments = [data.address(), objects.address(), context.address(), flags.into()];
        place.set(operation::call_when_safe(data, callback, arguments))?;
        Ok(true)
    }

    #[irql(ANY), module(FILTER_MANAGER)]
    fn FltSetCallbackDataDirty(data: Data) -> Result<(), Fault> {
        data.Flags().change(|flags| flags | FLTFL_CALLBACK_DATA_DIRTY).map(drop)
    }

    #[irql(ANY), module(FILTER_MANAGER)]
    fn FltClearCallbackDataDirty(data: Data) -> Result<(), Fault> {
        data.Flags().change(|flags| flags & !FLTFL_CALLBACK_DATA_DIRTY).map(drop)
    }

    #[irql(ANY), module(FILTER_MANAGER)]
    fn FltIsCallbackDataDirty(data: Data) -> Result<bool, Fault> {
        Ok(data.Flags().read()? & FLTFL_CALLBACK_DATA_DIRTY != 0)
    }

    /// Fails if the operation is canceled already: the caller completes it then.
    #[irql(DISPATCH), module(FILTER_MANAGER)]
    fn FltSetCancelCompletion(data: Data, callback: GuestPtr<Code>) -> Outcome {
        let is_set = with(data, |operation| {
            if !operation.is_canceled {
                operation.cancel = callback;
            }
            !operation.is_canceled
        });
        if is_set == Some(true) { done(()) } else { fail(NtStatus::Cancelled) }
    }

    #[irql(ANY), module(FILTER_MANAGER)]
    fn FltClearCancelCompletion(data: Data) -> NtStatus {
        match with(data, |operation| std::mem::take(&mut operation.cancel)) {
            Some(callback) if !callback.is_null() => NtStatus::Success,
            _ => NtStatus::Cancelled,
        }
    }

    #[irql(DISPATCH), module(FILTER_MANAGER)]
    fn FltCancelIo(data: Data) -> bool {
        request::cancel(data)
    }

    #[irql(ANY), module(FILTER_MANAGER)]
    fn FltIsIoCanceled(data: Data) -> bool {
        with(data, |operation| operation.is_canceled).unwrap_or_default()
    }

    #[irql(DISPATCH), module(FILTER_MANAGER), fails_with_zero]
    fn FltAllocateDeferredIoWorkItem(&call) -> Option<Item> {
        lock(&kernel().pool).allocate(SIZE, DEFERRED, false, call.from).map(GuestPtr::new)
    }

    #[irql(DISPATCH), module(FILTER_MANAGER), fails_with_zero]
    fn FltAllocateGenericWorkItem(&call) -> Option<Item> {
        lock(&kernel().pool).allocate(SIZE, GENERIC, false, call.from).map(GuestPtr::new)
    }

    #[irql(DISPATCH), module(FILTER_MANAGER)]
    fn FltFreeDeferredIoWorkItem(item: Item) {
        free(item);
    }

    #[irql(DISPATCH), module(FILTER_MANAGER)]
    fn FltFreeGenericWorkItem(item: Item) {
        free(item);
    }

    /// The operation must be one that the caller has pended or pends with its return value.
    #[irql(DISPATCH), module(FILTER_MANAGER), fails(NtStatus::FltDeletingObject), keeps_nothing]
    fn FltQueueDeferredIoWorkItem(
        item: Item,
        data: Data,
        routine: GuestPtr<Code>,
        _queue: Ignored<i32>,
        context: GuestPtr<Opaque>,
    ) -> NtStatus {
        queue(item, routine, data.address(), context)
    }

    #[irql(DISPATCH), module(FILTER_MANAGER), fails(NtStatus::FltDeletingObject), keeps_nothing]
    fn FltQueueGenericWorkItem(
        item: Item,
        object: GuestPtr<Opaque>,
        routine: GuestPtr<Code>,
        _queue: Ignored<i32>,
        context: GuestPtr<Opaque>,
    ) -> NtStatus {
        queue(item, routine, object.address(), context)
    }
}

fn queue(item: Item, routine: GuestPtr<Code>, object: u64, context: GuestPtr<Opaque>) -> NtStatus {
    submit(item.address(), move || {
        call_back("work item", PASSIVE, routine, &[item.address(), object, context.address()]);
    });
    NtStatus::Success
}

fn free(item: Item) {
    if kernel().scheduler.look(|state| state.has_work(item.address())) {
        verify::find(Rule::UseAfterFree, format_args!("frees a work item while it is queued"));
    }
    pool::free(item.address(), None);
}
