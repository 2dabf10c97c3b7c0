//! The registers that unwinding restores.

/// Registers of a thread at an instruction. Volatile registers are valid only in the innermost frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// General registers in the order of their encoding: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 …
    pub general: [u64; 16],
    /// The instruction pointer.
    pub rip: u64,
    /// The vector registers.
    pub xmm: [u128; 16],
}

/// The number of rsp in instruction encodings.
const RSP: usize = 4;

impl Registers {
    /// Returns the stack pointer.
    #[must_use]
    pub const fn rsp(&self) -> u64 {
        self.general[RSP]
    }

    /// Sets the stack pointer.
    pub const fn set_rsp(&mut self, value: u64) {
        self.general[RSP] = value;
    }

    /// Returns a register by number. Only the lower four bits of the number are used.
    #[must_use]
    pub fn get(&self, number: u8) -> u64 {
        self.general.get(usize::from(number & 15)).copied().unwrap_or_default()
    }

    /// Sets a register by number. Only the lower four bits of the number are used.
    pub fn set(&mut self, number: u8, value: u64) {
        if let Some(register) = self.general.get_mut(usize::from(number & 15)) {
            *register = value;
        }
    }
}
