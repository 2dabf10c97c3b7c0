//! Epilogs. The unwind codes describe only the prolog, so they cannot be used to unwind from an address in an epilog.
//!
//! The documentation restricts the form of epilogs so that they can be recognised: `add rsp, n` or `lea rsp, n[frame]`, pops of
//! eight-byte registers, and `ret` or a jump out of the function. This module simulates the rest of an epilog.

use super::{Function, Functions, ReadStack, Registers, UnwindError};

/// Maximum number of pops: there are 16 registers.
const MAX_POPS: usize = 16;

/// Simulates the rest of an epilog. Returns `false` if the instructions from `rva` on are not an epilog.
pub(super) fn finish(
    functions: &Functions<'_>,
    function: &Function,
    rva: u32,
    frame_register: u8,
    registers: &mut Registers,
    read: ReadStack<'_>,
) -> Result<bool, UnwindError> {
    let mut code = functions.image.get(rva as usize..).unwrap_or_default();
    let mut result = *registers;
    if let Some((rsp, length)) = release(code, frame_register, &result) {
        result.set_rsp(rsp);
        code = code.get(length..).unwrap_or_default();
    }
    for _ in 0..=MAX_POPS {
        let (register, length) = match *code {
            [op @ 0x58..=0x5F, ..] => (op & 7, 1),
            [rex @ 0x40..=0x4F, op @ 0x58..=0x5F, ..] => ((op & 7) | (rex & 1) << 3, 2),
            _ => break,
        };
        result.set(register, word(result.rsp(), read)?);
        result.set_rsp(result.rsp().wrapping_add(8));
        code = code.get(length..).unwrap_or_default();
    }
    let at = functions.image.len() - code.len();
    if !leaves(functions, function, code, at) {
        return Ok(false);
    }
    result.rip = word(result.rsp(), read)?;
    result.set_rsp(result.rsp().wrapping_add(8));
    *registers = result;
    Ok(true)
}

fn word(address: u64, read: ReadStack<'_>) -> Result<u64, UnwindError> {
    read(address).ok_or(UnwindError::Stack(address))
}

/// Decodes the instruction that releases the frame. Returns the new rsp and the length of the instruction.
fn release(code: &[u8], frame_register: u8, registers: &Registers) -> Option<(u64, usize)> {
    let byte = |value: u8| i64::from(value.cast_signed()).cast_unsigned();
    let word = |bytes: [u8; 4]| i64::from(i32::from_le_bytes(bytes)).cast_unsigned();
    let add = |value: u64, length| Some((registers.rsp().wrapping_add(value), length));
    match *code {
        [0x48, 0x83, 0xC4, value, ..] => return add(byte(value), 4),
        [0x48, 0x81, 0xC4, a, b, c, d, ..] => return add(word([a, b, c, d]), 7),
        _ => {}
    }
    let [rex @ (0x48 | 0x49), 0x8D, modrm, rest @ ..] = code else { return None };
    let base = (modrm & 7) | (rex & 1) << 3;
    if frame_register == 0 || base != frame_register || (modrm >> 3) & 7 != 4 {
        return None;
    }
    // A base of r12 needs a SIB byte.
    let (rest, length) = match rest {
        [0x24, rest @ ..] if modrm & 7 == 4 => (rest, 4),
        rest if modrm & 7 != 4 => (rest, 3),
        _ => return None,
    };
    let (offset, more) = match (modrm >> 6, rest) {
        (0, _) if modrm & 7 != 5 => (0, 0),
        (1, [value, ..]) => (byte(*value), 1),
        (2, [a, b, c, d, ..]) => (word([*a, *b, *c, *d]), 4),
        _ => return None,
    };
    Some((registers.get(base).wrapping_add(offset), length + more))
}

/// Returns whether an instruction returns or jumps out of the function. Indirect jumps count only in the forms that compilers use
/// for tail calls: through a pointer in the image, or with a REX.W prefix.
fn leaves(functions: &Functions<'_>, function: &Function, code: &[u8], at: usize) -> bool {
    let out = |distance: i64, length: i64| {
        let target = i64::try_from(at).ok().and_then(|at| at.checked_add(distance + length));
        let Some(target) = target.and_then(|target| u32::try_from(target).ok()) else { return false };
        // A jump into the middle of another entry stays within a function of several parts.
        let starts = functions.find(target).is_none_or(|(other, _)| other.begin == target);
        target == function.begin || (!function.contains(target) && starts)
    };
    match *code {
        [0xC3 | 0xC2, ..] | [0xF3, 0xC3, ..] | [0xFF, 0x25, ..] | [0x48, 0xFF, 0x25, ..] => true,
        [0x48..=0x4F, 0xFF, modrm, ..] => modrm & 0xF8 == 0xE0,
        [0xEB, distance, ..] => out(distance.cast_signed().into(), 2),
        [0xE9, a, b, c, d, ..] => out(i32::from_le_bytes([a, b, c, d]).into(), 5),
        _ => false,
    }
}
