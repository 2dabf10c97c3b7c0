//! Bug checks, and the records of callbacks for them.

use crate::kernel::{kernel, lock};
use crate::layout::{KBUGCHECK_CALLBACK_RECORD, KBUGCHECK_REASON_CALLBACK_RECORD};
use crate::memory::{Fault, GuestPtr};
use crate::routine::{ANY, Call, Routine, routine};
use crate::verify::{self, Rule};

/// "RPNC": the bug check code of Microsoft's `wdk-panic`. Its parameters are the file name, its length, the line and
/// the column.
const RUST_PANIC: u32 = 0x5250_4E43;
/// `BufferEmpty` and `BufferInserted` of `KBUGCHECK_BUFFER_DUMP_STATE`: the state of a record.
const EMPTY: u8 = 0;
const INSERTED: u8 = 1;
/// What a driver registers, for reports.
const WHAT: &str = "bug-check callback";
/// The maximum length of a file name.
const LONGEST_NAME: u64 = 1024;

pub(super) const ROUTINES: &[Routine] = &[
    routine!("KeBugCheckEx", ANY, |call| bug_check(call, [call.arg(1), call.arg(2), call.arg(3), call.arg(4)])),
    routine!("KeBugCheck", ANY, |call| bug_check(call, [0; 4])),
    // Arguments: record, routine, buffer, length, component.
    routine!("KeRegisterBugCheckCallback", ANY, |call| {
        let record = call.ptr::<KBUGCHECK_CALLBACK_RECORD>(0);
        if !insert(call, record.State())? {
            return Ok(false);
        }
        record.CallbackRoutine().write(call.ptr(1))?;
        record.Buffer().write(call.ptr(2))?;
        record.Length().write(call.u32(3))?;
        record.Component().write(call.ptr(4))?;
        Ok::<bool, Fault>(true)
    })
    .keeps(),
    routine!("KeDeregisterBugCheckCallback", ANY, |call| {
        remove(call, call.ptr::<KBUGCHECK_CALLBACK_RECORD>(0).State())
    }),
    // Arguments: record, routine, reason, component.
    routine!("KeRegisterBugCheckReasonCallback", ANY, |call| {
        let record = call.ptr::<KBUGCHECK_REASON_CALLBACK_RECORD>(0);
        if !insert(call, record.State())? {
            return Ok(false);
        }
        record.CallbackRoutine().write(call.ptr(1))?;
        record.Reason().write(call.u32(2))?;
        record.Component().write(call.ptr(3))?;
        Ok::<bool, Fault>(true)
    })
    .keeps(),
    routine!("KeDeregisterBugCheckReasonCallback", ANY, |call| {
        remove(call, call.ptr::<KBUGCHECK_REASON_CALLBACK_RECORD>(0).State())
    }),
    routine!("__report_gsfailure", ANY, |call| fast_fail(call, "the stack cookie was overwritten")),
    routine!("__report_rangecheckfailure", ANY, |call| fast_fail(call, "a range check failed")),
    // Arguments: condition, file, line, message.
    routine!("RtlAssert", ANY, |call| {
        let condition = call.ptr::<u8>(0).terminated()?;
        let condition = String::from_utf8_lossy(&condition);
        verify::stop(Rule::BugCheck, Some(call.name()), call.from, format_args!("an assertion failed: {condition}"));
        #[expect(unreachable_code, reason = "the type of the closure")]
        Ok::<(), Fault>(())
    }),
    routine!("_purecall", ANY, |call| fast_fail(call, "a pure virtual function was called")),
    routine!("RtlFailFast", ANY, |call| fast_fail(call, "RtlFailFast")),
];

/// Registers the record in the first argument. Returns `false` if it is registered already, or if
/// `KeInitializeCallbackRecord` did not initialise it. The callbacks do not run: a bug check ends the run.
fn insert(call: &Call, state: GuestPtr<u8>) -> Result<bool, Fault> {
    let mut io = lock(&kernel().io);
    if state.read()? != EMPTY || io.is_registered(WHAT, call.arg(0)) {
        return Ok(false);
    }
    state.write(INSERTED)?;
    io.register(WHAT, call.arg(0), call.from);
    Ok(true)
}

/// Removes the record in the first argument. Returns `false` if it is not registered.
fn remove(call: &Call, state: GuestPtr<u8>) -> Result<bool, Fault> {
    let removed = lock(&kernel().io).forget(WHAT, call.arg(0));
    if removed {
        state.write(EMPTY)?;
    }
    Ok(removed)
}

fn fast_fail(call: &Call, what: &str) -> u64 {
    verify::stop(Rule::FastFail, Some(call.name()), call.from, format_args!("{what}"))
}

fn bug_check(call: &Call, [a, b, c, d]: [u64; 4]) -> Result<(), Fault> {
    let code = call.u32(0);
    if code == RUST_PANIC && a != 0 && b <= LONGEST_NAME {
        let name = GuestPtr::new(a).array(b).read()?;
        let file = String::from_utf8_lossy(&name);
        verify::stop(Rule::RustPanic, Some(call.name()), call.from, format_args!("panic at {file}:{c}:{d}"));
    }
    let what = format_args!("bug check {code:#X} ({a:#x}, {b:#x}, {c:#x}, {d:#x})");
    verify::stop(Rule::BugCheck, Some(call.name()), call.from, what)
}
