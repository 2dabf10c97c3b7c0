//! The layout of x64 instructions, as far as several layers need it.

/// Returns the number of bytes that follow the first byte of a memory operand: the SIB byte and the displacement.
pub fn operand_length(modrm: u8, tail: &[u8]) -> u8 {
    let mode = modrm >> 6;
    let low = modrm & 7;
    let index = u8::from(low == 4);
    let base = if low == 4 { tail.first().map_or(0, |byte| byte & 7) } else { low };
    index
        + match (mode, base) {
            (1, _) => 1,
            (2, _) | (0, 5) => 4,
            _ => 0,
        }
}
