//! Finds the register that an instruction takes the address of its memory operand from.
//!
//! Only this part of an instruction is decoded: prefixes, the opcode map, and the bytes that name the operand.

/// The memory operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    /// The address is in this register, to which an index and a constant may be added.
    Base(u8),
    /// A string instruction: it reads at rsi or rdi and advances these registers.
    String,
    /// `mov` to al, ax, eax or rax from an address in the instruction. `width` is the number of bytes to load, `length`
    /// the size of the instruction.
    Absolute { width: u8, length: u8 },
}

/// Returns the memory operand of the instruction at the start of `code`, or `None` if it has none or one without a base
/// register.
pub(crate) fn operand(code: &[u8]) -> Option<Operand> {
    let (mut rest, mut narrow, mut short) = (code, false, false);
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
    let (behind, extended) = match rest {
        // VEX and EVEX store the bit that extends the register inverted.
        [0xC5, _, _, tail @ ..] => (tail, false),
        [0xC4, byte, _, _, tail @ ..] | [0x62, byte, _, _, _, tail @ ..] => (tail, byte & 0x20 == 0),
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
        [0xA0..=0xA3, ..] | [] => return None,
        [0x0F, 0x38 | 0x3A, _, tail @ ..] | [0x0F, _, tail @ ..] | [_, tail @ ..] => (tail, rex & 1 != 0),
    };
    base(behind, extended)
}

/// Returns the register that the bytes after the opcode name.
fn base(bytes: &[u8], extended: bool) -> Option<Operand> {
    let [modrm, tail @ ..] = bytes else { return None };
    let (mode, low) = (modrm >> 6, modrm & 7);
    let low = match (mode, low) {
        (3, _) | (0, 5) => return None,
        (_, 4) => match (mode, tail.first()? & 7) {
            (0, 5) => return None,
            (_, base) => base,
        },
        _ => low,
    };
    Some(Operand::Base(low | u8::from(extended) << 3))
}

#[cfg(test)]
mod tests {
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
            assert_eq!(operand(code), Some(Operand::Base(register)), "{code:02x?}");
        }
    }

    #[test]
    fn other_forms_are_told_apart() {
        let absolute = |prefix: &[u8]| [prefix, &[0x14, 0, 0, 0, 0x80, 0xF7, 0xFF, 0xFF]].concat();
        assert_eq!(operand(&absolute(&[0x48, 0xA1])), Some(Operand::Absolute { width: 8, length: 10 }));
        assert_eq!(operand(&absolute(&[0xA1])), Some(Operand::Absolute { width: 4, length: 9 }));
        assert_eq!(operand(&absolute(&[0x66, 0xA1])), Some(Operand::Absolute { width: 2, length: 10 }));
        assert_eq!(operand(&absolute(&[0xA0])), Some(Operand::Absolute { width: 1, length: 9 }));
        assert_eq!(operand(&[0xF3, 0xA4]), Some(Operand::String));
        for none in
            [&[0x8B, 0x05, 0, 0, 0, 0][..], &[0x8B, 0x04, 0x25, 0, 0, 0, 0], &[0x8B, 0xC1], &[0x8B], &[], &[0xA1, 0]]
        {
            assert_eq!(operand(none), None, "{none:02x?}");
        }
    }
}
