//! Stopping the machine.

use super::routine::{ANY, Call, Routine, routine};
use crate::memory::guest;
use crate::verify::{self, Rule};

/// "RPNC": the code of Microsoft's `wdk-panic`, with file, length of its name, line and column.
const RUST_PANIC: u32 = 0x5250_4E43;
/// No file name is longer.
const LONGEST_NAME: u64 = 1024;

pub(super) const ROUTINES: &[Routine] = &[
    routine("KeBugCheckEx", ANY, |call| {
        let parameters = [call.arg(1), call.arg(2), call.arg(3), call.arg(4)];
        bug_check(call, call.u32(0), parameters)
    }),
    routine("KeBugCheck", ANY, |call| bug_check(call, call.u32(0), [0; 4])),
    routine("KeRegisterBugCheckReasonCallback", ANY, |_| 1).fixed(),
    routine("KeDeregisterBugCheckReasonCallback", ANY, |_| 1).fixed(),
    routine("__report_gsfailure", ANY, |call| stop(call, Rule::FastFail, "the stack cookie was overwritten")),
    routine("__report_rangecheckfailure", ANY, |call| stop(call, Rule::FastFail, "a range check failed")),
    routine("RtlFailFast", ANY, |call| stop(call, Rule::FastFail, "RtlFailFast")),
];

fn stop(call: &Call, rule: Rule, what: &str) -> ! {
    verify::stop(rule, Some(call.name()), call.from, format_args!("{what}"))
}

fn bug_check(call: &Call, code: u32, [a, b, c, d]: [u64; 4]) -> u64 {
    if code == RUST_PANIC && a != 0 && b <= LONGEST_NAME {
        let name = guest::bytes(a, b);
        let file = String::from_utf8_lossy(&name);
        verify::stop(Rule::RustPanic, Some(call.name()), call.from, format_args!("panic at {file}:{c}:{d}"));
    }
    verify::stop(
        Rule::BugCheck,
        Some(call.name()),
        call.from,
        format_args!("bug check {code:#X} ({a:#x}, {b:#x}, {c:#x}, {d:#x})"),
    )
}
