//! Describes the mistakes that end in a fault.

use nt_processor::cpu::decode::{Instruction, decode};
use nt_processor::cpu::operand::operand;
use nt_processor::cpu::thread;
use nt_processor::image;
use nt_processor::memory::{PAGE, is_canonical};
use pe_image::unwind::Registers;

use super::code::code_at;
use super::fault::{PAGE_FAULT, Trap};
use super::site::FaultSite;
use super::{explain_address, is_code};
use crate::verify::{self, Rule};

/// Reports the mistake and ends the run.
pub(super) fn explain(trap: Trap, registers: &Registers, site: &FaultSite) -> ! {
    let stop =
        |rule: Rule, detail: std::fmt::Arguments<'_>| -> ! { verify::stop(rule, site.routine, site.address, detail) };
    let address = trap.address;
    if trap.number == PAGE_FAULT {
        if thread::stack().is_some_and(|stack| stack.is_guard(address)) {
            stop(Rule::StackOverflow, format_args!("overflows the kernel stack of 24 KiB at {address:#x}"));
        }
        if trap.executes() && trap.is_on_stack() {
            stop(Rule::NoExecute, format_args!("executes {address:#x} on the kernel stack, which is not executable"));
        }
        if image::contains(address) && trap.is_no_execute() {
            let place = image::describe(address);
            stop(Rule::NoExecute, format_args!("executes {place}, which is not executable"));
        }
        if let Some((breach, what)) = explain_address(&trap) {
            verify::stop(breach, site.routine, site.address, format_args!("{what}"));
        }
        if trap.is_no_execute() {
            stop(Rule::NoExecute, format_args!("executes {address:#x}, which is not executable"));
        }
        let null = if address < PAGE { ", through a NULL pointer" } else { "" };
        stop(Rule::AccessViolation, format_args!("{} {address:#x}{null}", trap.verb()));
    }
    if is_code(registers.rip) {
        match decode(&code_at(registers.rip)) {
            Instruction::FastFail => {
                let code = registers.get(1) as u32;
                stop(Rule::FastFail, format_args!("__fastfail({code}): {}", fast_fail(code)));
            }
            Instruction::Assert => stop(Rule::BugCheck, format_args!("fails an assertion")),
            Instruction::Privileged(name) => stop(Rule::IllegalInstruction, format_args!("{name}")),
            Instruction::Interrupt(number) => stop(Rule::IllegalInstruction, format_args!("int {number:#x}")),
            _ => {}
        }
    }
    match trap.signal {
        libc::SIGSYS => {
            let name = if code_at(registers.rip).starts_with(&[0x0F, 0x05]) { "syscall" } else { "int 0x80" };
            stop(Rule::IllegalInstruction, format_args!("{name}: a driver must not execute this instruction"))
        }
        libc::SIGILL => stop(Rule::IllegalInstruction, format_args!("executes an instruction that does not exist")),
        libc::SIGFPE => stop(Rule::BugCheck, format_args!("divides by zero, or the quotient is too large")),
        libc::SIGTRAP => stop(Rule::BugCheck, format_args!("hits a breakpoint without a debugger")),
        _ => {
            // The processor reports no address for these faults, so it is computed from the driver's instruction. For a
            // fault in a routine of the host, the address is known.
            let operand = || operand(&code_at(registers.rip))?.address(registers);
            let address = if is_code(registers.rip) { operand() } else { Some(address) };
            match address.filter(|address| *address != 0) {
                Some(address) if !is_canonical(address) => {
                    stop(Rule::AccessViolation, format_args!("uses {address:#x}, which is not a canonical address"))
                }
                Some(address) if address % 16 != 0 => stop(
                    Rule::AccessViolation,
                    format_args!("uses {address:#x}, which is not aligned as the instruction requires"),
                ),
                _ => stop(Rule::AccessViolation, format_args!("uses an address that is not canonical or not aligned")),
            }
        }
    }
}

/// Returns the meaning of a `FAST_FAIL_…` code of winnt.h.
const fn fast_fail(code: u32) -> &'static str {
    match code {
        0 => "legacy stack cookie check",
        2 => "stack cookie check",
        3 => "corrupt list entry",
        5 => "invalid argument",
        7 => "fatal application exit",
        8 => "range check",
        10 => "Control Flow Guard check of an indirect call",
        _ => "see the FAST_FAIL_ codes in winnt.h",
    }
}
