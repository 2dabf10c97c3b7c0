//! Registers in the memory of a device, which a test scripts.
//!
//! The pages of such memory are inaccessible. The fault handler makes them accessible for one instruction, which runs with
//! the trap flag set. Before it, the memory gets the value that the register has; after it, the memory has what the
//! instruction has written, or what it had before. So instructions need not be emulated. Another thread that accesses the same pages during that
//! one instruction is not noticed.

use std::cell::Cell;

use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory, OpAccess, UsedMemory};
use nt_processor::memory::{Fault, GuestPtr};

use super::interrupted::Context;
use crate::hardware::{self, Mapping};

/// An instruction that is being executed.
#[derive(Clone, Copy)]
struct Step {
    mapping: Mapping,
    address: u64,
    width: u8,
    writes: bool,
    /// The memory before the register got its value there.
    before: Option<u64>,
}

thread_local! {
    static STEP: Cell<Option<Step>> = const { Cell::new(None) };
}

/// Lets an instruction access a register, after a page fault at an address. Returns whether the fault was such an access.
pub(super) fn begin(address: u64, faults_in_write: bool, code: &[u8], context: &mut Context<'_>) -> bool {
    let Some(mapping) = hardware::mapping_at(address) else { return false };
    let Some((width, reads, writes)) = operand(code, faults_in_write) else { return false };
    mapping.open(true);
    let read = || -> Result<u64, Fault> {
        let before = load(address, width)?;
        store(address, width, hardware::read(mapping.register(address), width, before))?;
        Ok(before)
    };
    let Ok(before) = reads.then(read).transpose() else {
        mapping.open(false);
        return false;
    };
    context.step(true);
    STEP.set(Some(Step { mapping, address, width, writes, before }));
    true
}

/// Takes what the instruction has written, and makes the memory inaccessible again. Returns whether there was such an
/// instruction. `is_done` says whether it was executed; otherwise it has faulted in another operand.
pub(super) fn end(is_done: bool, context: &mut Context<'_>) -> bool {
    let Some(Step { mapping, address, width, writes, before }) = STEP.take() else { return false };
    context.step(false);
    if writes && is_done {
        let written = load(address, width).unwrap_or_default();
        hardware::write(mapping.register(address), width, written);
    } else if let Some(before) = before {
        let _ = store(address, width, before);
    }
    mapping.open(false);
    true
}

/// Returns the width of the memory operand that faulted, at most 8, and whether the instruction reads and writes it.
fn operand(code: &[u8], faults_in_write: bool) -> Option<(u8, bool, bool)> {
    let instruction = Decoder::new(64, code, DecoderOptions::NONE).decode();
    let reads = |memory: &UsedMemory| {
        matches!(memory.access(), OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
    };
    let writes = |memory: &UsedMemory| {
        matches!(memory.access(), OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
    };
    let mut factory = InstructionInfoFactory::new();
    let operands = factory.info(&instruction).used_memory();
    let operand = operands.iter().find(|memory| if faults_in_write { writes(memory) } else { reads(memory) })?;
    // The operands of a repeated instruction have no size, because rcx is unknown: each repetition faults.
    let width = match operand.memory_size().size() {
        0 => instruction.memory_size().size(),
        size => size,
    };
    let width = u8::try_from(width.clamp(1, 8)).ok()?.next_power_of_two();
    Some((width, reads(operand), writes(operand)))
}

fn load(address: u64, width: u8) -> Result<u64, Fault> {
    let bytes = GuestPtr::<u8>::new(address).array(width.into()).read()?;
    Ok(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

fn store(address: u64, width: u8, value: u64) -> Result<(), Fault> {
    GuestPtr::<u8>::new(address).array(width.into()).write(&value.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::operand;

    #[test]
    fn the_operand_that_faulted_is_found_with_its_width() {
        for (code, in_write, expected) in [
            (&[0x8B, 0x01][..], false, Some((4, true, false))),   // mov eax, [rcx]
            (&[0x89, 0x01], true, Some((4, false, true))),        // mov [rcx], eax
            (&[0x0F, 0xB6, 0x01], false, Some((1, true, false))), // movzx eax, byte ptr [rcx]
            (&[0x66, 0xC7, 0x01, 1, 0], true, Some((2, false, true))), // mov word ptr [rcx], 1
            (&[0x48, 0x83, 0x09, 0x01], true, Some((8, true, true))), // or qword ptr [rcx], 1
            (&[0xF3, 0xA5], false, Some((4, true, false))),       // rep movsd
            (&[0xF3, 0xA4], true, Some((1, false, true))),        // rep movsb
            (&[0x0F, 0x28, 0x01], false, Some((8, true, false))), // movaps xmm0, [rcx]
            (&[0xC3], true, None),                                // ret
        ] {
            assert_eq!(operand(code, in_write), expected, "{code:02x?}");
        }
    }
}
