//! Bug checks, and the records of callbacks for them.

use nt_processor::layout::{KBUGCHECK_CALLBACK_RECORD, KBUGCHECK_REASON_CALLBACK_RECORD};
use nt_processor::memory::{Code, Fault, GuestPtr, Opaque};
use nt_verifier::routine::{ANY, Call, Ignored, routines};
use nt_verifier::verify::{self, Rule};
use windows_constants::system::{BufferEmpty, BufferInserted};

use crate::{kernel, lock};

/// "RPNC": the bug check code of Microsoft's `wdk-panic`. Its parameters are the file name, its length, the line and
/// the column.
const RUST_PANIC: u32 = 0x5250_4E43;
/// What a driver registers, for reports.
const WHAT: &str = "bug-check callback";
/// The maximum length of a file name.
const LONGEST_NAME: u64 = 1024;

routines! { pub(super) ROUTINES;
    #[irql(ANY)]
    fn KeBugCheckEx(&call, code: u32, a: u64, b: u64, c: u64, d: u64) -> Result<(), Fault> {
        bug_check(call, code, [a, b, c, d])
    }

    #[irql(ANY)]
    fn KeBugCheck(&call, code: u32) -> Result<(), Fault> {
        bug_check(call, code, [0; 4])
    }

    #[irql(ANY), keeps]
    fn KeRegisterBugCheckCallback(
        &call,
        record: GuestPtr<KBUGCHECK_CALLBACK_RECORD>,
        routine: GuestPtr<Code>,
        buffer: GuestPtr<Opaque>,
        length: u32,
        component: GuestPtr<u8>,
    ) -> Result<bool, Fault> {
        if !insert(call, record.address(), record.State())? {
            return Ok(false);
        }
        record.CallbackRoutine().write(routine.cast())?;
        record.Buffer().write(buffer.cast())?;
        record.Length().write(length)?;
        record.Component().write(component.cast())?;
        Ok(true)
    }

    #[irql(ANY)]
    fn KeDeregisterBugCheckCallback(record: GuestPtr<KBUGCHECK_CALLBACK_RECORD>) -> Result<bool, Fault> {
        remove(record.address(), record.State())
    }

    #[irql(ANY), keeps]
    fn KeRegisterBugCheckReasonCallback(
        &call,
        record: GuestPtr<KBUGCHECK_REASON_CALLBACK_RECORD>,
        routine: GuestPtr<Code>,
        reason: i32,
        component: GuestPtr<u8>,
    ) -> Result<bool, Fault> {
        if !insert(call, record.address(), record.State())? {
            return Ok(false);
        }
        record.CallbackRoutine().write(routine.cast())?;
        record.Reason().write(reason.cast_unsigned())?;
        record.Component().write(component.cast())?;
        Ok(true)
    }

    #[irql(ANY)]
    fn KeDeregisterBugCheckReasonCallback(record: GuestPtr<KBUGCHECK_REASON_CALLBACK_RECORD>) -> Result<bool, Fault> {
        remove(record.address(), record.State())
    }

    #[irql(ANY)]
    fn __report_gsfailure(&call, _cookie: Ignored<u64>) {
        fast_fail(call, "the stack cookie was overwritten")
    }

    #[irql(ANY)]
    fn __report_rangecheckfailure(&call) {
        fast_fail(call, "a range check failed")
    }

    #[irql(ANY)]
    fn RtlAssert(
        &call,
        condition: GuestPtr<u8>,
        _file: Ignored<GuestPtr<u8>>,
        _line: Ignored<u32>,
        _message: Ignored<GuestPtr<u8>>,
    ) -> Result<(), Fault> {
        let condition = condition.terminated()?;
        let condition = String::from_utf8_lossy(&condition);
        verify::stop(Rule::BugCheck, Some(call.name()), call.from, format_args!("fails an assertion: {condition}"))
    }

    #[irql(ANY)]
    fn _purecall(&call) -> i32 {
        fast_fail(call, "calls a pure virtual function")
    }

    #[irql(ANY)]
    fn RtlFailFast(&call, _code: Ignored<u32>) {
        fast_fail(call, "RtlFailFast")
    }
}

/// Registers a record. Returns `false` if it is registered already, or if
/// `KeInitializeCallbackRecord` did not initialise it. The callbacks do not run: a bug check ends the run.
fn insert(call: &Call, record: u64, state: GuestPtr<u8>) -> Result<bool, Fault> {
    let mut io = lock(&kernel().io);
    if state.read()? != BufferEmpty || io.is_registered(WHAT, record) {
        return Ok(false);
    }
    state.write(BufferInserted)?;
    io.register(WHAT, record, call.from);
    Ok(true)
}

/// Removes a record. Returns `false` if it is not registered.
fn remove(record: u64, state: GuestPtr<u8>) -> Result<bool, Fault> {
    let removed = lock(&kernel().io).forget(WHAT, record);
    if removed {
        state.write(BufferEmpty)?;
    }
    Ok(removed)
}

fn fast_fail(call: &Call, what: &str) -> ! {
    verify::stop(Rule::FastFail, Some(call.name()), call.from, format_args!("{what}"))
}

fn bug_check(call: &Call, code: u32, [a, b, c, d]: [u64; 4]) -> Result<(), Fault> {
    if code == RUST_PANIC && a != 0 && b <= LONGEST_NAME {
        let name = GuestPtr::new(a).array(b).read()?;
        let file = String::from_utf8_lossy(&name);
        verify::stop(Rule::RustPanic, Some(call.name()), call.from, format_args!("panic at {file}:{c}:{d}"));
    }
    let what = format_args!("bug check {code:#X} ({a:#x}, {b:#x}, {c:#x}, {d:#x})");
    verify::stop(Rule::BugCheck, Some(call.name()), call.from, what)
}
