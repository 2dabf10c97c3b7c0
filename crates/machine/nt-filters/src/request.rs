//! The makers of operations: create one, start it, and wait for its end.

use etw_types::NtStatus;
use nt_kernel::sync::process;
use nt_kernel::{Kernel, call_back, kernel, lock};
use nt_processor::cpu::thread;
use nt_processor::layout::{FLT_OPERATION, FLT_RELATED_OBJECTS, IO_STATUS_BLOCK};
use nt_processor::memory::{Code, Fault, GuestPtr, OrStop as _};
use nt_verifier::routine::{Outcome, PASSIVE};
use nt_verifier::verify::{self, At, Rule};
use windows_constants::filter_manager::{
    FLTFL_CALLBACK_DATA_GENERATED_IO, FLTFL_CALLBACK_DATA_IRP_OPERATION, FLTFL_CALLBACK_DATA_SYSTEM_BUFFER,
};

use super::judge::{POST, PRE};
use super::state::{Data, File, InstanceId, Operation, Stage, state, with};
use super::{major, operation, queue};

/// A new operation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Request {
    pub(super) major: u8,
    pub(super) minor: u8,
    /// `SL_…`.
    pub(super) flags: u8,
    pub(super) file: File,
    pub(super) parameters: [u64; 6],
    /// Whether a program made the request.
    pub(super) is_user: bool,
    /// The instance that made the request. Only those below it receive it.
    pub(super) above: Option<InstanceId>,
}

/// The result of an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) block: IO_STATUS_BLOCK,
    /// Whether an instance received it.
    pub(super) is_reached: bool,
}

/// Creates the callback data of an operation.
pub(super) fn create(request: &Request) -> Outcome<Data> {
    let block: GuestPtr<FLT_OPERATION> = lock(&kernel().pool).try_new_object()?;
    let data = block.Data();
    let generated = if request.above.is_some() { FLTFL_CALLBACK_DATA_GENERATED_IO } else { 0 };
    let buffered = if major::is_buffered(request.major) { FLTFL_CALLBACK_DATA_SYSTEM_BUFFER } else { 0 };
    data.Flags().write(FLTFL_CALLBACK_DATA_IRP_OPERATION | generated | buffered)?;
    data.Thread().write(thread::object())?;
    data.Iopb().write(block.Iopb())?;
    data.RequestorMode().write(request.is_user.into())?;
    let iopb = block.Iopb();
    iopb.IrpFlags().write(major::irp_flags(request.major))?;
    iopb.MajorFunction().write(request.major)?;
    iopb.MinorFunction().write(request.minor)?;
    iopb.OperationFlags().write(request.flags)?;
    iopb.TargetFileObject().write(request.file)?;
    iopb.TargetInstance().write(request.above.unwrap_or_default())?;
    iopb.Parameters().write(request.parameters)?;
    let mut state = state();
    let objects = block.Objects();
    objects.Size().write(size_of::<FLT_RELATED_OBJECTS>() as u16)?;
    objects.Volume().write(state.volume)?;
    let below = state.path(request.above);
    let operation = Operation {
        major: request.major,
        file: request.file,
        process: process::current_id(),
        stage: Stage::Running,
        is_reached: !below.is_empty(),
        below,
        passed: Vec::new(),
        current: None,
        early: None,
        is_opened: false,
        is_open_canceled: false,
        cancel: GuestPtr::NULL,
        is_canceled: false,
        queue: GuestPtr::NULL,
        lists: Vec::new(),
        swapped: Vec::new(),
        on_status: Vec::new(),
        then: None,
    };
    state.operations.insert(data, operation);
    Ok(data)
}

/// Starts an operation and waits for its end.
pub(super) fn run(request: &Request) -> Outcome<Ended> {
    let data = create(request)?;
    operation::start(data)?;
    Ok(finish(data)?)
}

/// Frees the callback data of an operation.
pub(super) fn free(data: Data) {
    let Some(operation) = state().operations.remove(&data) else { return };
    let swapped = operation.swapped.into_iter().map(|(_, list)| list);
    let mut pool = lock(&kernel().pool);
    for list in operation.lists.into_iter().chain(swapped) {
        pool.free_object(list.address());
    }
    pool.free_object(data.address());
}

/// Waits for the end of an operation and frees it. Cancels it if the client does not wait any longer, and gives up some time
/// after that.
pub(super) fn finish(data: Data) -> Result<Ended, Fault> {
    let Kernel { config, scheduler, .. } = kernel();
    let is_done = || with(data, |operation| operation.stage == Stage::Done).unwrap_or(true);
    for patience in [config.cancel_after(), config.give_up_after()] {
        let deadline = scheduler.now() + patience;
        if scheduler.wait(Some(deadline), |_| is_done().then_some(())).is_some() {
            let is_reached = with(data, |operation| operation.is_reached).unwrap_or_default();
            let ended = Ended { block: data.IoStatus().read()?, is_reached };
            free(data);
            return Ok(ended);
        }
        cancel(data);
    }
    let pended = with(data, |operation| (operation.major, operation.stage, operation.current));
    if let Some((major, stage, current)) = pended {
        let (what, callback) = match stage {
            Stage::PostPended => (POST, current.map_or(GuestPtr::NULL, |current| current.callbacks.post)),
            _ => (PRE, current.map_or(GuestPtr::NULL, |current| current.callbacks.pre)),
        };
        let detail = format_args!("pends {} and never completes it, even after it was canceled", major::name(major));
        verify::find_at(Rule::RequestNever, Some(what), At::Code(callback.address()), detail);
    }
    // The driver may still use the callback data.
    let block = IO_STATUS_BLOCK { Status: NtStatus::Cancelled, Padding: 0, Information: 0 };
    Ok(Ended { block, is_reached: true })
}

/// Cancels an operation: calls the callback for this, if there is one.
pub(super) fn cancel(data: Data) -> bool {
    let callback = with(data, |operation| {
        operation.is_canceled = true;
        std::mem::take(&mut operation.cancel)
    });
    let Some(callback) = callback.and_then(GuestPtr::<Code>::non_null) else { return queue::cancel(data).or_stop() };
    call_back("cancel callback", PASSIVE, callback, &[data.address()]);
    true
}
