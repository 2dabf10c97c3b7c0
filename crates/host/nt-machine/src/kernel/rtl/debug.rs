//! Debug output.

use etw_types::NtStatus;

use super::print::{self, Arguments};
use crate::memory::{Fault, GuestPtr};
use crate::routine::{ANY, Call, PASSIVE, Routine, fixed, routine};
use crate::verify::{self, Rule};

pub(super) const ROUTINES: &[Routine] = &[
    routine!("DbgPrint", ANY, |call| output(call.ptr(0), call.rest(1))),
    routine!("DbgPrintEx", ANY, |call| output(call.ptr(2), call.rest(3))),
    routine!("vDbgPrintEx", ANY, |call| output(call.ptr(2), call.ptr(3))),
    routine!("vDbgPrintExWithPrefix", ANY, |call| {
        verify::print(&call.ptr::<u8>(0).terminated()?);
        output(call.ptr(3), call.ptr(4))
    }),
    routine!("DbgBreakPoint", ANY, broken),
    routine!("DbgBreakPointWithStatus", ANY, broken),
    routine!("KdRefreshDebuggerNotPresent", ANY, |_| true),
    // No debugger was enabled when the system started.
    fixed("KdSystemDebugControl", PASSIVE, NtStatus::DebuggerInactive.as_int() as u64),
];

fn broken(call: &Call) -> u64 {
    verify::stop(Rule::BugCheck, Some(call.name()), call.from, format_args!("a breakpoint without a debugger"))
}

fn output(format: GuestPtr<u8>, arguments: GuestPtr<u64>) -> Result<(), Fault> {
    let format = print::widen(&format.terminated()?);
    let text = print::format(&format, false, &mut Arguments::new(arguments))?;
    verify::print(String::from_utf16_lossy(&text).as_bytes());
    Ok(())
}
