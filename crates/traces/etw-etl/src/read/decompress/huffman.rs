//! LZ77 with Huffman coding as specified in [MS-XCA]: blocks of 64 KiB, each with its own table of 512 code lengths.

use super::streams::{Damaged, Input, Output};

/// Uncompressed size of a block in bytes.
const BLOCK: usize = 0x1_0000;
/// Size of the code lengths before a block in bytes; each byte holds two.
const TABLE: usize = 256;
/// Maximum length of a code in bits.
const MAX_BITS: u32 = 15;
/// First symbol that denotes a match.
const FIRST_MATCH: u16 = 256;

pub(super) fn unpack(packed: &[u8], out: &mut Output<'_>) -> Result<(), Damaged> {
    let mut input = Input::new(packed);
    while !out.is_full() {
        let lengths = input.take::<TABLE>()?;
        let symbols = decoding_table(&lengths)?;
        let mut bits = Bits::start(&mut input)?;
        let block_end = out.len() + BLOCK;
        while out.len() < block_end && !out.is_full() {
            let code = usize::try_from(bits.next >> (32 - MAX_BITS)).map_err(|_| Damaged)?;
            let &(symbol, length) = symbols.get(code).ok_or(Damaged)?;
            bits.skip(u32::from(length), &mut input);
            if let Ok(literal) = u8::try_from(symbol) {
                out.literal(literal)?;
            } else {
                token(symbol - FIRST_MATCH, &mut bits, &mut input, out)?;
            }
        }
    }
    Ok(())
}

/// Decodes a match. The lower four bits of the symbol give its length, the upper four bits the number of distance bits.
fn token(symbol: u16, bits: &mut Bits, input: &mut Input<'_>, out: &mut Output<'_>) -> Result<(), Damaged> {
    let mut length = usize::from(symbol & 0x0F);
    let distance_bits = u32::from(symbol >> 4);
    if length == 15 {
        let more = input.byte()?;
        length = usize::from(more) + 15;
        if more == 255 {
            let mut long = u32::from(input.word()?);
            if long == 0 {
                long = input.dword()?;
            }
            length = usize::try_from(long).map_err(|_| Damaged)?;
            if length < 15 {
                return Err(Damaged);
            }
        }
    }
    let low = if distance_bits == 0 { 0 } else { bits.next >> (32 - distance_bits) };
    bits.skip(distance_bits, input);
    let distance = usize::try_from((1 << distance_bits) + low).map_err(|_| Damaged)?;
    out.copy(distance, length + 3)
}

/// Returns, for every possible value of the next 15 bits, the symbol and the length of its code. The codes are canonical: ordered
/// by length, then by symbol.
fn decoding_table(lengths: &[u8; TABLE]) -> Result<Vec<(u16, u8)>, Damaged> {
    let mut table = Vec::with_capacity(1 << MAX_BITS);
    for bits in 1..=MAX_BITS {
        for (symbol, length) in (0_u16..).zip(lengths.iter().flat_map(|pair| [pair & 0x0F, pair >> 4])) {
            if u32::from(length) == bits {
                let end = table.len() + (1 << (MAX_BITS - bits));
                if end > 1 << MAX_BITS {
                    return Err(Damaged);
                }
                table.resize(end, (symbol, length));
            }
        }
    }
    if table.len() == 1 << MAX_BITS { Ok(table) } else { Err(Damaged) }
}

/// The bit stream, with a lookahead of up to 32 bits that is refilled in 16-bit words. The words may end before all bits are
/// consumed.
struct Bits {
    next: u32,
    /// Number of valid bits in `next` beyond the first 16; negative if there are fewer than 16.
    extra: i32,
}

impl Bits {
    fn start(input: &mut Input<'_>) -> Result<Self, Damaged> {
        let high = u32::from(input.word()?);
        Ok(Self { next: high << 16 | u32::from(input.word()?), extra: 16 })
    }

    /// Drops up to 15 bits.
    fn skip(&mut self, count: u32, input: &mut Input<'_>) {
        self.next <<= count;
        self.extra -= count.cast_signed();
        if self.extra < 0 {
            let word = u32::from(input.word().unwrap_or_default());
            self.next |= word << self.extra.unsigned_abs();
            self.extra += 16;
        }
    }
}
