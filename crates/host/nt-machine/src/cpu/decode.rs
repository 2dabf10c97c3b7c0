//! The few instructions that a driver may use and a process may not.

/// A privileged or trapping instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Instruction {
    /// `mov r64, cr8`: reads the IRQL into this register.
    ReadIrql { register: u8, length: u8 },
    /// `mov cr8, r64`: sets the IRQL from this register.
    WriteIrql { register: u8, length: u8 },
    /// `int 29h`: `__fastfail`, the code in ecx.
    FastFail,
    /// `int 2Ch`: an assertion.
    Assert,
    /// `int 2Dh` or another interrupt.
    Interrupt(u8),
    /// `cli`, `sti`, `hlt`, a model-specific register, a port and the like.
    Privileged(&'static str),
    /// Nothing that is known here.
    Other,
}

/// Decodes what is at the start of `code`.
pub(crate) fn decode(code: &[u8]) -> Instruction {
    let (rex, rest, prefix) = match code {
        [rex @ 0x40..=0x4F, rest @ ..] => (*rex, rest, 1),
        _ => (0, code, 0),
    };
    match rest {
        // CR8 is control register 0 with REX.R, or with a LOCK prefix in 32-bit code.
        [0x0F, op @ (0x20 | 0x22), modrm, ..] if modrm & 0x38 == 0 && rex & 4 != 0 => {
            let (register, length) = ((modrm & 7) | ((rex & 1) << 3), prefix + 3);
            if *op == 0x20 {
                Instruction::ReadIrql { register, length }
            } else {
                Instruction::WriteIrql { register, length }
            }
        }
        [0x0F, 0x20..=0x23, ..] => Instruction::Privileged("mov of a control or debug register"),
        [0x0F, 0x30, ..] => Instruction::Privileged("wrmsr"),
        [0x0F, 0x32, ..] => Instruction::Privileged("rdmsr"),
        [0x0F, 0x01 | 0x00, ..] => Instruction::Privileged("system instruction"),
        [0x0F, 0x06 | 0x08 | 0x09, ..] => Instruction::Privileged("cache or task instruction"),
        [0xCD, 0x29, ..] => Instruction::FastFail,
        [0xCD, 0x2C, ..] => Instruction::Assert,
        [0xCD, number, ..] => Instruction::Interrupt(*number),
        [0xFA, ..] => Instruction::Privileged("cli"),
        [0xFB, ..] => Instruction::Privileged("sti"),
        [0xF4, ..] => Instruction::Privileged("hlt"),
        [0xE4..=0xE7 | 0xEC..=0xEF, ..] => Instruction::Privileged("port access"),
        _ => Instruction::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::{Instruction, decode};

    #[test]
    fn reads_and_writes_of_the_irql_name_their_register() {
        assert_eq!(decode(&[0x44, 0x0F, 0x20, 0xC0]), Instruction::ReadIrql { register: 0, length: 4 });
        assert_eq!(decode(&[0x45, 0x0F, 0x20, 0xC1]), Instruction::ReadIrql { register: 9, length: 4 });
        assert_eq!(decode(&[0x44, 0x0F, 0x22, 0xC1]), Instruction::WriteIrql { register: 1, length: 4 });
    }

    #[test]
    fn other_control_registers_are_privileged() {
        assert!(matches!(decode(&[0x0F, 0x20, 0xD8]), Instruction::Privileged(_)));
        assert_eq!(decode(&[0xFA]), Instruction::Privileged("cli"));
    }

    #[test]
    fn fast_fail_is_an_interrupt_of_its_own() {
        assert_eq!(decode(&[0xCD, 0x29]), Instruction::FastFail);
        assert_eq!(decode(&[0xCD, 0x2C]), Instruction::Assert);
        assert_eq!(decode(&[0x90]), Instruction::Other);
        assert_eq!(decode(&[]), Instruction::Other);
    }
}
