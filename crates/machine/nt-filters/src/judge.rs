//! What a callback may return for an operation, as the pages of `PFLT_PRE_OPERATION_CALLBACK` and
//! `PFLT_POST_OPERATION_CALLBACK` state it. Every operation of this host is based on an IRP.

use etw_types::NtStatus;
use nt_processor::layout::{FLT_IO_PARAMETER_BLOCK, IO_STATUS_BLOCK};
use nt_verifier::verify::{self, At, Rule};
use windows_constants::filter_manager::{
    FLT_POSTOP_FINISHED_PROCESSING, FLT_POSTOP_MORE_PROCESSING_REQUIRED, FLT_PREOP_COMPLETE, FLT_PREOP_DISALLOW_FASTIO,
    FLT_PREOP_DISALLOW_FSFILTER_IO, FLT_PREOP_PENDING, FLT_PREOP_SUCCESS_NO_CALLBACK, FLT_PREOP_SUCCESS_WITH_CALLBACK,
    FLT_PREOP_SYNCHRONIZE,
};
use windows_constants::request::{IRP_MJ_CLEANUP, IRP_MJ_CLOSE};

use super::major;
use super::state::Current;

/// The names of the callbacks in findings.
pub(super) const PRE: &str = "pre-operation callback";
pub(super) const POST: &str = "post-operation callback";

/// What happens to an operation after a pre-operation callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// It goes to the next minifilter. Whether the post-operation callback is due, and whether it is synchronized.
    Down { callback: bool, is_synchronized: bool },
    /// It is complete.
    Up,
    /// It is pending.
    Wait,
}

fn find(current: &Current, detail: std::fmt::Arguments<'_>) {
    verify::find_at(Rule::RequestMisuse, Some(PRE), At::Code(current.callbacks.pre.address()), detail);
}

/// Judges what a pre-operation callback returned.
pub(super) fn pre(current: &Current, operation: u8, status: i32, context: u64, block: IO_STATUS_BLOCK) -> Next {
    let name = major::name(operation);
    let has_post = !current.callbacks.post.is_null();
    if context != 0 && !matches!(status, FLT_PREOP_SUCCESS_WITH_CALLBACK | FLT_PREOP_SYNCHRONIZE) {
        find(current, format_args!("sets a completion context for {name}, but requests no post-operation callback"));
    }
    match status {
        FLT_PREOP_SUCCESS_WITH_CALLBACK | FLT_PREOP_SYNCHRONIZE => {
            if !has_post {
                find(current, format_args!("requests a post-operation callback for {name}, but has registered none"));
            }
            Next::Down { callback: has_post, is_synchronized: status == FLT_PREOP_SYNCHRONIZE }
        }
        FLT_PREOP_SUCCESS_NO_CALLBACK => Next::Down { callback: false, is_synchronized: false },
        FLT_PREOP_PENDING => Next::Wait,
        FLT_PREOP_COMPLETE => {
            let code = block.Status;
            if code == NtStatus::Pending {
                find(current, format_args!("completes {name} with STATUS_PENDING"));
            }
            if matches!(operation, IRP_MJ_CLEANUP | IRP_MJ_CLOSE) && !code.is_success() {
                find(current, format_args!("fails {name} with {code}: cleanup and close cannot fail"));
            }
            Next::Up
        }
        _ => {
            let returned = match status {
                FLT_PREOP_DISALLOW_FASTIO => "FLT_PREOP_DISALLOW_FASTIO, which is for fast I/O only,".to_owned(),
                FLT_PREOP_DISALLOW_FSFILTER_IO => {
                    "FLT_PREOP_DISALLOW_FSFILTER_IO, which is for QueryOpen only,".to_owned()
                }
                other => format!("{other}, which is not an FLT_PREOP_CALLBACK_STATUS,"),
            };
            find(current, format_args!("returns {returned} for {name}"));
            Next::Down { callback: false, is_synchronized: false }
        }
    }
}

/// Reports parameters that a pre-operation callback changed without saying so. Windows ignores such changes.
pub(super) fn changed_silently(current: &Current, operation: u8) {
    let name = major::name(operation);
    find(current, format_args!("changes the parameters of {name} without a call of FltSetCallbackDataDirty"));
}

/// Returns whether a callback changed the parameters.
pub(super) fn is_changed(before: &FLT_IO_PARAMETER_BLOCK, after: &FLT_IO_PARAMETER_BLOCK) -> bool {
    before.TargetFileObject != after.TargetFileObject
        || before.TargetInstance != after.TargetInstance
        || before.Parameters != after.Parameters
        || before.IrpFlags != after.IrpFlags
        || before.OperationFlags != after.OperationFlags
        || (before.MajorFunction, before.MinorFunction) != (after.MajorFunction, after.MinorFunction)
}

/// Reports a status that a post-operation callback must not return.
pub(super) fn post(callback: u64, operation: u8, status: i32) {
    let name = major::name(operation);
    let detail = match status {
        FLT_POSTOP_FINISHED_PROCESSING | FLT_POSTOP_MORE_PROCESSING_REQUIRED => return,
        2 => format!("returns FLT_POSTOP_DISALLOW_FSFILTER_IO, which is for QueryOpen only, for {name}"),
        other => format!("returns {other}, which is not an FLT_POSTOP_CALLBACK_STATUS, for {name}"),
    };
    verify::find_at(Rule::RequestMisuse, Some(POST), At::Code(callback), format_args!("{detail}"));
}
