//! Operations: their way down through the pre-operation callbacks to the file system, and up through the post-operation
//! callbacks.
//!
//! An operation is not bound to a thread. If a callback pends it, the thread that resumes it takes it further, as in
//! Windows.

use nt_kernel::sync::worker::submit;
use nt_kernel::{Kernel, call_back, kernel, lock};
use nt_processor::cpu::thread;
use nt_processor::layout::{FLT_IO_PARAMETER_BLOCK, FLT_OPERATION};
use nt_processor::memory::{Code, Fault, GuestPtr, OrStop as _};
use nt_verifier::routine::{APC, DISPATCH, PASSIVE};
use nt_verifier::verify::{self, At, Rule};
use windows_constants::filter_manager::{
    FLT_POSTOP_FINISHED_PROCESSING, FLT_POSTOP_MORE_PROCESSING_REQUIRED, FLT_PREOP_PENDING,
    FLT_PREOP_SUCCESS_WITH_CALLBACK, FLTFL_CALLBACK_DATA_DIRTY, FLTFL_CALLBACK_DATA_DRAINING_IO,
    FLTFL_CALLBACK_DATA_POST_OPERATION, FLTFL_POST_OPERATION_DRAINING,
};
use windows_constants::request::{IRP_MJ_READ, IRP_MJ_WRITE};

use super::file_system;
use super::judge::{self, Next, POST, PRE};
use super::major;
use super::state::{Callbacks, Current, Data, FilterId, InstanceId, Passed, Stage, changed, state, with};

fn block(data: Data) -> GuestPtr<FLT_OPERATION> {
    data.cast()
}

/// Starts an operation, again or for the first time.
pub(super) fn start(data: Data) -> Result<(), Fault> {
    let iopb = data.Iopb().read()?;
    let major = iopb.MajorFunction().read()?;
    let file = iopb.TargetFileObject().read()?;
    with(data, |operation| (operation.major, operation.file, operation.stage) = (major, file, Stage::Running));
    descend(data)
}

/// Returns the next instance with callbacks for an operation.
fn next(data: Data) -> Option<(InstanceId, FilterId, Callbacks)> {
    let state = &mut *state();
    let operation = state.operations.get_mut(&data)?;
    while let Some(object) = operation.below.pop_front() {
        let Some(instance) = state.instances.iter().find(|instance| instance.object == object) else { continue };
        let Some(filter) = state.filters.get(&instance.filter) else { continue };
        if let Some(callbacks) = filter.operations.get(&operation.major) {
            return Some((object, instance.filter, *callbacks));
        }
    }
    None
}

/// Sets the objects that a callback receives.
fn prepare(data: Data, instance: InstanceId, filter: FilterId) -> Result<(), Fault> {
    let iopb = data.Iopb().read()?;
    let objects = block(data).Objects();
    iopb.TargetInstance().write(instance)?;
    objects.Filter().write(filter)?;
    objects.Instance().write(instance)?;
    objects.FileObject().write(iopb.TargetFileObject().read()?)
}

/// Takes an operation down until it is pended or complete.
fn descend(data: Data) -> Result<(), Fault> {
    while let Some((instance, filter, callbacks)) = next(data) {
        prepare(data, instance, filter)?;
        let parameters = data.Iopb().read()?.read()?;
        let current = Current { instance, filter, callbacks, parameters };
        with(data, |operation| (operation.current, operation.stage) = (Some(current), Stage::Pre));
        let context = block(data).CompletionContext();
        context.write(0)?;
        let status = match callbacks.pre.non_null() {
            Some(pre) => {
                let arguments = [data.address(), block(data).Objects().address(), context.address()];
                call_back(PRE, PASSIVE, pre, &arguments) as i32
            }
            None => FLT_PREOP_SUCCESS_WITH_CALLBACK,
        };
        let context = if status == FLT_PREOP_PENDING { 0 } else { context.read()? };
        match after_pre(data, &current, status, context)? {
            Next::Down { .. } => {}
            Next::Up => return ascend(data),
            Next::Wait => return Ok(()),
        }
    }
    let is_opened = file_system::perform(data)?;
    let callbacks = with(data, |operation| {
        operation.is_opened |= is_opened;
        std::mem::take(&mut operation.on_status)
    });
    for (current, callback, context) in callbacks.unwrap_or_default() {
        prepare(data, current.instance, current.filter)?;
        let status = data.IoStatus().Status().read()?.as_int();
        let arguments = [block(data).Objects().address(), data.Iopb().read()?.address(), status.into(), context];
        call_back("operation status callback", PASSIVE, callback, &arguments);
    }
    ascend(data)
}

/// Handles what a pre-operation callback returned, or the driver when it resumed the operation.
fn after_pre(data: Data, current: &Current, status: i32, context: u64) -> Result<Next, Fault> {
    let major = current.parameters.MajorFunction;
    let next = judge::pre(current, major, status, context, data.IoStatus().read()?);
    match next {
        Next::Wait => {
            // The driver may have resumed it already.
            let early = with(data, |operation| {
                let early = operation.early.take();
                if early.is_none() {
                    operation.stage = Stage::PrePended;
                }
                early
            });
            return match early.flatten() {
                Some((status, context)) if status != FLT_PREOP_PENDING => after_pre(data, current, status, context),
                _ => Ok(Next::Wait),
            };
        }
        Next::Up => {}
        Next::Down { callback, is_synchronized } => {
            keep_or_undo_changes(data, current)?;
            if callback {
                let Current { instance, filter, callbacks, parameters } = *current;
                let passed = Passed { instance, filter, post: callbacks.post, context, parameters, is_synchronized };
                with(data, |operation| operation.passed.push(passed));
            }
        }
    }
    with(data, |operation| operation.stage = Stage::Running);
    Ok(next)
}

/// Keeps the changes of the parameters that a callback announced, and undoes others.
fn keep_or_undo_changes(data: Data, current: &Current) -> Result<(), Fault> {
    let iopb = data.Iopb().read()?;
    let is_dirty = data.Flags().change(|flags| flags & !FLTFL_CALLBACK_DATA_DIRTY)? & FLTFL_CALLBACK_DATA_DIRTY != 0;
    let before = &current.parameters;
    let after = &iopb.read()?;
    if is_dirty {
        // The filter manager frees the MDL of a buffer that a minifilter swapped in.
        let list = |of: &FLT_IO_PARAMETER_BLOCK| of.Parameters.get(major::list_at(of.MajorFunction)?).copied();
        if let Some(list) = list(after).filter(|new| *new != 0 && list(before) != Some(*new)) {
            with(data, |operation| operation.swapped.push((current.instance, GuestPtr::new(list))));
        }
    } else if judge::is_changed(before, after) {
        judge::changed_silently(current, before.MajorFunction);
        iopb.write(*before)?;
    }
    Ok(())
}

/// Resumes an operation that a pre-operation callback has pended.
pub(super) fn resume_pre(data: Data, status: i32, context: u64) -> Result<(), Fault> {
    let resumed = with(data, |operation| match operation.stage {
        Stage::Pre if operation.early.is_none() => {
            operation.early = Some((status, context));
            Some(None)
        }
        Stage::PrePended => {
            operation.stage = Stage::Running;
            Some(operation.current)
        }
        _ => None,
    });
    match resumed.flatten() {
        None => {
            verify::find(Rule::RequestMisuse, format_args!("completes an operation that is not pended"));
            Ok(())
        }
        // The callback has not returned yet, and its thread takes the operation further.
        Some(None) => Ok(()),
        Some(Some(current)) => match after_pre(data, &current, status, context)? {
            Next::Down { .. } => descend(data),
            Next::Up => ascend(data),
            Next::Wait => Ok(()),
        },
    }
}

/// Takes an operation up until it is pended or ends.
fn ascend(data: Data) -> Result<(), Fault> {
    while let Some(passed) = with(data, |operation| operation.passed.pop()).flatten() {
        let Passed { instance, filter, post, context, parameters, is_synchronized } = passed;
        let callbacks = Callbacks { pre: GuestPtr::NULL, post };
        let current = Current { instance, filter, callbacks, parameters };
        with(data, |operation| (operation.current, operation.stage) = (Some(current), Stage::Post));
        data.Iopb().read()?.write(parameters)?;
        prepare(data, instance, filter)?;
        data.Flags().change(|flags| flags | FLTFL_CALLBACK_DATA_POST_OPERATION)?;
        // Reads and writes are completed by the storage stack, whose completion routines run at DISPATCH_LEVEL.
        let is_transfer = matches!(parameters.MajorFunction, IRP_MJ_READ | IRP_MJ_WRITE);
        let irql = if is_transfer && !is_synchronized { DISPATCH } else { PASSIVE };
        let arguments = [data.address(), block(data).Objects().address(), context, 0];
        let status = call_back(POST, irql, post, &arguments) as i32;
        judge::post(post.address(), parameters.MajorFunction, status);
        if status == FLT_POSTOP_MORE_PROCESSING_REQUIRED {
            let resumes = with(data, |operation| {
                let is_early = operation.early.take().is_some();
                operation.stage = if is_early { Stage::Running } else { Stage::PostPended };
                is_early
            });
            if resumes != Some(true) {
                return Ok(());
            }
        }
        check_open(data, post)?;
    }
    end(data)
}

/// Checks that a minifilter that failed a create has canceled the open.
fn check_open(data: Data, post: GuestPtr<Code>) -> Result<(), Fault> {
    let is_open = with(data, |operation| operation.is_opened && !operation.is_open_canceled);
    if is_open == Some(true) && data.IoStatus().Status().read()?.is_error() {
        let detail = format_args!("fails a create that the file system has completed, without FltCancelFileOpen");
        verify::find_at(Rule::RequestMisuse, Some(POST), At::Code(post.address()), detail);
        cancel_open(data);
    }
    Ok(())
}

/// Closes the file that a create has opened.
pub(super) fn cancel_open(data: Data) {
    let file = with(data, |operation| {
        let is_open = operation.is_opened && !operation.is_open_canceled;
        operation.is_open_canceled = true;
        is_open.then_some(operation.file)
    });
    if let Some(file) = file.flatten() {
        file_system::clean_up(file);
        file_system::close(file);
    }
}

/// Resumes an operation that a post-operation callback has pended.
pub(super) fn resume_post(data: Data) -> Result<(), Fault> {
    let resumed = with(data, |operation| match operation.stage {
        Stage::Post if operation.early.is_none() => {
            operation.early = Some((0, 0));
            Some(None)
        }
        Stage::PostPended => {
            operation.stage = Stage::Running;
            Some(operation.current)
        }
        _ => None,
    });
    match resumed.flatten() {
        None => {
            verify::find(Rule::RequestMisuse, format_args!("completes an operation that is not pended"));
            Ok(())
        }
        Some(None) => Ok(()),
        Some(Some(current)) => {
            check_open(data, current.callbacks.post)?;
            ascend(data)
        }
    }
}

fn end(data: Data) -> Result<(), Fault> {
    let result = data.IoStatus().read()?;
    let then = with(data, |operation| {
        operation.stage = Stage::Done;
        operation.current = None;
        operation.then.take()
    });
    changed();
    if let Some(then) = then.flatten() {
        then(result);
    }
    Ok(())
}

/// Calls a post-operation callback when that is safe: now at a low IRQL, otherwise in a worker thread. Returns the
/// status for the caller.
pub(super) fn call_when_safe(data: Data, callback: GuestPtr<Code>, arguments: [u64; 4]) -> i32 {
    if thread::irql() <= APC {
        return call_back(POST, thread::irql(), callback, &arguments) as i32;
    }
    submit(data.address(), move || {
        if call_back(POST, PASSIVE, callback, &arguments) as i32 != FLT_POSTOP_MORE_PROCESSING_REQUIRED {
            resume_post(data).or_stop();
        }
    });
    FLT_POSTOP_MORE_PROCESSING_REQUIRED
}

/// Drains the operations that an instance which goes has passed on: its post-operation callbacks are called early, with
/// a copy of the callback data. Returns the operations that it still pends.
pub(super) fn drain(instance: InstanceId) -> Result<Vec<(u8, Current)>, Fault> {
    let Kernel { pool, .. } = kernel();
    let mut pended = Vec::new();
    let mut due = Vec::new();
    for (data, operation) in state().operations.iter_mut() {
        operation.below.retain(|below| *below != instance);
        due.extend(operation.passed.extract_if(.., |passed| passed.instance == instance).map(|passed| (*data, passed)));
        let is_pended = matches!(operation.stage, Stage::PrePended | Stage::PostPended);
        let current = operation.current.filter(|current| is_pended && current.instance == instance);
        pended.extend(current.map(|current| (operation.major, current)));
    }
    for (data, passed) in due {
        let copy: GuestPtr<FLT_OPERATION> = lock(pool).new_object();
        copy.write(block(data).read()?)?;
        copy.Iopb().write(passed.parameters)?;
        copy.Data().Iopb().write(copy.Iopb())?;
        copy.Data()
            .Flags()
            .change(|flags| flags | FLTFL_CALLBACK_DATA_DRAINING_IO | FLTFL_CALLBACK_DATA_POST_OPERATION)?;
        prepare(copy.Data(), passed.instance, passed.filter)?;
        let arguments = [copy.address(), copy.Objects().address(), passed.context, FLTFL_POST_OPERATION_DRAINING];
        let status = call_back(POST, PASSIVE, passed.post, &arguments) as i32;
        if status != FLT_POSTOP_FINISHED_PROCESSING {
            let detail = format_args!("returns {status} while its instance is drained: it must finish the processing");
            verify::find_at(Rule::RequestMisuse, Some(POST), At::Code(passed.post.address()), detail);
        }
        lock(pool).free_object(copy.address());
    }
    Ok(pended)
}
