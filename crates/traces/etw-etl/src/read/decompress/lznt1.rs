//! LZNT1 as specified in [MS-XCA]: chunks of 4096 bytes, each either stored or made of flag bytes, literals and matches.

use super::streams::{Damaged, Input, Output};

/// Uncompressed size of a chunk in bytes.
const CHUNK: usize = 4096;

pub(super) fn unpack(packed: &[u8], out: &mut Output<'_>) -> Result<(), Damaged> {
    let mut input = Input::new(packed);
    while !out.is_full() {
        let header = input.word()?;
        if header == 0 {
            return Ok(());
        }
        let size = usize::from(header & 0x0FFF) + 1;
        let end = input.at + size;
        let body = packed.get(input.at..end).ok_or(Damaged)?;
        if header & 0x8000 == 0 {
            let mut stored = Input::new(body);
            out.literals(&mut stored, body.len())?;
            if stored.at < body.len() {
                return Err(Damaged);
            }
        } else {
            chunk(body, out)?;
        }
        input.at = end;
    }
    Ok(())
}

fn chunk(body: &[u8], out: &mut Output<'_>) -> Result<(), Damaged> {
    let mut input = Input::new(body);
    let start = out.len();
    while !input.is_empty() && !out.is_full() {
        let flags = input.byte()?;
        for bit in 0..8 {
            if input.is_empty() || out.is_full() {
                break;
            }
            if flags >> bit & 1 == 0 {
                out.literal(input.byte()?)?;
            } else {
                let token = input.word()?;
                let done = out.len() - start;
                // The further into the chunk, the more bits of a token are the distance and the fewer are the length.
                let mut length_bits = 12;
                while length_bits > 4 && done > 1 << (16 - length_bits) {
                    length_bits -= 1;
                }
                let length = usize::from(token & ((1 << length_bits) - 1)) + 3;
                let distance = usize::from(token >> length_bits) + 1;
                if distance > done {
                    return Err(Damaged);
                }
                out.copy(distance, length)?;
            }
            if out.len() - start > CHUNK {
                return Err(Damaged);
            }
        }
    }
    Ok(())
}
