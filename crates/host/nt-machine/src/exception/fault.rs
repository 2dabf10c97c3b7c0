//! Decides what a fault means: an instruction to emulate, a page to bring in, an exception for the driver's handlers,
//! or a mistake.

use std::cell::Cell;

use etw_types::NtStatus;

use super::explain::explain;
use super::interrupted::Context;
use super::site::{FaultSite, site_of, site_without_context, start_of_walk};
use super::{Exception, HOOKS, explain_address, is_code, raise, resume, shared_data};
use crate::cpu::decode::{Instruction, decode};
use crate::cpu::thread;
use crate::image;
use crate::memory::{Access, Fault, GuestPtr, PAGE, recover};
use crate::routine::DISPATCH;
use crate::verify::{self, Rule};
use pe_image::unwind::Registers;

/// The processor's numbers for division error, general protection fault and page fault.
const DIVISION: i64 = 0;
const GENERAL_PROTECTION: i64 = 13;
pub(super) const PAGE_FAULT: i64 = 14;

/// The end of the user-mode address range. On Windows, an invalid address from here on is a bug check, not an
/// exception.
const USER_END: u64 = 0x8000_0000_0000;

/// The numbers of registers.
const RAX: u8 = 0;
const RDX: u8 = 2;
/// Control registers of x64 Windows. CR0 enables protection, paging and write protection; CR4 has the features that
/// Windows enables.
const CR0: u64 = 0x8005_0033;
const CR4: u64 = 0x35_0EF8;

/// What Linux reports about a fault.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trap {
    pub(crate) signal: i32,
    pub(crate) number: i64,
    pub(crate) error: i64,
    pub(crate) address: u64,
}

/// Bits of the processor's error code for a page fault.
const PRESENT: i64 = 1;
const FETCH: i64 = 16;

impl Trap {
    /// Returns whether the processor fetched an instruction.
    pub(super) const fn executes(&self) -> bool {
        self.number == PAGE_FAULT && self.error & FETCH != 0
    }

    /// Returns whether the processor fetched an instruction from a page that is there and is not executable, or from
    /// the thread's own stack. On Windows this is a bug check, which no handler can prevent.
    pub(super) fn is_no_execute(&self) -> bool {
        self.executes() && (self.error & PRESENT != 0 || self.is_on_stack())
    }

    pub(super) fn is_on_stack(&self) -> bool {
        thread::stack().is_some_and(|stack| stack.contains(self.address))
    }
}

/// A fault that is offered to the driver's handlers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    trap: Trap,
    site: FaultSite,
    registers: Registers,
    /// The registers at which the walk along the driver's calls starts.
    start: Option<Registers>,
    pub(crate) exception: Exception,
}

thread_local! {
    static PENDING: Cell<Option<Pending>> = const { Cell::new(None) };
}

/// Handles a fault. Returns if the thread can continue; otherwise does not return.
pub(crate) fn handle(trap: Trap, context: &mut Context<'_>) {
    if shared_data::end(trap, context) || shared_data::begin(trap, context) {
        return;
    }
    let outer = thread::fault();
    let start = start_of_walk(context);
    thread::set_fault(start.as_ref());
    let site = site_of(context);
    if trap.number == PAGE_FAULT && HOOKS.find().is_some_and(|hooks| (hooks.page_in)(trap.address, &site)) {
        thread::set_fault(outer.as_ref());
        return;
    }
    if trap.number == GENERAL_PROTECTION && is_code(context.rip()) && imitate(context) {
        thread::set_fault(outer.as_ref());
        return;
    }
    if verify::is_stopped() {
        verify::park();
    }
    let address = (trap.number == PAGE_FAULT).then_some(trap.address);
    if let Some(recovery) = recover(context.rip(), address, trap.error & 2 != 0) {
        thread::set_fault(outer.as_ref());
        return context.recover(&recovery);
    }
    if !thread::is_attached() {
        verify::stop(Rule::Host, None, 0, format_args!("signal {} at {:#x} in the host", trap.signal, context.rip()));
    }
    let registers = context.all();
    if let Some(exception) = exception_of(trap, &registers) {
        let pending = Pending { trap, site, registers, start, exception };
        if offer(&pending, context) {
            PENDING.set(Some(pending));
            return;
        }
    }
    explain(trap, &registers, &site)
}

/// Returns the exception that a fault is on Windows, or `None` if it stops the machine. A fault at an address that the
/// verifier can explain is always a finding, even if there is a handler: no handler excuses the use of freed pool.
fn exception_of(trap: Trap, registers: &Registers) -> Option<Exception> {
    let address = registers.rip;
    let of = |code, parameters| Some(Exception { code, continuable: true, address, parameters });
    // Called only for faults of an instruction that was fetched, so its bytes can be read.
    let is_ours = || is_code(registers.rip) && matches!(decode(&code_at(registers.rip)), Instruction::Other);
    match (trap.number, trap.signal) {
        (PAGE_FAULT, _) => {
            let is_guard = thread::stack().is_some_and(|stack| stack.is_guard(trap.address));
            let stops = is_guard || trap.address >= USER_END || thread::irql() >= DISPATCH;
            if stops || trap.is_no_execute() || explain_address(trap.address, trap.executes()).is_some() {
                return None;
            }
            let kind = match trap.error {
                _ if trap.executes() => 8,
                error if error & 2 != 0 => 1,
                _ => 0,
            };
            of(NtStatus::AccessViolation, Some([kind, trap.address]))
        }
        (GENERAL_PROTECTION, _) if is_ours() => of(NtStatus::AccessViolation, Some([0, u64::MAX])),
        (DIVISION, libc::SIGFPE) if is_ours() => of(NtStatus::IntegerDivideByZero, None),
        (_, libc::SIGILL) if is_ours() => of(NtStatus::IllegalInstruction, None),
        _ => None,
    }
}

/// Handles a failed access of a routine to guest memory. If the routine is leavable, a handler of the driver may take
/// the exception; otherwise the run ends.
pub(crate) fn raise(fault: Fault, leavable: bool) -> ! {
    let write = fault.access == Access::Write;
    let number = if fault.is_canonical() { PAGE_FAULT } else { GENERAL_PROTECTION };
    let trap = Trap { signal: libc::SIGSEGV, number, error: if write { 2 } else { 0 }, address: fault.address };
    let registers = Registers::default();
    if let Some(exception) = exception_of(trap, &registers).filter(|_| leavable) {
        raise::leave_faulting_routine(&exception);
    }
    explain(trap, &registers, &site_without_context())
}

/// Makes the thread continue with the search for a handler. Returns whether there is one.
fn offer(pending: &Pending, context: &mut Context<'_>) -> bool {
    let address = |routine: *const ()| routine.expose_provenance() as u64;
    let Some(start) = &pending.start else { return false };
    let Some(area) = raise::prepare(&pending.exception, start, context.eflags()) else { return false };
    context.redirect(address(resume::fault_entry as *const ()), area, area);
    true
}

/// Takes the fault that is being offered to handlers on this thread.
pub(crate) fn take_pending() -> Option<Pending> {
    PENDING.take()
}

/// Ends the run because no handler took a fault.
pub(crate) fn give_up(pending: Option<&Pending>) -> ! {
    let Some(pending) = pending else {
        verify::stop(Rule::Host, None, 0, format_args!("a fault was not recorded"));
    };
    thread::set_fault(pending.start.as_ref());
    explain(pending.trap, &pending.registers, &pending.site)
}

fn imitate(context: &mut Context<'_>) -> bool {
    let code = code_at(context.rip());
    match decode(&code) {
        Instruction::ReadIrql { register, length } => {
            context.set(register, thread::irql().into());
            context.skip(length);
            true
        }
        Instruction::WriteIrql { register, length } => {
            let irql = (context.get(register) & 15) as u8;
            if let Some(hooks) = HOOKS.find() {
                (hooks.change_irql)(irql);
            }
            context.skip(length);
            true
        }
        // There is no device: reads return all ones, and writes are lost.
        Instruction::ReadPort { width, length } => {
            let value = match width {
                1 => context.get(RAX) | 0xFF,
                2 => context.get(RAX) | 0xFFFF,
                _ => 0xFFFF_FFFF,
            };
            context.set(RAX, value);
            context.skip(length);
            true
        }
        Instruction::ReadModelRegister { length } => {
            context.set(RAX, 0);
            context.set(RDX, 0);
            context.skip(length);
            true
        }
        Instruction::ReadControl { control, register, length } => {
            let value = match control {
                0 => CR0,
                3 => HOOKS.find().map_or(0, |hooks| (hooks.page_table)()),
                4 => CR4,
                _ => 0,
            };
            context.set(register, value);
            context.skip(length);
            true
        }
        Instruction::Ignored { length } => {
            context.skip(length);
            true
        }
        _ => false,
    }
}

/// Returns the bytes of an instruction; fewer at the end of a page.
pub(super) fn code_at(address: u64) -> Vec<u8> {
    let readable =
        if image::is_loaded(address) { image::readable_from(address) } else { PAGE - address % PAGE }.min(15);
    GuestPtr::new(address).array(readable).read().unwrap_or_default()
}

/// Reports where this thread is, because it does not return from the driver.
pub(crate) fn asked(context: &Context<'_>) {
    let site = site_of(context);
    thread::set_fault(start_of_walk(context).as_ref());
    let (callback, number) = (thread::callback().unwrap_or("the driver"), thread::number());
    verify::stop(Rule::Hang, site.routine, site.address, format_args!("{callback} does not return (thread {number})"));
}
