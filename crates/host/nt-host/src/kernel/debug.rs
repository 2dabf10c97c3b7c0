//! Debug output.

use super::print::{self, Arguments};
use super::routine::{ANY, Call, Routine, routine};
use crate::memory::guest;
use crate::verify;

pub(super) const ROUTINES: &[Routine] = &[
    routine("DbgPrint", ANY, |call| output(call.arg(0), call.rest(1))),
    routine("DbgPrintEx", ANY, |call| output(call.arg(2), call.rest(3))),
    routine("vDbgPrintEx", ANY, |call| output(call.arg(2), call.arg(3))),
    routine("vDbgPrintExWithPrefix", ANY, |call| {
        print(&guest::terminated::<u8>(call.arg(0)));
        output(call.arg(3), call.arg(4))
    }),
    routine("DbgBreakPoint", ANY, broken),
    routine("DbgBreakPointWithStatus", ANY, broken),
    routine("KdRefreshDebuggerNotPresent", ANY, |_| 1),
];

fn broken(call: &Call) -> u64 {
    verify::stop(verify::Rule::BugCheck, Some(call.name()), call.from, format_args!("a breakpoint, with no debugger"))
}

fn output(format: u64, arguments: u64) -> u64 {
    let format = guest::terminated::<u8>(format);
    let text = print::format(&print::widen(&format), false, &mut Arguments::new(arguments));
    print(String::from_utf16_lossy(&text).as_bytes());
    0
}

fn print(text: &[u8]) {
    if let Some(arena) = verify::arena() {
        arena.print(text);
    }
}
