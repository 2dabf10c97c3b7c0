//! Bug checks.

use crate::memory::{Fault, GuestPtr};
use crate::routine::{ANY, Call, Routine, fixed, routine};
use crate::verify::{self, Rule};

/// "RPNC": the bug check code of Microsoft's `wdk-panic`. Its parameters are the file name, its length, the line and
/// the column.
const RUST_PANIC: u32 = 0x5250_4E43;
/// The maximum length of a file name.
const LONGEST_NAME: u64 = 1024;

pub(super) const ROUTINES: &[Routine] = &[
    routine!("KeBugCheckEx", ANY, |call| bug_check(call, [call.arg(1), call.arg(2), call.arg(3), call.arg(4)])),
    routine!("KeBugCheck", ANY, |call| bug_check(call, [0; 4])),
    fixed("KeRegisterBugCheckCallback", ANY, 1),
    fixed("KeDeregisterBugCheckCallback", ANY, 1),
    fixed("KeRegisterBugCheckReasonCallback", ANY, 1),
    fixed("KeDeregisterBugCheckReasonCallback", ANY, 1),
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
