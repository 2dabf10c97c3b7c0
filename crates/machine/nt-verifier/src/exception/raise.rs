//! Raises exceptions: for a fault in driver code, for a fault of a routine that the driver called, and on request of
//! the driver.

use std::panic::{AssertUnwindSafe, catch_unwind};

use etw_types::NtStatus;
use nt_processor::cpu::crossing::Crossing;
use nt_processor::cpu::thread;
use nt_processor::layout::{CONTEXT, DISPATCHER_CONTEXT, EXCEPTION_RECORD};
use nt_processor::memory::{Code, Fault, GuestPtr, Opaque, OrStop as _, USER_END, pages};

use super::area::{Area, Exception, copy_record};
use super::dispatch::{Request, dispatch, is_guarded, leave};
use super::{fault, language, resume};
use crate::routine::{ANY, APC, Call, routines};
use crate::verify::{self, Rule};

routines! { pub(super) ROUTINES;
    #[irql(ANY)]
    fn __C_specific_handler(
        record: GuestPtr<EXCEPTION_RECORD>,
        frame: GuestPtr<Opaque>,
        context: GuestPtr<CONTEXT>,
        dispatcher: GuestPtr<DISPATCHER_CONTEXT>,
    ) -> Result<i32, Fault> {
        language::handle(record, frame.address(), context, dispatcher).map(u32::cast_signed)
    }

    #[irql(ANY)]
    fn _local_unwind(&call, frame: GuestPtr<Opaque>, target: GuestPtr<Code>) {
        let exception = Exception { code: NtStatus::Unwind, continuable: false, address: call.from, parameters: None };
        let request = Request { frame: frame.address(), target: target.address(), value: 0 };
        if let Some(crossing) = Crossing::current() {
            leave_routine(crossing, &exception, |area| leave(area, &area.Context().registers()?, request));
        }
        verify::stop(Rule::BadArgument, Some(call.name()), call.from, format_args!("{frame:#x} is not a stack frame"))
    }

    #[irql(ANY)]
    fn ExRaiseStatus(&call, status: NtStatus) -> Result<(), Fault> {
        raise_status(call, status)
    }

    #[irql(ANY)]
    fn RtlRaiseStatus(&call, status: NtStatus) -> Result<(), Fault> {
        raise_status(call, status)
    }

    #[irql(ANY)]
    fn ExRaiseAccessViolation(&call) -> Result<(), Fault> {
        raise_status(call, NtStatus::AccessViolation)
    }

    #[irql(ANY)]
    fn ExRaiseDatatypeMisalignment(&call) -> Result<(), Fault> {
        raise_status(call, NtStatus::DatatypeMisalignment)
    }

    #[irql(ANY)]
    fn RtlRaiseException(&call, record: GuestPtr<EXCEPTION_RECORD>) -> Result<(), Fault> {
        raise(call, record.ExceptionCode().read()?, true, Some(record))
    }

    #[irql(APC), leavable]
    fn ProbeForRead(&call, address: GuestPtr<u8>, length: u64, alignment: u32) -> Result<(), Fault> {
        probe(call, address.address(), length, alignment)
    }

    #[irql(APC), leavable]
    fn ProbeForWrite(&call, address: GuestPtr<u8>, length: u64, alignment: u32) -> Result<(), Fault> {
        let start = address.address();
        probe(call, start, length, alignment)?;
        let mut places = pages(start, length).map(|page| GuestPtr::<u8>::new(page.max(start)));
        places.try_for_each(|place| place.change(|byte| byte).map(drop))
    }
}

/// Prepares the handling of a fault in driver code. Returns the argument for [`handle_fault`], or `None` if there is no
/// handler or no room on the stack. Called by the signal handler.
pub(super) fn prepare(exception: &Exception, registers: &pe_image::unwind::Registers, eflags: u32) -> Option<u64> {
    if !is_guarded(registers) {
        return None;
    }
    exception.below(registers.rsp(), registers, Some(eflags)).map(Area::address)
}

/// Handles a fault in driver code, on the host's stack. Returns the `CONTEXT` to continue with, or does not return.
pub(super) extern "sysv64" fn handle_fault(area: u64) -> u64 {
    let area = Area::new(area);
    let pending = fault::take_pending();
    thread::set_fault(None);
    if is_taken(|| dispatch(area)) {
        return area.Context().address();
    }
    fault::give_up(pending.as_ref())
}

/// Lets a handler of the driver take the fault of a routine. Returns only if no handler takes it.
pub(super) fn leave_faulting_routine(exception: &Exception) {
    if let Some(crossing) = Crossing::current()
        && is_guarded(&crossing.registers())
    {
        leave_routine(crossing, exception, dispatch);
    }
}

/// Runs handlers. A panic of the host must not unwind through the driver's frames.
fn is_taken(run: impl FnOnce() -> Result<bool, Fault>) -> bool {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(taken) => taken.or_stop(),
        Err(_) => verify::stop(Rule::Host, None, 0, format_args!("the host panicked in the handling of an exception")),
    }
}

/// Handles an exception at the call of a routine. Returns only if no handler takes it.
fn leave_routine(crossing: Crossing, exception: &Exception, run: impl FnOnce(Area) -> Result<bool, Fault>) {
    let registers = crossing.all_registers();
    let level = crossing.level();
    let at = thread::driver_stack();
    let Some(area) = exception.below(at, &registers, None) else { return };
    thread::set_driver_stack(area.address());
    if is_taken(|| run(area)) {
        thread::leave(None);
        // SAFETY: the context was written for this call, or belongs to a frame of the driver around it. The skipped
        // frames of the host hold nothing that must be dropped: neither the routines that call this function nor their
        // callers hold anything.
        unsafe { resume::resume(area.Context().address(), level) };
    }
    thread::set_driver_stack(at);
}

/// Raises an exception at a call. If a filter continues execution, the call returns to the driver.
fn raise(
    call: &Call,
    code: NtStatus,
    continuable: bool,
    record: Option<GuestPtr<EXCEPTION_RECORD>>,
) -> Result<(), Fault> {
    let exception = Exception { code, continuable, address: call.from, parameters: None };
    if let Some(crossing) = Crossing::current() {
        leave_routine(crossing, &exception, |area| {
            if let Some(record) = record {
                copy_record(area, record)?;
            }
            dispatch(area)
        });
    }
    let rule = if code == NtStatus::AccessViolation { Rule::AccessViolation } else { Rule::BugCheck };
    verify::stop(rule, Some(call.name()), call.from, format_args!("exception {:#010X} is not handled", code.as_int()))
}

/// Raises an exception with a status at a call.
pub fn raise_status(call: &Call, status: NtStatus) -> Result<(), Fault> {
    raise(call, status, false, None)
}

/// Does the checks of both probes: the alignment of the address, and that the range lies in the user-mode part. This
/// host has no separate user-mode part, so every address below its end is accepted.
fn probe(call: &Call, start: u64, length: u64, alignment: u32) -> Result<(), Fault> {
    if length == 0 {
        return Ok(());
    }
    if start & u64::from(alignment).saturating_sub(1) != 0 {
        raise_status(call, NtStatus::DatatypeMisalignment)?;
    }
    if start.checked_add(length).is_none_or(|end| end > USER_END) {
        raise_status(call, NtStatus::AccessViolation)?;
    }
    Ok(())
}
