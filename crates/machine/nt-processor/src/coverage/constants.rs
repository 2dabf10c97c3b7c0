//! The constants that code compares values with: control codes, lengths, magic values.

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{Instruction, Mnemonic, OpKind, Register};

/// The smallest value that a range of cases begins at to count as control codes: device types are in the upper half.
const FIRST_CODE: u64 = 0x1_0000;
/// The maximum number of values of a range that are listed.
const MAX_CASES: u64 = 64;

/// Returns the constants of comparisons with the addresses of the instructions, in the order of these. Compilers subtract the first case of a `switch` and compare
/// the difference with that of the next one, so these sums are included, and so are the values of a range, one by one and
/// in steps of 4, as control codes have them.
pub(super) fn compared(instructions: impl Iterator<Item = Instruction>) -> Vec<(u32, u64)> {
    let mut compared = BTreeSet::new();
    // What was subtracted from the value of a register, and the constants in registers.
    let mut subtracted: BTreeMap<Register, u64> = BTreeMap::new();
    let mut loaded: BTreeMap<Register, u64> = BTreeMap::new();
    for instruction in instructions {
        let mut found = Vec::new();
        let register = |number: u32| {
            let is_register = number < instruction.op_count() && instruction.op_kind(number) == OpKind::Register;
            is_register.then(|| instruction.op_register(number).full_register())
        };
        let constant = instruction.try_immediate(1).ok();
        let target = register(0);
        let sum = target.and_then(|target| subtracted.get(&target)).copied().unwrap_or_default();
        match (instruction.mnemonic(), constant) {
            (Mnemonic::Cmp, Some(constant)) => {
                found.push(cut(constant, &instruction));
                found.push(cut(sum.wrapping_add(constant), &instruction));
                if sum >= FIRST_CODE {
                    let cases = 0..=constant.min(MAX_CASES);
                    found.extend(
                        cases.flat_map(|case| [1, 4].map(|step| cut(sum.wrapping_add(case * step), &instruction))),
                    );
                }
            }
            (Mnemonic::Test, Some(constant)) => found.push(cut(constant, &instruction)),
            (Mnemonic::Sub | Mnemonic::Add, Some(constant)) if target != Some(Register::RSP) => {
                let difference =
                    if instruction.mnemonic() == Mnemonic::Sub { constant } else { constant.wrapping_neg() };
                let sum = cut(sum.wrapping_add(difference), &instruction);
                found.push(sum);
                subtracted.extend(target.map(|target| (target, sum)));
            }
            (Mnemonic::Dec, _) => {
                found.push(sum.wrapping_add(1));
                subtracted.extend(target.map(|target| (target, sum.wrapping_add(1))));
            }
            // The difference in another register: `lea ecx, [rax - 0x222000]`.
            (Mnemonic::Lea, _)
                if instruction.memory_index() == Register::None && instruction.memory_base() != Register::RIP =>
            {
                let base = instruction.memory_base().full_register();
                let sum = subtracted.get(&base).copied().unwrap_or_default();
                let sum = cut(sum.wrapping_sub(instruction.memory_displacement64()), &instruction);
                if base != Register::RSP && base != Register::RBP {
                    subtracted.extend(target.map(|target| (target, sum)));
                }
            }
            (Mnemonic::Mov, Some(constant)) => {
                subtracted.retain(|known, _| Some(*known) != target);
                loaded.extend(target.map(|target| (target, cut(constant, &instruction))));
                continue;
            }
            (Mnemonic::Cmp, None) => {
                let constants = [0, 1].into_iter().filter_map(register).filter_map(|register| loaded.get(&register));
                found.extend(constants.copied());
            }
            // The negative first case of a range, to which the value is added.
            (Mnemonic::Add, None) => {
                let first = target
                    .and_then(|target| loaded.get(&target))
                    .map(|constant| cut(constant.wrapping_neg(), &instruction));
                subtracted.retain(|known, _| Some(*known) != target);
                subtracted.extend(target.zip(first));
                found.extend(first);
            }
            // A shift of the difference: the cases of a range in steps.
            (Mnemonic::Ror | Mnemonic::Rol | Mnemonic::Shr | Mnemonic::Push, _) => {}
            (Mnemonic::Call, _) => {
                subtracted.clear();
                loaded.clear();
            }
            _ => subtracted.retain(|known, _| Some(*known) != target),
        }
        compared.extend(found.into_iter().map(|constant| (instruction.ip32(), constant)));
        if !matches!(instruction.mnemonic(), Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Push) {
            loaded.retain(|known, _| Some(*known) != target);
        }
    }
    compared.into_iter().collect()
}

/// Returns a value in the width of an instruction's first operand: a 32-bit constant is sign-extended in a 64-bit one.
fn cut(value: u64, instruction: &Instruction) -> u64 {
    let is_register = instruction.op0_kind() == OpKind::Register;
    let width = if is_register { instruction.op0_register().size() } else { instruction.memory_size().size() };
    if width < 8 { value & ((1 << (width * 8)) - 1) } else { value }
}
