//! What a fault means: an instruction to imitate, a page to bring in, or a driver's mistake.

use super::decode::{Instruction, decode};
use super::thread;
use crate::kernel;
use crate::memory::guest;
use crate::unwind::Registers;
use crate::verify::{self, At, Rule};

/// General protection and page fault, as the processor numbers them.
const GENERAL_PROTECTION: i64 = 13;
const PAGE_FAULT: i64 = 14;

/// What the system tells about a fault.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trap {
    pub(crate) signal: i32,
    pub(crate) number: i64,
    pub(crate) error: i64,
    pub(crate) address: u64,
}

/// The registers at the fault.
pub(crate) struct Context<'a> {
    registers: &'a mut [i64; 23],
}

/// Where the general registers are, in the order in which instructions number them.
const ORDER: [usize; 16] = [
    libc::REG_RAX as usize,
    libc::REG_RCX as usize,
    libc::REG_RDX as usize,
    libc::REG_RBX as usize,
    libc::REG_RSP as usize,
    libc::REG_RBP as usize,
    libc::REG_RSI as usize,
    libc::REG_RDI as usize,
    libc::REG_R8 as usize,
    libc::REG_R9 as usize,
    libc::REG_R10 as usize,
    libc::REG_R11 as usize,
    libc::REG_R12 as usize,
    libc::REG_R13 as usize,
    libc::REG_R14 as usize,
    libc::REG_R15 as usize,
];

impl<'a> Context<'a> {
    pub(crate) const fn new(registers: &'a mut [i64; 23]) -> Self {
        Self { registers }
    }

    fn get(&self, register: u8) -> u64 {
        self.registers[ORDER[usize::from(register & 15)]].cast_unsigned()
    }

    fn set(&mut self, register: u8, value: u64) {
        self.registers[ORDER[usize::from(register & 15)]] = value.cast_signed();
    }

    /// All of them, but for vectors.
    fn all(&self) -> Registers {
        let mut registers = Registers { rip: self.rip(), ..Registers::default() };
        for number in 0..16 {
            registers.set(number, self.get(number));
        }
        registers
    }

    fn rip(&self) -> u64 {
        self.registers[libc::REG_RIP as usize].cast_unsigned()
    }

    fn rsp(&self) -> u64 {
        self.get(4)
    }

    fn skip(&mut self, length: u8) {
        self.registers[libc::REG_RIP as usize] += i64::from(length);
    }
}

/// Handles a fault: returns where the driver may go on, and does not return where it may not.
pub(crate) fn handle(trap: Trap, context: &mut Context<'_>) {
    let outer = thread::fault();
    thread::set_fault(start_of_walk(context).as_ref());
    if trap.number == PAGE_FAULT && kernel::paging::bring_in(trap.address, &site_of(context)) {
        thread::set_fault(outer.as_ref());
        return;
    }
    if trap.number == GENERAL_PROTECTION && kernel::images::is_loaded(context.rip()) && imitate(context) {
        thread::set_fault(outer.as_ref());
        return;
    }
    let site = site_of(context);
    if verify::is_stopped() {
        verify::park();
    }
    if !thread::is_attached() {
        verify::stop(Rule::Host, None, 0, format_args!("signal {} at {:#x} in the host", trap.signal, context.rip()));
    }
    explain(trap, context, &site)
}

/// The driver's code that a fault belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FaultSite {
    pub(crate) routine: Option<&'static str>,
    pub(crate) address: At,
}

/// The faulting instruction where it is the driver's; else the call that the driver is making; else the innermost return
/// address into the driver.
fn site_of(context: &Context<'_>) -> FaultSite {
    if kernel::images::contains(context.rip()) {
        return FaultSite { routine: None, address: At::Code(context.rip()) };
    }
    if let Some(site) = thread::site() {
        return FaultSite { routine: Some(site.routine), address: At::Call(site.from) };
    }
    let address = return_address(context).map_or(0, |(_, address)| address);
    FaultSite { routine: None, address: At::Call(address) }
}

/// Where the walk along the driver's calls begins: as [`site_of`] says it.
fn start_of_walk(context: &Context<'_>) -> Option<Registers> {
    let mut registers = context.all();
    if kernel::images::contains(registers.rip) {
        return Some(registers);
    }
    if thread::site().is_some() {
        return None;
    }
    let (place, address) = return_address(context)?;
    registers.rip = address;
    registers.set_rsp(place + 8);
    Some(registers)
}

/// The innermost return address into the driver, and where it is.
fn return_address(context: &Context<'_>) -> Option<(u64, u64)> {
    let stack = thread::stack()?;
    let top = context.rsp().max(stack.low()) & !7;
    let words = (top..stack.high()).step_by(8).take(64);
    words.map(|place| (place, guest::read::<u64>(place))).find(|(_, word)| kernel::images::contains(*word))
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
            kernel::irql::change_silently(irql);
            context.skip(length);
            true
        }
        _ => false,
    }
}

/// The bytes of an instruction; fewer at the end of the image.
fn code_at(address: u64) -> Vec<u8> {
    let readable = kernel::images::readable_from(address).min(15);
    (0..readable).map(|offset| guest::read(address + offset)).collect()
}

/// Names the mistake.
fn explain(trap: Trap, context: &Context<'_>, site: &FaultSite) -> ! {
    let stop = |rule, detail: std::fmt::Arguments<'_>| -> ! { verify::stop(rule, site.routine, site.address, detail) };
    let address = trap.address;
    if trap.number == PAGE_FAULT {
        if thread::stack().is_some_and(|stack| stack.is_guard(address)) {
            stop(Rule::StackOverflow, format_args!("the kernel stack of 24 KiB is used up at {address:#x}"));
        }
        if let Some((rule, what)) = kernel::explain_address(address) {
            stop(rule, format_args!("{what}"));
        }
        let verb = match trap.error {
            error if error & 16 != 0 => "executes",
            error if error & 2 != 0 => "writes to",
            _ => "reads",
        };
        stop(Rule::AccessViolation, format_args!("{verb} {address:#x}"));
    }
    if kernel::images::is_loaded(context.rip()) {
        match decode(&code_at(context.rip())) {
            Instruction::FastFail => {
                let code = context.get(1) as u32;
                stop(Rule::FastFail, format_args!("__fastfail({code}): {}", fast_fail(code)));
            }
            Instruction::Assert => stop(Rule::BugCheck, format_args!("an assertion failed")),
            Instruction::Privileged(name) => stop(Rule::IllegalInstruction, format_args!("{name}")),
            Instruction::Interrupt(number) => stop(Rule::IllegalInstruction, format_args!("int {number:#x}")),
            _ => {}
        }
    }
    match trap.signal {
        libc::SIGILL => stop(Rule::IllegalInstruction, format_args!("an instruction that the processor does not know")),
        libc::SIGFPE => stop(Rule::BugCheck, format_args!("a division by zero or an overflow of one")),
        libc::SIGTRAP => stop(Rule::BugCheck, format_args!("a breakpoint, with no debugger")),
        _ => stop(Rule::AccessViolation, format_args!("uses an address that no processor accepts")),
    }
}

/// Names of `FAST_FAIL_…` codes, from winnt.h.
const fn fast_fail(code: u32) -> &'static str {
    match code {
        0 => "legacy stack cookie check",
        2 => "stack cookie check",
        3 => "corrupt list entry",
        5 => "invalid argument",
        7 => "fatal application exit",
        8 => "range check",
        10 => "guard check of an indirect call",
        _ => "a check of the driver's own",
    }
}

/// A thread that does not come back says where it is.
pub(crate) fn asked(context: &Context<'_>) {
    let site = site_of(context);
    thread::set_fault(start_of_walk(context).as_ref());
    verify::stop(Rule::Hang, site.routine, site.address, format_args!("does not come back"));
}
