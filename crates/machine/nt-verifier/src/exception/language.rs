//! `__C_specific_handler`: `__try`, `__except` and `__finally` of C.
//!
//! Its data is a table of scopes: the address range that each one guards, the filter or the termination handler, and
//! the start of the `__except` block. The layout is that of `SCOPE_TABLE_AMD64` in winnt.h, which both LLVM and
//! Microsoft's compiler generate. The behaviour follows the documentation of the keywords.

use nt_processor::cpu::thread;
use nt_processor::layout::{CONTEXT, DISPATCHER_CONTEXT, EXCEPTION_POINTERS, EXCEPTION_RECORD, SCOPE_RECORD};
use nt_processor::memory::{Fault, GuestPtr};
use windows_constants::exception::{
    EXCEPTION_TARGET_UNWIND, EXCEPTION_UNWIND, ExceptionContinueExecution, ExceptionContinueSearch,
};

use super::dispatch::{Request, request};

/// A filter that is not a function: the exception is always handled.
const ALWAYS: u32 = 1;

/// Returns whether a scope guards an address of the image.
const fn contains(scope: &SCOPE_RECORD, rva: u64) -> bool {
    scope.BeginAddress as u64 <= rva && rva < scope.EndAddress as u64
}

/// Returns whether a scope is a `__finally`, which has no block to jump to.
const fn is_termination(scope: &SCOPE_RECORD) -> bool {
    scope.JumpTarget == 0
}

/// Runs the filters or termination handlers of a frame. Returns an `EXCEPTION_DISPOSITION`.
pub(super) fn handle(
    record: GuestPtr<EXCEPTION_RECORD>,
    frame: u64,
    context: GuestPtr<CONTEXT>,
    dispatcher: GuestPtr<DISPATCHER_CONTEXT>,
) -> Result<u32, Fault> {
    let DISPATCHER_CONTEXT { ControlPc, ImageBase: base, TargetIp, HandlerData: table, ScopeIndex, .. } =
        dispatcher.read()?;
    let rva = ControlPc.wrapping_sub(base);
    let target = TargetIp.wrapping_sub(base);
    let flags = record.ExceptionFlags().read()?;
    for index in ScopeIndex..table.read()? {
        let scope = table.after::<SCOPE_RECORD>().at(index.into()).read()?;
        if !contains(&scope, rva) {
            continue;
        }
        if flags & EXCEPTION_UNWIND == 0 {
            if let Some(disposition) = filter(&scope, base, record, frame, context)? {
                return Ok(disposition);
            }
            continue;
        }
        // The target of the unwind is in this scope or is its `__except` block, so the scopes around it are not left.
        let is_reached = contains(&scope, target) || (!is_termination(&scope) && u64::from(scope.JumpTarget) == target);
        if flags & EXCEPTION_TARGET_UNWIND != 0 && is_reached {
            break;
        }
        if is_termination(&scope) {
            // Advance before the handler runs, so that it does not run again if it raises an exception itself.
            dispatcher.ScopeIndex().write(index + 1)?;
            thread::call(base + u64::from(scope.HandlerAddress), &[1, frame]);
        }
    }
    Ok(ExceptionContinueSearch)
}

/// Calls the filter of a scope. Returns `None` if there is none or it continues the search.
fn filter(
    scope: &SCOPE_RECORD,
    base: u64,
    record: GuestPtr<EXCEPTION_RECORD>,
    frame: u64,
    context: GuestPtr<CONTEXT>,
) -> Result<Option<u32>, Fault> {
    if is_termination(scope) {
        return Ok(None);
    }
    let verdict = if scope.HandlerAddress == ALWAYS {
        1
    } else {
        // The pointers are valid for the duration of the call.
        let pointers = EXCEPTION_POINTERS { ExceptionRecord: record, ContextRecord: context };
        let pointers = std::ptr::from_ref(&pointers).expose_provenance() as u64;
        thread::call(base + u64::from(scope.HandlerAddress), &[pointers, frame]) as i32
    };
    Ok(match verdict {
        0 => None,
        1.. => {
            let value = record.ExceptionCode().read()?.as_int().into();
            request(Request { frame, target: base + u64::from(scope.JumpTarget), value });
            Some(ExceptionContinueSearch)
        }
        _ => Some(ExceptionContinueExecution),
    })
}
