//! The registers that a caller gets back.

/// Registers of a thread at some instruction. Those that a callee may change are only right for the innermost frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// General registers, in the order in which instructions number them: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 …
    pub general: [u64; 16],
    /// The instruction.
    pub rip: u64,
    /// The vector registers.
    pub xmm: [u128; 16],
}

/// The number of rsp.
const RSP: usize = 4;

impl Registers {
    /// The stack pointer.
    #[must_use]
    pub const fn rsp(&self) -> u64 {
        self.general[RSP]
    }

    /// Sets the stack pointer.
    pub const fn set_rsp(&mut self, value: u64) {
        self.general[RSP] = value;
    }

    /// A register by its number; only four bits of it count.
    #[must_use]
    pub fn get(&self, number: u8) -> u64 {
        self.general.get(usize::from(number & 15)).copied().unwrap_or_default()
    }

    /// Sets a register by its number.
    pub fn set(&mut self, number: u8, value: u64) {
        if let Some(register) = self.general.get_mut(usize::from(number & 15)) {
            *register = value;
        }
    }
}
