//! Decides what a fault means: an instruction to emulate, a page to bring in, an exception for the driver's handlers,
//! or a mistake.

use std::cell::Cell;
use std::ptr;

use etw_types::NtStatus;
use nt_processor::coverage::{self, callbacks};
use nt_processor::cpu::decode::{Instruction, decode};
use nt_processor::cpu::handler::Restored;
use nt_processor::cpu::switch;
use nt_processor::cpu::thread::{self, Site};
use nt_processor::image;
use nt_processor::memory::{Access, Fault, recover};
use pe_image::unwind::Registers;

use super::code::code_at;
use super::explain::explain;
use super::interrupted::Context;
use super::site::{FaultSite, site_of, site_without_context, start_of_walk};
use super::{
    Exception, HOOKS, changing, explain_address, is_beside_client_buffer, is_code, ports, processor, raise, registers,
    resume, shared_data,
};
use crate::routine::DISPATCH;
use crate::verify::{self, At, Rule};

/// The processor's numbers for division error, breakpoint, general protection fault, page fault and alignment check.
const DIVISION: i64 = 0;
const BREAKPOINT: i64 = 3;
const GENERAL_PROTECTION: i64 = 13;
pub(super) const PAGE_FAULT: i64 = 14;
const ALIGNMENT: i64 = 17;

/// The maximum number of handlers that may run on a thread at the same time: one for the driver's fault, and one each
/// for memory that the first one reads and that must be brought in first.
const MAX_NESTED: u32 = 4;

/// The end of the user-mode address range. On Windows, an invalid address from here on is a bug check, not an
/// exception.
const USER_END: u64 = 0x8000_0000_0000;

/// What a fault of the host is. It cannot tell its own mistakes from a driver's write to its memory.
const DEFECT: &str = "a defect of the host, unless the driver has overwritten its memory";

/// The numbers of registers.
const RAX: u8 = 0;
const RCX: u8 = 1;
const RDX: u8 = 2;
/// Control registers of x64 Windows. CR0 enables protection, paging and write protection; CR4 has the features that
/// Windows enables.
const CR0: u64 = 0x8005_0033;
const CR4: u64 = 0x35_0EF8;

/// What Linux reports about a fault.
#[derive(Clone, Copy, Debug)]
pub struct Trap {
    /// The signal.
    pub signal: i32,
    /// The number of the processor's exception.
    pub number: i64,
    /// The error code that the processor pushed.
    pub error: i64,
    /// The address that the access used, if it was one.
    pub address: u64,
}

/// Bits of the processor's error code for a page fault.
const PRESENT: i64 = 1;
const WRITE: i64 = 2;
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

    /// Returns whether the processor refused to write to a page that is there.
    pub(super) const fn is_refused_write(&self) -> bool {
        self.error & (PRESENT | WRITE) == PRESENT | WRITE
    }

    /// Returns what the driver does to the address.
    pub(super) const fn verb(&self) -> &'static str {
        match self.error {
            error if error & FETCH != 0 => "executes",
            error if error & WRITE != 0 => "writes to",
            _ => "reads",
        }
    }

    pub(super) fn is_on_stack(&self) -> bool {
        thread::stack().is_some_and(|stack| stack.contains(self.address))
    }
}

/// A fault that is offered to the driver's handlers.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    trap: Trap,
    site: FaultSite,
    registers: Registers,
    /// The registers at which the walk along the driver's calls starts.
    start: Option<Registers>,
    /// The exception that the driver sees.
    pub exception: Exception,
}

/// The signal handlers that run on a thread.
#[derive(Clone, Copy, Debug)]
pub struct Nesting {
    /// The number of handlers.
    pub depth: u32,
    /// The signal and the instruction of the first one.
    pub first: (u32, u64),
}

thread_local! {
    static PENDING: Cell<Option<Pending>> = const { Cell::new(None) };
    /// The number of faults that are being explained on this thread.
    static EXPLAINING: Cell<u32> = const { Cell::new(0) };
}

/// Handles a fault. Returns if the thread can continue; otherwise does not return.
pub fn handle(trap: Trap, context: &mut Context<'_>, restored: Restored, nesting: Nesting) {
    if nesting.depth > MAX_NESTED {
        end_nested(trap, context.rip(), nesting);
    }
    if resumes(trap, context, restored) {
        return;
    }
    if trap.number == BREAKPOINT {
        // The processor is behind the instruction; Windows reports its address.
        context.repeat_breakpoint();
        if let Some(copy) =
            callbacks::entered(context.rip(), context.rsp(), context.rcx(), thread::irql(), thread::number())
        {
            coverage::hit(context.rip());
            return context.jump(copy);
        }
        if coverage::reached(context.rip()) {
            return;
        }
    }
    if shared_data::end(trap, context) || shared_data::begin(trap, context) {
        return;
    }
    // If the instruction faulted in another operand, the fault is handled as any other.
    let is_done = trap.signal == libc::SIGTRAP;
    if (changing::end(context) || registers::end(is_done, context)) && is_done {
        return;
    }
    let is_access = trap.number == PAGE_FAULT && !trap.executes();
    let writes = trap.error & WRITE != 0;
    if is_access && changing::begin(trap.address, writes, context) {
        return;
    }
    if is_access && registers::begin(trap.address, writes, &code_at(context.rip()), context) {
        return;
    }
    // The copy of an instruction stands for the original, unless it is repeated.
    let copy = callbacks::copied_at(context.rip()).map(|function| (context.rip(), context.jump(function)));
    let outer = thread::fault();
    let start = start_of_walk(context);
    thread::set_fault(start.as_ref());
    let site = site_of(context);
    if trap.number == PAGE_FAULT && HOOKS.find().is_some_and(|hooks| (hooks.page_in)(trap.address, &site)) {
        thread::set_fault(outer.as_ref());
        if let Some((copy, ())) = copy {
            context.jump(copy);
        }
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
    if let Some(recovery) = recover(context.rip(), address, trap.error & WRITE != 0) {
        thread::set_fault(outer.as_ref());
        return context.recover(&recovery);
    }
    if nesting.depth > 1 {
        end_nested(trap, context.rip(), nesting);
    }
    if !thread::is_attached() {
        let detail = format_args!("signal {} at {:#x} in the host: {DEFECT}", trap.signal, context.rip());
        verify::stop(Rule::Host, None, 0, detail);
    }
    let registers = context.all();
    // No handler of the driver may take a fault of the host: the routine that faulted may hold locks.
    let is_of_host = !trap.executes() && !is_code(registers.rip) && !switch::contains(registers.rip);
    if let Some(exception) = exception_of(trap, &registers).filter(|_| !is_of_host) {
        let pending = Pending { trap, site, registers, start, exception };
        if offer(&pending, context) {
            PENDING.set(Some(pending));
            return;
        }
    }
    if let Some(register) = thread::take_restored().register() {
        let detail = format_args!("overwrites the {register} base, or the data of the host's thread there");
        verify::stop(Rule::AccessViolation, site.routine, site.address, detail);
    }
    if is_of_host {
        end_in_host(trap, registers.rip, &site)
    }
    explain(trap, &registers, &site)
}

/// Ends the run because code of the host faulted, which accesses memory of the driver only through [`nt_processor::memory`].
fn end_in_host(trap: Trap, rip: u64, site: &FaultSite) -> ! {
    let Trap { signal, address, .. } = trap;
    let what = if trap.number == PAGE_FAULT { format!(", which {} {address:#x}", trap.verb()) } else { String::new() };
    let detail = format_args!("signal {signal} at {rip:#x} in the host{what}: {DEFECT}");
    verify::stop(Rule::Host, site.routine, site.address, detail)
}

/// Undoes what the driver did to the processor's state. Returns whether the instruction can be executed again.
fn resumes(trap: Trap, context: &mut Context<'_>, restored: Restored) -> bool {
    let rip = context.rip();
    let of_driver = image::contains(context.rip());
    if trap.number == ALIGNMENT && context.clear_alignment_check() {
        if of_driver {
            let detail = format_args!("uses an address that is not aligned, with the alignment check flag set");
            verify::find_at(Rule::BadArgument, None, At::Code(rip), detail);
        }
        return true;
    }
    let Some(register) = restored.register() else { return false };
    if of_driver {
        let detail = format_args!("runs with another {register} base: a driver must not change this register");
        verify::find_at(Rule::BadArgument, None, At::Code(rip), detail);
        return false;
    }
    // The host's instruction works now. The routine or callback that it belongs to reports the mistake.
    thread::set_restored(restored);
    true
}

/// Ends the run because the handling of a fault faulted. It uses nothing that could fault once more.
fn end_nested(trap: Trap, rip: u64, nesting: Nesting) -> ! {
    let (signal, (first, at)) = (trap.signal, nesting.first);
    verify::stop_at_once(
        Rule::Host,
        at,
        format_args!("signal {signal} at {rip:#x} while signal {first} at {at:#x} was handled: {DEFECT}"),
    )
}

/// Returns the exception that a fault is on Windows, or `None` if it stops the machine. A fault at an address that the
/// verifier can explain is always a finding, even if there is a handler: no handler excuses the use of freed pool. But the memory
/// beside a client's own buffer is the client's affair: a driver that handles the exception has done all that it can.
fn exception_of(trap: Trap, registers: &Registers) -> Option<Exception> {
    let address = registers.rip;
    let of = |code, parameters| Some(Exception { code, continuable: true, address, parameters });
    // Called only for faults of an instruction that was fetched, so its bytes can be read.
    let is_ours = || is_code(registers.rip) && matches!(decode(&code_at(registers.rip)), Instruction::Other);
    match (trap.number, trap.signal) {
        (PAGE_FAULT, _) => {
            let is_guard = thread::stack().is_some_and(|stack| stack.is_guard(trap.address));
            let stops = is_guard || trap.address >= USER_END || thread::irql() >= DISPATCH;
            let is_finding = || explain_address(&trap).is_some() && !is_beside_client_buffer(&trap);
            if stops || trap.is_no_execute() || is_finding() {
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
pub fn raise(fault: Fault, leavable: bool) -> ! {
    let write = fault.access == Access::Write;
    let number = if fault.is_canonical() { PAGE_FAULT } else { GENERAL_PROTECTION };
    let trap = Trap { signal: libc::SIGSEGV, number, error: if write { 2 } else { 0 }, address: fault.address };
    let registers = Registers::default();
    // What explains a fault reads memory of the driver, too. If that faults, it must not be explained in turn.
    EXPLAINING.set(EXPLAINING.get() + 1);
    if EXPLAINING.get() > MAX_NESTED {
        verify::stop_at_once(Rule::Host, 0, format_args!("{fault} while another fault was explained"));
    }
    if let Some(exception) = exception_of(trap, &registers).filter(|_| leavable) {
        // A handler of the driver that takes the exception does not return here.
        EXPLAINING.set(0);
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
pub fn give_up(pending: Option<&Pending>) -> ! {
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
        Instruction::Port(access) => ports::imitate(access, context),
        Instruction::WriteModelRegister { length } => {
            if let Some(name) = processor::owned_register(context.get(RCX) as u32) {
                let detail = format_args!("wrmsr: writes {name}, which only the kernel may change");
                verify::find_at(Rule::IllegalInstruction, None, At::Code(context.rip()), detail);
            }
            context.skip(length);
            true
        }
        Instruction::Interrupts { enabled, length } => {
            processor::set_interrupts(enabled, context.rip());
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

/// Whether the instruction at the address where a thread runs is a jump to itself, as in an empty endless loop. Uses no data of the
/// thread and waits for nothing.
pub(crate) fn jumps_to_itself(rip: u64) -> bool {
    /// `jmp` with its own length as the displacement back, in one byte and in four.
    const JUMPS: [&[u8]; 2] = [&[0xEB, 0xFE], &[0xE9, 0xFB, 0xFF, 0xFF, 0xFF]];
    let byte_at = |address: u64| {
        // SAFETY: the thread executes code of this page, so the page is mapped and readable.
        unsafe { ptr::with_exposed_provenance::<u8>(address as usize).read_volatile() }
    };
    let is_jump = |jump: &[u8]| {
        image::readable_from(rip) >= jump.len() as u64
            && (rip..).zip(jump).all(|(address, byte)| byte_at(address) == *byte)
    };
    JUMPS.into_iter().any(is_jump)
}

/// Reports where this thread is, because it does not return from the driver.
pub(crate) fn report_place(context: &Context<'_>) {
    if let Some((site, count)) = thread::repeating_call() {
        let routine = site.routine;
        let number = thread::number();
        let detail = format_args!("what {routine} queues here runs again and again: {count} times (thread {number})");
        verify::stop(Rule::Hang, Some(routine), site.from, detail);
    }
    let site = site_of(context);
    thread::set_fault(start_of_walk(context).as_ref());
    let callback = thread::callback().unwrap_or("the driver");
    let number = thread::number();
    if let Some((Site { routine, from }, count)) = thread::repeating_wait() {
        let detail =
            format_args!("{callback} does not return: it waits again and again, {count} times (thread {number})");
        verify::stop(Rule::Hang, Some(routine), from, detail);
    }
    let waits = site.routine.is_some_and(|routine| routine.starts_with("KeWaitFor"));
    let breach = HOOKS.find().filter(|_| waits).map_or(Rule::Hang.into(), |hooks| (hooks.endless_wait)());
    verify::stop(breach, site.routine, site.address, format_args!("{callback} does not return (thread {number})"));
}
