//! Registers as an x64 `CONTEXT`.

use pe_image::unwind::Registers;
use windows_constants::exception::{CONTEXT_CONTROL, CONTEXT_FLOATING_POINT, CONTEXT_INTEGER, CONTEXT_SEGMENTS};

use crate::layout::CONTEXT;
use crate::memory::{Fault, GuestPtr};

/// The parts that are stored.
const ALL: u32 = CONTEXT_CONTROL | CONTEXT_INTEGER | CONTEXT_SEGMENTS | CONTEXT_FLOATING_POINT;
/// All floating-point exceptions masked: the value that a thread starts with.
const MXCSR_DEFAULT: u32 = 0x1F80;
/// Interrupts enabled.
const EFLAGS_DEFAULT: u32 = 0x202;

impl GuestPtr<CONTEXT> {
    /// Writes the whole structure.
    pub fn set(self, registers: &Registers, eflags: Option<u32>) -> Result<(), Fault> {
        self.zero()?;
        self.ContextFlags().write(ALL)?;
        self.MxCsr().write(MXCSR_DEFAULT)?;
        self.FltSaveMxCsr().write(MXCSR_DEFAULT)?;
        self.SegCs().write(0x10)?;
        self.SegDs().write(0x2B)?;
        self.SegEs().write(0x2B)?;
        self.SegFs().write(0x53)?;
        self.SegGs().write(0x2B)?;
        self.SegSs().write(0x18)?;
        self.EFlags().write(eflags.unwrap_or(EFLAGS_DEFAULT))?;
        self.update(registers)
    }

    /// Writes the registers into the structure and leaves its other members unchanged.
    pub fn update(self, registers: &Registers) -> Result<(), Fault> {
        self.General().write(registers.general)?;
        self.Rip().write(registers.rip)?;
        self.XmmRegisters().write(registers.xmm)
    }

    /// Reads the registers from the structure.
    pub fn registers(self) -> Result<Registers, Fault> {
        let general = self.General().read()?;
        let xmm = self.XmmRegisters().read()?;
        Ok(Registers { general, xmm, rip: self.Rip().read()? })
    }
}
