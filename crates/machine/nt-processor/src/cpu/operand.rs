//! Finds the memory operand of an instruction and the registers that its address comes from.
//!
//! Only this part of an instruction is decoded: prefixes, the opcode map, and the bytes that name the operand.

use pe_image::unwind::Registers;

/// The memory operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// The address is the sum of a base register, an index register shifted to the left, and a constant. The constant
    /// is `None` if it is a multiple of an unknown number of bytes, see [`unit`].
    Sum {
        /// The number of the base register.
        base: Option<u8>,
        /// The number of the index register, and the number of bits by which it is shifted.
        index: Option<(u8, u8)>,
        /// The constant.
        constant: Option<i32>,
    },
    /// A string instruction: it reads at rsi or rdi and advances these registers.
    String,
    /// `mov` to al, ax, eax or rax from an address in the instruction.
    Absolute {
        /// The number of bytes to load.
        width: u8,
        /// The size of the instruction.
        length: u8,
    },
}

impl Operand {
    /// Returns the address of the operand, if it is a sum of known parts.
    pub fn address(self, registers: &Registers) -> Option<u64> {
        let Self::Sum { base, index, constant } = self else { return None };
        let base = base.map_or(0, |base| registers.get(base));
        let index = index.map_or(0, |(index, shift)| registers.get(index) << shift);
        Some(base.wrapping_add(index).wrapping_add_signed(constant?.into()))
    }
}

/// Returns the memory operand of the instruction at the start of `code`, or `None` if it has none or one relative to
/// the instruction.
pub fn operand(code: &[u8]) -> Option<Operand> {
    let mut rest = code;
    let mut narrow = false;
    let mut short = false;
    while let [prefix @ (0x26 | 0x2E | 0x36 | 0x3E | 0x64..=0x67 | 0xF0 | 0xF2 | 0xF3), tail @ ..] = rest {
        narrow |= *prefix == 0x66;
        short |= *prefix == 0x67;
        rest = tail;
    }
    let rex = match rest {
        [rex @ 0x40..=0x4F, tail @ ..] => {
            rest = tail;
            *rex
        }
        _ => 0,
    };
    let mut unit_of_byte = Some(1);
    // The bits that extend the base register (1) and the index register (2).
    let (behind, extension) = match rest {
        // VEX and EVEX store these bits inverted.
        [0xC5, _, _, tail @ ..] => (tail, 0),
        [0xC4, byte, _, _, tail @ ..] => (tail, !byte >> 5),
        [0x62, first, second, third, opcode, tail @ ..] => {
            unit_of_byte = unit([*first, *second, *third], *opcode);
            (tail, !first >> 5)
        }
        [opcode @ (0xA0 | 0xA1), tail @ ..] if !short && tail.len() >= 8 => {
            let width = match opcode {
                0xA0 => 1,
                _ if rex & 8 != 0 => 8,
                _ if narrow => 2,
                _ => 4,
            };
            let length = u8::try_from(code.len() - tail.len() + 8).ok()?;
            return Some(Operand::Absolute { width, length });
        }
        [0xA4..=0xA7 | 0xAC..=0xAF, ..] => return Some(Operand::String),
        [0x0F, 0x38 | 0x3A, _, tail @ ..] | [0x0F, _, tail @ ..] => (tail, rex),
        [opcode, tail @ ..] if names_operand(*opcode) => (tail, rex),
        _ => return None,
    };
    sum(behind, extension, unit_of_byte)
}

/// Returns the number of bytes that an 8-bit constant of an EVEX instruction counts. It depends on the instruction.
/// Known are broadcasts, which count elements, and the moves of whole vectors, which count vectors. Only these moves
/// require aligned addresses.
const fn unit([first, second, third]: [u8; 3], opcode: u8) -> Option<i32> {
    let map = first & 7;
    let prefix = second & 3;
    let is_broadcast = third & 0x10 != 0;
    match (map, opcode, prefix) {
        (1..=3, ..) if is_broadcast => Some(if second & 0x80 == 0 { 4 } else { 8 }),
        (1, 0x10 | 0x11, 0 | 1) | (1, 0x28 | 0x29 | 0x2B | 0x6F | 0x7F | 0xE7, _) | (2, 0x2A, 1) => {
            Some(16 << (third >> 5 & 3))
        }
        _ => None,
    }
}

/// Returns whether a byte that names an operand follows a one-byte opcode.
const fn names_operand(opcode: u8) -> bool {
    match opcode {
        0x00..=0x3F => opcode & 7 < 4,
        0x63 | 0x69 | 0x6B | 0x80..=0x8F | 0xC0 | 0xC1 | 0xC6 | 0xC7 => true,
        _ => matches!(opcode, 0xD0..=0xD3 | 0xD8..=0xDF | 0xF6 | 0xF7 | 0xFE | 0xFF),
    }
}

/// Returns the operand that the bytes after the opcode name. An 8-bit constant is multiplied by `unit`.
fn sum(bytes: &[u8], extension: u8, unit: Option<i32>) -> Option<Operand> {
    let [modrm, tail @ ..] = bytes else { return None };
    let mode = modrm >> 6;
    let low = modrm & 7;
    let base_bit = (extension & 1) << 3;
    let index_bit = (extension & 2) << 2;
    let mut base = Some(low | base_bit);
    let mut index = None;
    let mut rest = tail;
    match (mode, low) {
        (3, _) | (0, 5) => return None,
        (_, 4) => {
            let [sib, tail @ ..] = tail else { return None };
            rest = tail;
            base = (mode != 0 || sib & 7 != 5).then_some(sib & 7 | base_bit);
            // Register 4, rsp, cannot be an index.
            index = Some((sib >> 3 & 7 | index_bit, sib >> 6)).filter(|(index, _)| *index != 4);
        }
        _ => {}
    }
    let constant = match mode {
        1 => {
            let count = i32::from(rest.first()?.cast_signed());
            unit.map(|unit| count * unit)
        }
        0 if base.is_some() => Some(0),
        _ => Some(i32::from_le_bytes(*rest.first_chunk()?)),
    };
    Some(Operand::Sum { base, index, constant })
}

#[cfg(test)]
mod tests {
    use pe_image::unwind::Registers;

    use super::{Operand, operand};

    #[test]
    fn the_base_is_found_after_prefixes_and_maps() {
        for (code, register) in [
            (&[0x8B, 0x01][..], 1),                     // mov eax, [rcx]
            (&[0x48, 0x8B, 0x41, 0x14], 1),             // mov rax, [rcx+14h]
            (&[0x49, 0x8B, 0x04, 0x24], 12),            // mov rax, [r12]
            (&[0x66, 0x41, 0x83, 0x78, 0x08, 0x00], 8), // cmp word ptr [r8+8], 0
            (&[0x0F, 0xB6, 0x80, 0xD4, 0x02, 0, 0], 0), // movzx eax, byte ptr [rax+2D4h]
            (&[0x48, 0x0F, 0xA4, 0x01, 0x08], 1),       // shld [rcx], rax, 8
            (&[0xC5, 0xFA, 0x6F, 0x02], 2),             // vmovdqu xmm0, [rdx]
            (&[0xC4, 0xC1, 0x7A, 0x6F, 0x00], 8),       // vmovdqu xmm0, [r8]
            (&[0x66, 0x0F, 0x38, 0x00, 0x03], 3),       // pshufb xmm0, [rbx]
            (&[0x8B, 0x84, 0x8A, 0, 0, 0, 0], 2),       // mov eax, [rdx+rcx*4]
        ] {
            let found = operand(code);
            assert!(matches!(found, Some(Operand::Sum { base: Some(base), .. }) if base == register), "{code:02x?}");
        }
    }

    #[test]
    fn the_address_is_the_sum_of_its_parts() {
        let mut registers = Registers::default();
        for number in 0..16 {
            registers.set(number, 0x1000 << number);
        }
        for (code, address) in [
            (&[0x0F, 0x28, 0x01][..], Some(0x2000)),   // movaps xmm0, [rcx]
            (&[0x0F, 0x28, 0x41, 0xF8], Some(0x1FF8)), // movaps xmm0, [rcx-8]
            (&[0x41, 0x0F, 0x29, 0x84, 0x24, 4, 1, 0, 0], Some(0x100_0104)), // movaps [r12+104h], xmm0
            (&[0x66, 0x42, 0x0F, 0x6F, 0x04, 0x8A], Some(0x4000 + 0x80_0000)), // movdqa xmm0, [rdx+r9*4]
            (&[0x0F, 0x28, 0x04, 0x8D, 8, 0, 0, 0], Some(0x8008)), // movaps xmm0, [rcx*4+8]
            (&[0x0F, 0x28, 0x44, 0x24, 0x20], Some(0x1_0020)), // movaps xmm0, [rsp+20h]
            (&[0xC4, 0xA1, 0x78, 0x28, 0x04, 0x49], Some(0x2000 + 0x40_0000)), // vmovaps xmm0, [rcx+r9*2]
            (&[0xFF, 0x11], Some(0x2000)),             // call [rcx]
            (&[0xC3, 0x01], None),                     // ret
            (&[0x0F, 0x28, 0x05, 0, 0, 0, 0], None),   // movaps xmm0, [rip]
        ] {
            assert_eq!(operand(code).and_then(|operand| operand.address(&registers)), address, "{code:02x?}");
        }
    }

    #[test]
    fn an_8_bit_constant_of_evex_counts_elements_or_vectors() {
        let mut registers = Registers::default();
        registers.set(1, 0x2000);
        for (code, address) in [
            (&[0x62, 0xF1, 0x7C, 0x48, 0x28, 0x41, 0x01][..], Some(0x2040)), // vmovaps zmm0, [rcx+40h]
            (&[0x62, 0xF1, 0x7C, 0x48, 0x29, 0x41, 0xFF], Some(0x1FC0)),     // vmovaps [rcx-40h], zmm0
            (&[0x62, 0xF1, 0xFD, 0x28, 0x6F, 0x41, 0x02], Some(0x2040)),     // vmovdqa64 ymm0, [rcx+40h]
            (&[0x62, 0xF1, 0x7C, 0x48, 0x28, 0x81, 4, 0, 0, 0], Some(0x2004)), // vmovaps zmm0, [rcx+4]
            (&[0x62, 0xF1, 0x74, 0x58, 0x58, 0x41, 0x01], Some(0x2004)),     // vaddps zmm0, zmm1, [rcx+4]{1to16}
            (&[0x62, 0xF1, 0xF5, 0x58, 0x58, 0x41, 0x01], Some(0x2008)),     // vaddpd zmm0, zmm1, [rcx+8]{1to8}
            (&[0x62, 0xF1, 0x7E, 0x08, 0x10, 0x41, 0x01], None),             // vmovss xmm0, [rcx+4]
        ] {
            let found = operand(code);
            assert!(matches!(found, Some(Operand::Sum { base: Some(1), .. })), "{code:02x?}");
            assert_eq!(found.and_then(|operand| operand.address(&registers)), address, "{code:02x?}");
        }
    }

    #[test]
    fn other_forms_are_distinguished() {
        let absolute = |prefix: &[u8]| [prefix, &[0x14, 0, 0, 0, 0x80, 0xF7, 0xFF, 0xFF]].concat();
        assert_eq!(operand(&absolute(&[0x48, 0xA1])), Some(Operand::Absolute { width: 8, length: 10 }));
        assert_eq!(operand(&absolute(&[0xA1])), Some(Operand::Absolute { width: 4, length: 9 }));
        assert_eq!(operand(&absolute(&[0x66, 0xA1])), Some(Operand::Absolute { width: 2, length: 10 }));
        assert_eq!(operand(&absolute(&[0xA0])), Some(Operand::Absolute { width: 1, length: 9 }));
        assert_eq!(operand(&[0xF3, 0xA4]), Some(Operand::String));
        for none in
            [&[0x8B, 0x05, 0, 0, 0, 0][..], &[0x8B, 0x04, 0x25, 0, 0, 0], &[0x8B, 0xC1], &[0x8B], &[], &[0xA1, 0]]
        {
            assert_eq!(operand(none), None, "{none:02x?}");
        }
    }
}
