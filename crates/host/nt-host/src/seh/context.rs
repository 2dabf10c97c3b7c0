//! `CONTEXT` of x64, in a driver's memory.
//!
//! Offsets are those of the structure in winnt.h, as Microsoft's metadata for Rust (windows-sys) lays it out.

use crate::memory::guest;
use crate::unwind::Registers;

/// Bytes of the structure.
pub(crate) const SIZE: u64 = 0x4D0;
const FLAGS: u64 = 0x30;
const MXCSR: u64 = 0x34;
/// Selectors of code, data and stack.
const SELECTORS: [(u64, u16); 6] = [(0x38, 0x10), (0x3A, 0x2B), (0x3C, 0x2B), (0x3E, 0x53), (0x40, 0x2B), (0x42, 0x18)];
pub(crate) const EFLAGS: u64 = 0x44;
/// The general registers, in the order of their numbers.
pub(crate) const GENERAL: u64 = 0x78;
pub(crate) const RIP: u64 = 0xF8;
/// `FltSave`, whose control and status word is repeated there.
const SAVED_MXCSR: u64 = 0x100 + 0x18;
pub(crate) const XMM: u64 = 0x1A0;

/// `CONTEXT_CONTROL`, `…_INTEGER`, `…_SEGMENTS` and `…_FLOATING_POINT`.
const ALL: u32 = 0x0010_000F;
/// Every exception of floating point masked: what a thread starts with.
const MXCSR_DEFAULT: u32 = 0x1F80;
/// Interrupts are on.
const EFLAGS_DEFAULT: u32 = 0x202;

/// Writes a whole structure.
pub(crate) fn write(at: u64, registers: &Registers, eflags: Option<u32>) {
    guest::fill(at, 0, SIZE);
    guest::write(at + FLAGS, ALL);
    guest::write(at + MXCSR, MXCSR_DEFAULT);
    guest::write(at + SAVED_MXCSR, MXCSR_DEFAULT);
    for (offset, selector) in SELECTORS {
        guest::write(at + offset, selector);
    }
    guest::write(at + EFLAGS, eflags.unwrap_or(EFLAGS_DEFAULT));
    update(at, registers);
}

/// Writes the registers of a structure and leaves the rest.
pub(crate) fn update(at: u64, registers: &Registers) {
    for (value, place) in registers.general.iter().zip((at + GENERAL..).step_by(8)) {
        guest::write(place, *value);
    }
    guest::write(at + RIP, registers.rip);
    for (vector, place) in registers.xmm.iter().zip((at + XMM..).step_by(16)) {
        guest::write(place, *vector as u64);
        guest::write(place + 8, (*vector >> 64) as u64);
    }
}

/// Reads the registers of a structure.
pub(crate) fn read(at: u64) -> Registers {
    let mut registers = Registers { rip: guest::read(at + RIP), ..Registers::default() };
    for (value, place) in registers.general.iter_mut().zip((at + GENERAL..).step_by(8)) {
        *value = guest::read(place);
    }
    for (vector, place) in registers.xmm.iter_mut().zip((at + XMM..).step_by(16)) {
        *vector = u128::from(guest::read::<u64>(place)) | u128::from(guest::read::<u64>(place + 8)) << 64;
    }
    registers
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use windows_sys::Win32::System::Diagnostics::Debug::{CONTEXT, XSAVE_FORMAT};

    #[test]
    fn offsets_are_those_of_microsofts_metadata() {
        assert_eq!(size_of::<CONTEXT>() as u64, super::SIZE);
        let saved = offset_of!(CONTEXT, Anonymous);
        let selectors = [
            offset_of!(CONTEXT, SegCs),
            offset_of!(CONTEXT, SegDs),
            offset_of!(CONTEXT, SegEs),
            offset_of!(CONTEXT, SegFs),
            offset_of!(CONTEXT, SegGs),
            offset_of!(CONTEXT, SegSs),
        ];
        assert_eq!(selectors.map(|offset| offset as u64), super::SELECTORS.map(|(offset, _)| offset));
        for (ours, theirs) in [
            (super::FLAGS, offset_of!(CONTEXT, ContextFlags)),
            (super::MXCSR, offset_of!(CONTEXT, MxCsr)),
            (super::EFLAGS, offset_of!(CONTEXT, EFlags)),
            (super::GENERAL, offset_of!(CONTEXT, Rax)),
            (super::GENERAL + 4 * 8, offset_of!(CONTEXT, Rsp)),
            (super::GENERAL + 15 * 8, offset_of!(CONTEXT, R15)),
            (super::RIP, offset_of!(CONTEXT, Rip)),
            (super::SAVED_MXCSR, saved + offset_of!(XSAVE_FORMAT, MxCsr)),
            (super::XMM, saved + offset_of!(XSAVE_FORMAT, XmmRegisters)),
        ] {
            assert_eq!(ours, theirs as u64);
        }
    }
}
