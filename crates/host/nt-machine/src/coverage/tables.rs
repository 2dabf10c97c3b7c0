//! Code that only tables lead to: the cases of a `switch`, and the blocks of `__except`.

use iced_x86::{Instruction, Mnemonic, OpKind, Register};
use pe_image::Layout;
use pe_image::unwind::Functions;

use super::descent::relative_operand;

/// How many instructions before a jump are searched for the load from its table, and for the check of the index.
const NEAR: usize = 24;
/// The maximum number of entries of a table.
const MOST: u32 = 4096;
/// The maximum number of scopes in a function.
const MOST_SCOPES: u32 = 1024;

/// Returns the blocks of `__except` in the scope tables of functions. The same place has other data for other handlers,
/// so a table counts only if every scope is inside of its function.
pub(super) fn handler_blocks(layout: &Layout) -> Vec<u32> {
    let functions = Functions::from_layout(layout);
    let mut blocks = Vec::new();
    for function in functions.iter() {
        let Some(handler) = functions.handler(&function) else { continue };
        let Some(count) = word(layout, handler.data).filter(|count| (1..=MOST_SCOPES).contains(count)) else {
            continue;
        };
        let contains = |rva: u32| function.begin <= rva && rva <= function.end;
        let scopes = (0..count).map(|index| {
            let field = |number: u32| word(layout, handler.data.checked_add(4 + index * 16 + number * 4)?);
            let (begin, end, target) = (field(0)?, field(1)?, field(3)?);
            (begin < end && contains(begin) && contains(end) && (target == 0 || contains(target))).then_some(target)
        });
        let targets: Option<Vec<u32>> = scopes.collect();
        blocks.extend(targets.into_iter().flatten().filter(|target| *target != 0));
    }
    blocks
}

/// Returns the targets of the jumps through tables, in instructions that are in the order of their addresses.
pub(super) fn switch_targets(layout: &Layout, instructions: &[Instruction]) -> Vec<u32> {
    let is_jump =
        |instruction: &Instruction| instruction.is_jmp_near_indirect() && instruction.op0_kind() == OpKind::Register;
    let jumps = instructions.iter().enumerate().filter(|(_, instruction)| is_jump(instruction));
    jumps
        .flat_map(|(index, jump)| {
            let before = instructions.get(index.saturating_sub(NEAR)..index).unwrap_or_default();
            targets(layout, jump, before).unwrap_or_default()
        })
        .collect()
}

/// Returns the targets of a jump, from the instructions before it:
///
/// ```text
/// cmp  index, last        ja   default
/// lea  base, [table]                                  or [the image]
/// movsxd target, dword ptr [base + index * 4]         or mov, and the address of the table in the image
/// add  target, base       jmp  target
/// ```
fn targets(layout: &Layout, jump: &Instruction, before: &[Instruction]) -> Option<Vec<u32>> {
    let target = full(jump.op0_register());
    let writes = |instruction: &&Instruction, register: Register| {
        instruction.op_count() != 0
            && instruction.op0_kind() == OpKind::Register
            && full(instruction.op0_register()) == register
            && !matches!(instruction.mnemonic(), Mnemonic::Cmp | Mnemonic::Test)
    };
    let mut back = before.iter().rev();
    let sum = back.find(|instruction| writes(instruction, target))?;
    if sum.mnemonic() != Mnemonic::Add || sum.op1_kind() != OpKind::Register {
        return None;
    }
    let base = full(sum.op1_register());
    let load = back.find(|instruction| writes(instruction, target))?;
    let is_signed = match load.mnemonic() {
        Mnemonic::Movsxd => true,
        Mnemonic::Mov => false,
        _ => return None,
    };
    if full(load.memory_base()) != base || load.memory_index_scale() != 4 {
        return None;
    }
    let origin = before.iter().rev().find(|instruction| writes(instruction, base))?;
    let origin = Some(origin).filter(|origin| origin.mnemonic() == Mnemonic::Lea).and_then(relative_operand)?;
    let mut count = count(before)?;
    // A table of bytes in front of the table of targets, for values that share targets.
    let index = full(load.memory_index());
    let narrow = back.find(|instruction| writes(instruction, index));
    if let Some(narrow) =
        narrow.filter(|narrow| narrow.mnemonic() == Mnemonic::Movzx && narrow.memory_base() != Register::None)
    {
        let table = origin.wrapping_add(narrow.memory_displacement32()) as usize;
        let bytes = layout.bytes.get(table..)?.get(..count as usize)?;
        count = u32::from(*bytes.iter().max()?) + 1;
    }
    let table = origin.wrapping_add(load.memory_displacement32());
    let entry = |number: u32| {
        let offset = word(layout, table.checked_add(number * 4)?)?;
        // Neither an address in the image nor a distance inside of it has more than 31 bits.
        (is_signed || offset.cast_signed() >= 0).then(|| origin.wrapping_add(offset))
    };
    (0..count).map(entry).collect()
}

/// Returns the number of cases, from the comparison with the last one.
fn count(before: &[Instruction]) -> Option<u32> {
    let check =
        before.iter().rposition(|instruction| matches!(instruction.mnemonic(), Mnemonic::Ja | Mnemonic::Jae))?;
    let compared = before.get(..check)?.iter().rev().find(|instruction| instruction.mnemonic() == Mnemonic::Cmp)?;
    let last = u32::try_from(compared.try_immediate(1).ok()?).ok()?;
    let is_last = before.get(check)?.mnemonic() == Mnemonic::Ja;
    Some(last.checked_add(is_last.into())?).filter(|count| (1..=MOST).contains(count))
}

fn full(register: Register) -> Register {
    register.full_register()
}

fn word(layout: &Layout, rva: u32) -> Option<u32> {
    layout.bytes.get(rva as usize..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}
