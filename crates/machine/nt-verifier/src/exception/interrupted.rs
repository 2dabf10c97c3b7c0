//! The registers of a thread that a signal interrupted.

use nt_processor::cpu::switch::{ALIGNMENT_CHECK, DIRECTION};
use nt_processor::memory::Recovery;
use pe_image::unwind::Registers;

/// The registers at the fault.
pub struct Context<'a> {
    registers: &'a mut [i64; 23],
    vectors: [u128; 16],
}

/// The indices of the general registers, in the order in which instructions number them.
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

#[expect(
    clippy::indexing_slicing,
    reason = "constants of the C library, below the array's length; a register has 4 bits"
)]
impl<'a> Context<'a> {
    pub const fn new(registers: &'a mut [i64; 23], vectors: [u128; 16]) -> Self {
        Self { registers, vectors }
    }

    pub(super) fn get(&self, register: u8) -> u64 {
        self.registers[ORDER[usize::from(register & 15)]].cast_unsigned()
    }

    pub(super) fn set(&mut self, register: u8, value: u64) {
        self.registers[ORDER[usize::from(register & 15)]] = value.cast_signed();
    }

    /// Returns all registers.
    pub(super) fn all(&self) -> Registers {
        let mut registers = Registers { rip: self.rip(), xmm: self.vectors, ..Registers::default() };
        for number in 0..16 {
            registers.set(number, self.get(number));
        }
        registers
    }

    pub(super) fn rip(&self) -> u64 {
        self.registers[libc::REG_RIP as usize].cast_unsigned()
    }

    pub(super) fn rsp(&self) -> u64 {
        self.get(4)
    }

    /// Returns the first argument, at the start of a function.
    pub(super) fn rcx(&self) -> u64 {
        self.get(1)
    }

    pub(super) fn skip(&mut self, length: u8) {
        self.registers[libc::REG_RIP as usize] += i64::from(length);
    }

    /// Goes back to the breakpoint that was hit, so that the instruction there is executed when the signal handler returns.
    pub(super) fn repeat_breakpoint(&mut self) {
        self.registers[libc::REG_RIP as usize] -= 1;
    }

    /// Makes the thread continue at another address when the signal handler returns.
    pub(super) fn jump(&mut self, target: u64) {
        self.registers[libc::REG_RIP as usize] = target.cast_signed();
    }

    /// Sets or clears the trap flag. While it is set, the thread executes a single instruction only.
    pub(super) fn step(&mut self, on: bool) {
        const TRAP: i64 = 0x100;
        let flags = &mut self.registers[libc::REG_EFL as usize];
        *flags = if on { *flags | TRAP } else { *flags & !TRAP };
    }

    /// Clears the alignment check flag. Returns whether it was set.
    pub(super) fn clear_alignment_check(&mut self) -> bool {
        let flags = &mut self.registers[libc::REG_EFL as usize];
        let was_set = *flags & i64::from(ALIGNMENT_CHECK) != 0;
        *flags &= !i64::from(ALIGNMENT_CHECK);
        was_set
    }

    pub(super) fn eflags(&self) -> u32 {
        self.registers[libc::REG_EFL as usize].cast_unsigned() as u32
    }

    /// Makes the thread continue after a faulting access when the signal handler returns.
    pub(super) fn recover(&mut self, recovery: &Recovery) {
        self.registers[libc::REG_RIP as usize] = recovery.target.cast_signed();
        self.registers[libc::REG_RAX as usize] = recovery.address.cast_signed();
        self.registers[libc::REG_RDX as usize] = recovery.fault.cast_signed();
    }

    /// Makes the thread continue at `target` when the signal handler returns, with an argument and on the stack at
    /// `rsp`.
    pub(super) fn redirect(&mut self, target: u64, rsp: u64, argument: u64) {
        self.registers[libc::REG_RIP as usize] = target.cast_signed();
        self.registers[libc::REG_RDI as usize] = argument.cast_signed();
        self.set(4, rsp);
        // The System V convention requires a clear direction flag, and the host's code no alignment checks.
        self.registers[libc::REG_EFL as usize] &= !i64::from(DIRECTION | ALIGNMENT_CHECK);
    }
}
