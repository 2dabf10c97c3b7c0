//! Unwind tables. Guarantees: unwinding any table returns a caller, or an error that leaves the registers unchanged,
//! and the work is bounded.
//!
//! The input starts with the address of the instruction (two bytes), the number of table entries, and the kind of
//! stack (one byte each). The rest is the image, which begins with the table.

use pe_image::unwind::{Functions, Registers};

/// Unwinds some frames with the tables.
pub(super) fn run(bytes: &[u8]) {
    /// The maximum for one function: 255 codes in each of 32 parts, two words each, and the pops of an epilog.
    const MAX_READS: usize = 32 * 255 * 2 + 32;
    /// The base address of the image.
    const BASE: u64 = 0x1_4000_0000;

    let Some(([low, high, entries, kind], image)) = bytes.split_first_chunk() else { return };
    let Ok(functions) = Functions::new(image, 0, u32::from(*entries) * 12) else { return };
    let rva = u16::from_le_bytes([*low, *high]);
    let mut registers = Registers { rip: BASE + u64::from(rva), ..Registers::default() };
    registers.general = [0x7000; 16];
    for _ in 0..8 {
        let before = registers;
        let mut reads = 0;
        let result = functions.unwind(BASE, &mut registers, &mut |address| {
            reads += 1;
            match kind % 4 {
                0 => Some(BASE + address % 0x200),
                1 => Some(address ^ u64::from(*kind)),
                2 => (address % 16 == 0).then_some(BASE + u64::from(rva)),
                _ => (address >> 16 == 0).then_some(BASE + u64::from(rva) + 1),
            }
        });
        assert!(reads <= MAX_READS, "{reads} reads");
        let Ok(unwound) = result else {
            assert_eq!(registers, before, "an error changed the registers");
            return;
        };
        let function = unwound.function.map(|(function, _)| function);
        assert!(function.is_none_or(|function| function.begin < function.end), "a function is empty");
    }
}
