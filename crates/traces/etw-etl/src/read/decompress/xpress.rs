//! Plain LZ77 as specified in [MS-XCA]: flag words, literals and 16-bit matches with variable-size lengths.

use super::streams::{Damaged, Input, Output};

pub(super) fn unpack(packed: &[u8], out: &mut Output<'_>) -> Result<(), Damaged> {
    let mut input = Input::new(packed);
    let mut half = None;
    while !out.is_full() {
        let mut flags = input.dword()?;
        let mut flags_left = u32::BITS;
        while flags_left > 0 && !out.is_full() {
            // The highest flag is the first one; a zero is a literal.
            let literals = flags.leading_zeros().min(flags_left);
            if literals > 0 {
                out.literals(&mut input, usize::try_from(literals).map_err(|_| Damaged)?)?;
            } else {
                let token = input.word()?;
                let length = length(token & 7, &mut input, &mut half)?;
                out.copy(usize::from(token >> 3) + 1, length)?;
            }
            let done = literals.max(1);
            flags = flags.checked_shl(done).unwrap_or_default();
            flags_left -= done;
        }
    }
    Ok(())
}

/// Decodes the length of a match. Two long matches share a byte of 4-bit lengths; `half` holds the upper half until it is used.
#[inline]
fn length(short: u16, input: &mut Input<'_>, half: &mut Option<u8>) -> Result<usize, Damaged> {
    let mut length = usize::from(short);
    if length == 7 {
        let nibble = if let Some(upper) = half.take() {
            upper
        } else {
            let byte = input.byte()?;
            *half = Some(byte >> 4);
            byte & 0x0F
        };
        length = usize::from(nibble);
        if length == 15 {
            length = usize::from(input.byte()?);
            if length == 255 {
                let mut long = u32::from(input.word()?);
                if long == 0 {
                    long = input.dword()?;
                }
                let long = usize::try_from(long).map_err(|_| Damaged)?;
                length = long.checked_sub(15 + 7).ok_or(Damaged)?;
            }
            length += 15;
        }
        length += 7;
    }
    Ok(length + 3)
}
