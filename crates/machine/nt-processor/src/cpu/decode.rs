//! Decodes the few instructions that a driver may use but a user-mode process may not.

use crate::layout::operand_length;

/// A privileged or trapping instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// `mov r64, cr8`: reads the IRQL into `register`.
    ReadIrql {
        /// The number of the register.
        register: u8,
        /// The size of the instruction.
        length: u8,
    },
    /// `mov cr8, r64`: sets the IRQL from `register`.
    WriteIrql {
        /// The number of the register.
        register: u8,
        /// The size of the instruction.
        length: u8,
    },
    /// `int 29h`: `__fastfail`, with its code in ecx.
    FastFail,
    /// `int 2Ch`: an assertion.
    Assert,
    /// `int 2Dh` or another interrupt.
    Interrupt(u8),
    /// `in`, `out`, `ins` or `outs`.
    Port(PortAccess),
    /// `rdmsr` or `rdpmc`: reads a model-specific register into edx and eax.
    ReadModelRegister {
        /// The size of the instruction.
        length: u8,
    },
    /// `mov r64, cr`: reads a control register that is not the IRQL.
    ReadControl {
        /// The number of the control register.
        control: u8,
        /// The number of the register that receives its value.
        register: u8,
        /// The size of the instruction.
        length: u8,
    },
    /// `wrmsr`: writes edx and eax to the model-specific register in ecx.
    WriteModelRegister {
        /// The size of the instruction.
        length: u8,
    },
    /// `cli` or `sti`: disables or enables interrupts.
    Interrupts {
        /// Whether they are enabled afterwards.
        enabled: bool,
        /// The size of the instruction.
        length: u8,
    },
    /// `wbinvd`, `invlpg`: changes state that this machine does not have.
    Ignored {
        /// The size of the instruction.
        length: u8,
    },
    /// `hlt`, instructions for system tables and the like.
    Privileged(&'static str),
    /// An instruction that is not listed here.
    Other,
}

/// An instruction that reads or writes a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortAccess {
    /// Whether it writes to the port.
    pub writes: bool,
    /// The number of bytes.
    pub width: u8,
    /// The port, if the instruction contains it. Otherwise, it is in dx.
    pub port: Option<u8>,
    /// Whether the data is in memory, at rdi (`ins`) or rsi (`outs`), and not in the accumulator.
    pub is_string: bool,
    /// Whether rcx counts how often the instruction is executed.
    pub repeats: bool,
    /// The size of the instruction.
    pub length: u8,
}

/// Decodes an instruction that reads or writes a port.
fn port_access(code: &[u8]) -> Option<PortAccess> {
    let mut rest = code;
    let mut narrow = false;
    let mut repeats = false;
    while let [prefix @ (0x40..=0x4F | 0x66 | 0xF2 | 0xF3), tail @ ..] = rest {
        narrow |= *prefix == 0x66;
        repeats |= matches!(prefix, 0xF2 | 0xF3);
        rest = tail;
    }
    let (opcode, port, is_string) = match rest {
        [opcode @ 0xE4..=0xE7, port, ..] => (*opcode, Some(*port), false),
        [opcode @ 0xEC..=0xEF, ..] => (*opcode, None, false),
        [opcode @ 0x6C..=0x6F, ..] => (*opcode, None, true),
        _ => return None,
    };
    let width = match (opcode & 1, narrow) {
        (0, _) => 1,
        (_, true) => 2,
        (_, false) => 4,
    };
    let length = u8::try_from(code.len() - rest.len()).ok()? + 1 + u8::from(port.is_some());
    Some(PortAccess { writes: opcode & 2 != 0, width, port, is_string, repeats: repeats && is_string, length })
}

/// Decodes the instruction at the start of `code`.
pub fn decode(code: &[u8]) -> Instruction {
    if let Some(access) = port_access(code) {
        return Instruction::Port(access);
    }
    let (rex, rest, prefix) = match code {
        [rex @ 0x40..=0x4F, rest @ ..] => (*rex, rest, 1),
        _ => (0, code, 0),
    };
    match rest {
        // CR8 is control register 0 with REX.R, or with a LOCK prefix in 32-bit code.
        [0x0F, op @ (0x20 | 0x22), modrm, ..] if modrm & 0x38 == 0 && rex & 4 != 0 => {
            let register = (modrm & 7) | ((rex & 1) << 3);
            let length = prefix + 3;
            if *op == 0x20 {
                Instruction::ReadIrql { register, length }
            } else {
                Instruction::WriteIrql { register, length }
            }
        }
        [0x0F, 0x20, modrm, ..] => Instruction::ReadControl {
            control: modrm >> 3 & 7,
            register: (modrm & 7) | ((rex & 1) << 3),
            length: prefix + 3,
        },
        [0x0F, 0x21..=0x23, ..] => Instruction::Privileged("mov of a control or debug register"),
        [0x0F, 0x30, ..] => Instruction::WriteModelRegister { length: prefix + 2 },
        // wbinvd
        [0x0F, 0x09, ..] => Instruction::Ignored { length: prefix + 2 },
        [0x0F, 0x32 | 0x33, ..] => Instruction::ReadModelRegister { length: prefix + 2 },
        // invlpg can be ignored: no translations of addresses are cached here.
        [0x0F, 0x01, modrm, tail @ ..] if modrm >> 6 != 3 && modrm >> 3 & 7 == 7 => {
            Instruction::Ignored { length: prefix + 3 + operand_length(*modrm, tail) }
        }
        [0x0F, 0x01 | 0x00, ..] => Instruction::Privileged("system instruction"),
        [0x0F, 0x06 | 0x08, ..] => Instruction::Privileged("cache or task instruction"),
        [0xCD, 0x29, ..] => Instruction::FastFail,
        [0xCD, 0x2C, ..] => Instruction::Assert,
        [0xCD, number, ..] => Instruction::Interrupt(*number),
        [0xF4, ..] => Instruction::Privileged("hlt"),
        [opcode @ (0xFA | 0xFB), ..] => Instruction::Interrupts { enabled: *opcode == 0xFB, length: prefix + 1 },
        _ => Instruction::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::{Instruction, PortAccess, decode};

    #[test]
    fn reads_and_writes_of_the_irql_name_their_register() {
        assert_eq!(decode(&[0x44, 0x0F, 0x20, 0xC0]), Instruction::ReadIrql { register: 0, length: 4 });
        assert_eq!(decode(&[0x45, 0x0F, 0x20, 0xC1]), Instruction::ReadIrql { register: 9, length: 4 });
        assert_eq!(decode(&[0x44, 0x0F, 0x22, 0xC1]), Instruction::WriteIrql { register: 1, length: 4 });
    }

    #[test]
    fn other_control_registers_are_privileged() {
        assert!(matches!(decode(&[0x0F, 0x22, 0xD8]), Instruction::Privileged(_)));
        assert_eq!(decode(&[0x0F, 0x20, 0xD9]), Instruction::ReadControl { control: 3, register: 1, length: 3 });
        assert_eq!(decode(&[0xF4]), Instruction::Privileged("hlt"));
    }

    #[test]
    fn ports_are_accessed_with_the_width_of_the_instruction() {
        let access =
            |writes, width, port, length| PortAccess { writes, width, port, is_string: false, repeats: false, length };
        let string = |writes, width, length| PortAccess {
            is_string: true,
            repeats: true,
            ..access(writes, width, None, length)
        };
        for (code, expected) in [
            (&[0xEC][..], access(false, 1, None, 1)),              // in al, dx
            (&[0x66, 0xED], access(false, 2, None, 2)),            // in ax, dx
            (&[0xED], access(false, 4, None, 1)),                  // in eax, dx
            (&[0xE5, 0x60], access(false, 4, Some(0x60), 2)),      // in eax, 60h
            (&[0xE6, 0x80], access(true, 1, Some(0x80), 2)),       // out 80h, al
            (&[0x66, 0xE7, 0x80], access(true, 2, Some(0x80), 3)), // out 80h, ax
            (&[0xEE], access(true, 1, None, 1)),                   // out dx, al
            (&[0xF3, 0x6C], string(false, 1, 2)),                  // rep insb
            (&[0xF3, 0x66, 0x6F], string(true, 2, 3)),             // rep outsw
        ] {
            assert_eq!(decode(code), Instruction::Port(expected), "{code:02x?}");
        }
    }

    #[test]
    fn a_forgotten_translation_is_skipped_with_its_operand() {
        for (code, length) in [
            (&[0x0F, 0x01, 0x39][..], 3),
            (&[0x0F, 0x01, 0x78, 0x10], 4),
            (&[0x0F, 0x01, 0x3C, 0x24], 4),
            (&[0x0F, 0x01, 0x3D, 0, 0, 0, 0], 7),
            (&[0x41, 0x0F, 0x01, 0xBA, 0, 0, 0, 0], 8),
        ] {
            assert_eq!(decode(code), Instruction::Ignored { length }, "{code:x?}");
        }
    }

    #[test]
    fn fast_fail_is_an_interrupt_of_its_own() {
        assert_eq!(decode(&[0xCD, 0x29]), Instruction::FastFail);
        assert_eq!(decode(&[0xCD, 0x2C]), Instruction::Assert);
        assert_eq!(decode(&[0x90]), Instruction::Other);
        assert_eq!(decode(&[]), Instruction::Other);
    }
}
