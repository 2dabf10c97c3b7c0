//! The constants of an image that are the start of the system's addresses.
//!
//! A Linux process has no addresses in the upper half, so a driver would take every address of this host for one of user
//! mode, and would not free its memory. The loader replaces these constants. The same bits are also masks, which must not
//! change. So a constant counts only if it is a variable with a value of `MM_SYSTEM_RANGE_START`, or if the code compares
//! it as an unsigned number, and uses it in no other way.

use nt_processor::layout::operand_length;
use pe_image::{Layout, Section};

/// The start of the system's addresses on this host.
const LOWEST: u64 = 0x1_0000;

/// The values of `MM_SYSTEM_RANGE_START` on x64: before Windows 8.1, and since. An image contains the constant as a
/// variable.
const DEFINED: [u64; 2] = [0xFFFF_0800_0000_0000, 0xFFFF_8000_0000_0000];

/// Another lower limit of the system's addresses, which some headers define. It is more often a mask, so that a variable
/// counts only if code compares addresses with it.
const UPPER_WORD: u64 = 0xFFFF_0000_0000_0000;

/// The maximum number of such variables. More of them are a table of masks, and each costs a search of the code.
const MAX_VARIABLES: usize = 16;

/// How many bytes after a load the comparison starts at most, and how many bytes after that are searched for other uses.
const NEAR: usize = 16;
const FAR: usize = 64;
/// The maximum number of moves between a comparison and the instruction that depends on it.
const MAX_MOVES: u32 = 4;

/// A constant that the loader replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Constant {
    pub(super) rva: u32,
    pub(super) old: u64,
    pub(super) new: u64,
    /// Whether it is part of an instruction.
    pub(super) in_code: bool,
}

/// Returns the constants of an image that the loader replaces.
pub(super) fn find(layout: &Layout) -> Vec<Constant> {
    let code: Vec<(u32, &[u8])> = sections(layout, true).collect();
    let mut found = Vec::new();
    let mut variables = Vec::new();
    for (start, bytes) in sections(layout, false) {
        let words = bytes.as_chunks::<8>().0;
        for (index, (rva, word)) in (start..).step_by(8).zip(words).enumerate() {
            let old = u64::from_le_bytes(*word);
            // Two equal words that share 16 aligned bytes are a mask for vector instructions.
            let is_pair = words.get(index ^ 1) == Some(word);
            if DEFINED.contains(&old) && !is_pair {
                found.push(Constant { rva, old, new: LOWEST, in_code: false });
            } else if old == UPPER_WORD {
                variables.push(Constant { rva, old, new: LOWEST, in_code: false });
            }
        }
    }
    if variables.len() <= MAX_VARIABLES {
        found.extend(variables.into_iter().filter(|variable| is_variable_compared(&code, variable.rva)));
    }
    for (start, bytes) in code {
        for at in 0..bytes.len() {
            if let Some((old, new)) = bytes.get(at..).and_then(compared_operand) {
                found.push(Constant { rva: start + at as u32 + 2, old, new, in_code: true });
            }
        }
    }
    found
}

fn sections(layout: &Layout, executable: bool) -> impl Iterator<Item = (u32, &[u8])> {
    let wanted = layout.sections.iter().filter(move |section| section.is_executable() == executable);
    wanted.filter_map(|section: &Section| {
        let start = section.rva as usize;
        let size = section.memory_size() as usize;
        let end = start.saturating_add(size).min(layout.bytes.len());
        Some((section.rva, layout.bytes.get(start..end)?))
    })
}

/// Returns the constant of `mov r64, imm64` at the start of `code` and its replacement, if the register is compared
/// next. Compilers turn `>=` into `>` of the number before it, and so on.
fn compared_operand(code: &[u8]) -> Option<(u64, u64)> {
    let [rex @ (0x48 | 0x49), opcode @ 0xB8..=0xBF, rest @ ..] = code else { return None };
    let (constant, next) = rest.split_first_chunk::<8>()?;
    let old = u64::from_le_bytes(*constant);
    let new = DEFINED.iter().chain([&UPPER_WORD]).find_map(|start| {
        let distance = old.wrapping_sub(*start).cast_signed();
        (-1..=1).contains(&distance).then(|| LOWEST.wrapping_add_signed(distance))
    })?;
    is_compared(next, (opcode & 7) | (rex & 1) << 3).then_some((old, new))
}

/// Returns whether code compares addresses with the variable at an RVA, and uses it in no other way.
fn is_variable_compared(code: &[(u32, &[u8])], variable: u32) -> bool {
    let mut is_compared_once = false;
    for (start, bytes) in code {
        for (at, window) in bytes.windows(8).enumerate() {
            // A prefix, the opcode, the operand byte for an address relative to the next instruction, the distance.
            let [rex, opcode, operand, a, b, c, d, _] = *window else { continue };
            let end = start + at as u32 + 7;
            let distance = i32::from_le_bytes([a, b, c, d]);
            if operand & 0xC7 != 5 || end.wrapping_add_signed(distance) != variable {
                continue;
            }
            let next = bytes.get(at + 7..).unwrap_or_default();
            let compares = match opcode {
                0x39 | 0x3B => is_unsigned(next),
                0x8B => is_compared(next, (operand >> 3 & 7) | (rex & 4) << 1),
                _ => false,
            };
            if !compares || rex & 0xF8 != 0x48 {
                return false;
            }
            is_compared_once = true;
        }
    }
    is_compared_once
}

/// Returns whether the value of a register is compared next as an unsigned number, and used in no other way nearby.
fn is_compared(code: &[u8], register: u8) -> bool {
    let uses = (0..FAR.min(code.len())).filter_map(|at| Some((at, use_of(code.get(at..)?, register)?)));
    let mut uses = uses.take_while(|(_, found)| *found != Use::Replaced);
    let Some((at, Use::Comparison { length })) = uses.next() else { return false };
    at <= NEAR
        && is_unsigned(code.get(at + length..).unwrap_or_default())
        && uses.all(|(_, other)| matches!(other, Use::Comparison { .. }))
}

/// How an instruction uses a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Comparison {
        length: usize,
    },
    /// Arithmetic, an operation on bits, or a copy.
    Other,
    /// The register gets another value.
    Replaced,
}

/// Returns how the 64-bit instruction at the start of `code` uses a register, if it is a load or one of arithmetic or
/// logic.
fn use_of(code: &[u8], register: u8) -> Option<Use> {
    let [rex @ 0x48..=0x4F, opcode, operand, tail @ ..] = code else { return None };
    if matches!(opcode, 0xB8..=0xBF) {
        return ((opcode & 7) | (rex & 1) << 3 == register).then_some(Use::Replaced);
    }
    let first = (operand >> 3 & 7) | (rex & 4) << 1;
    let second = (operand & 7) | (rex & 1) << 3;
    let is_register = operand >> 6 == 3;
    if first != register && !(is_register && second == register) {
        return None;
    }
    match opcode {
        0x39 | 0x3B => {
            let more = if is_register { 0 } else { operand_length(*operand, tail) };
            Some(Use::Comparison { length: 3 + usize::from(more) })
        }
        0x01 | 0x03 | 0x09 | 0x0B | 0x21 | 0x23 | 0x29 | 0x2B | 0x31 | 0x33 | 0x85 => Some(Use::Other),
        // A copy of its value, which may be used in any way.
        0x89 if first == register => Some(Use::Other),
        0x8B if first != register => Some(Use::Other),
        0x89 | 0x8B => Some(Use::Replaced),
        _ => None,
    }
}

/// Returns whether the next instruction that depends on a comparison takes it as an unsigned one: a jump, a conditional
/// move, or one that stores the result. Compilers put moves before it, which do not change the flags.
fn is_unsigned(code: &[u8]) -> bool {
    let mut code = code;
    for _ in 0..MAX_MOVES {
        let Some(rest) = behind_move(code) else { break };
        code = rest;
    }
    matches!(
        code,
        [0x72 | 0x73 | 0x76 | 0x77, ..]
            | [0x0F, 0x42 | 0x43 | 0x46 | 0x47 | 0x82 | 0x83 | 0x86 | 0x87 | 0x92 | 0x93 | 0x96 | 0x97, ..]
            | [0x40..=0x4F, 0x0F, 0x42 | 0x43 | 0x46 | 0x47 | 0x92 | 0x93 | 0x96 | 0x97, ..]
    )
}

/// Returns the code after a move, if there is one at the start of `code`: `mov` or `lea` with an operand in memory or a
/// register, and `mov` of a 32-bit constant.
fn behind_move(code: &[u8]) -> Option<&[u8]> {
    let code = if let [0x40..=0x4F, rest @ ..] = code { rest } else { code };
    let (constant, operand, tail) = match code {
        [0x88..=0x8B | 0x8D, operand, tail @ ..] => (0, *operand, tail),
        [0xC7, operand, tail @ ..] => (4, *operand, tail),
        _ => return None,
    };
    let more = if operand >> 6 == 3 { 0 } else { operand_length(operand, tail) };
    tail.get(usize::from(more) + constant..)
}

#[cfg(test)]
mod tests {
    use super::{LOWEST, compared_operand, is_variable_compared};

    /// `movabs rax, 0xFFFF800000000000`, followed by other instructions.
    fn load(next: &[u8]) -> Vec<u8> {
        [&[0x48, 0xB8, 0, 0, 0, 0, 0, 0x80, 0xFF, 0xFF], next].concat()
    }

    #[test]
    fn a_constant_that_is_compared_as_an_unsigned_number_is_replaced() {
        let old = 0xFFFF_8000_0000_0000;
        let new = LOWEST;
        // cmp [rsp], rax; setae al
        assert_eq!(compared_operand(&load(&[0x48, 0x39, 0x04, 0x24, 0x0F, 0x93, 0xC0])), Some((old, new)));
        // xor edx, edx; cmp rcx, rax; jb
        assert_eq!(compared_operand(&load(&[0x31, 0xD2, 0x48, 0x39, 0xC1, 0x72, 5])), Some((old, new)));
        // movabs r9, 0xFFFF07FFFFFFFFFF; cmp rax, r9; cmova rcx, rdx
        let code = [0x49, 0xB9, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 7, 0xFF, 0xFF, 0x4C, 0x39, 0xC8, 0x48, 0x0F, 0x47, 0xCA];
        assert_eq!(compared_operand(&code), Some((0xFFFF_07FF_FFFF_FFFF, LOWEST - 1)));
    }

    #[test]
    fn a_mask_and_a_number_that_is_compared_otherwise_stay() {
        for next in [
            // and rax, rcx
            &[0x48, 0x21, 0xC8, 0xC3][..],
            // cmp rcx, rax; sete al: equality
            &[0x48, 0x39, 0xC1, 0x0F, 0x94, 0xC0],
            // cmp rcx, rax; setl al: signed
            &[0x48, 0x39, 0xC1, 0x0F, 0x9C, 0xC0],
            // cmp rcx, rdx; jb: another register
            &[0x48, 0x39, 0xD1, 0x72, 5],
            // mov rax, rcx; cmp rcx, rax; jb: another value
            &[0x48, 0x8B, 0xC1, 0x48, 0x39, 0xC1, 0x72, 5],
            // cmp rcx, rax; jb; and rcx, rax: also a mask
            &[0x48, 0x39, 0xC1, 0x72, 5, 0x48, 0x23, 0xC8],
            // mov r8, rax; and r8, rcx; cmp rcx, rax; cmovb rax, r8: a copy is a mask
            &[0x49, 0x89, 0xC0, 0x49, 0x21, 0xC8, 0x48, 0x39, 0xC1, 0x49, 0x0F, 0x42, 0xC0],
            // shr rax, 16
            &[0x48, 0xC1, 0xE8, 16],
            &[],
        ] {
            assert_eq!(compared_operand(&load(next)), None, "{next:x?}");
        }
        // Another constant: movabs rax, 0xFFFFF78000000000; cmp rcx, rax; jb
        let other = [0x48, 0xB8, 0, 0, 0, 0, 0x80, 0xF7, 0xFF, 0xFF, 0x48, 0x39, 0xC1, 0x72, 5];
        assert_eq!(compared_operand(&other), None);
    }

    #[test]
    fn a_variable_counts_if_code_only_compares_with_it() {
        // The variable is at 0x2000, the code at 0x1000.
        let is_compared = |code: &[u8]| is_variable_compared(&[(0x1000, &[code, &[0; 8]].concat())], 0x2000);
        // cmp rax, [variable]; seta al
        assert!(is_compared(&[0x48, 0x3B, 0x05, 0xF9, 0x0F, 0, 0, 0x0F, 0x97, 0xC0]));
        // cmp rcx, [variable]; mov rbx, [rsp+64]; mov dword ptr [rax], 5; jbe
        let moves = [0x48, 0x8B, 0x5C, 0x24, 0x40, 0xC7, 0x00, 5, 0, 0, 0, 0x76, 5];
        assert!(is_compared(&[&[0x48, 0x3B, 0x0D, 0xF9, 0x0F, 0, 0][..], &moves].concat()));
        // mov rcx, [variable]; cmp rax, rcx; ja
        assert!(is_compared(&[0x48, 0x8B, 0x0D, 0xF9, 0x0F, 0, 0, 0x48, 0x39, 0xC8, 0x77, 5]));
        // mov rcx, [variable]; shl rcx, 16
        assert!(!is_compared(&[0x48, 0x8B, 0x0D, 0xF9, 0x0F, 0, 0, 0x48, 0xC1, 0xE1, 16]));
        // lea rcx, [variable]
        assert!(!is_compared(&[0x48, 0x8D, 0x0D, 0xF9, 0x0F, 0, 0, 0xC3]));
        // andps xmm0, [variable]
        assert!(!is_compared(&[0x0F, 0x54, 0x05, 0xF9, 0x0F, 0, 0, 0xC3]));
        // and rax, [variable] after cmp rax, [variable]; ja
        let both = [0x48, 0x3B, 0x05, 0xF9, 0x0F, 0, 0, 0x77, 5, 0x48, 0x23, 0x05, 0xF0, 0x0F, 0, 0];
        assert!(!is_compared(&both));
        assert!(!is_compared(&[0xC3]));
    }
}
