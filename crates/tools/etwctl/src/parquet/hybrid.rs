//! Parquet's hybrid encoding of small numbers: runs of one value, and groups of eight bit-packed values.

/// Numbers to encode.
#[derive(Clone, Copy, Debug)]
pub(super) enum Series<'a, T> {
    /// One number, so many times.
    Same(T, usize),
    Each(&'a [T]),
}

/// Values of a bit-packed group.
const GROUP: usize = 8;

/// The number of bits that numbers up to `largest` need.
pub(super) const fn width(largest: u32) -> u32 {
    // Some readers do not expect numbers without bits.
    if largest == 0 { 1 } else { u32::BITS - largest.leading_zeros() }
}

/// Appends numbers of `width` bits.
pub(super) fn encode<T: Copy + Eq + Into<u32>>(out: &mut Vec<u8>, width: u32, series: Series<'_, T>) {
    let mut rest = match series {
        Series::Same(value, count) => return run(out, width, value.into(), count),
        Series::Each(values) => values,
    };
    let mut packed: Vec<u32> = Vec::new();
    while let Some(first) = rest.first() {
        let length = rest.iter().take_while(|value| *value == first).count();
        let missing = packed.len().next_multiple_of(GROUP) - packed.len();
        if missing == 0 && length >= GROUP {
            pack(out, width, &mut packed);
            run(out, width, (*first).into(), length);
            rest = rest.get(length..).unwrap_or_default();
        } else {
            // The rest of a group, or a new one.
            let taken = length.min(if missing == 0 { GROUP } else { missing });
            packed.extend(std::iter::repeat_n((*first).into(), taken));
            rest = rest.get(taken..).unwrap_or_default();
        }
    }
    pack(out, width, &mut packed);
}

fn run(out: &mut Vec<u8>, width: u32, value: u32, count: usize) {
    if count > 0 {
        varint(out, count << 1);
        out.extend(value.to_le_bytes().into_iter().take(usize::try_from(width.div_ceil(8)).unwrap_or_default()));
    }
}

/// Appends bit-packed groups. Only the last one of a series may be incomplete; it is filled with zeros.
fn pack(out: &mut Vec<u8>, width: u32, values: &mut Vec<u32>) {
    if values.is_empty() {
        return;
    }
    values.resize(values.len().next_multiple_of(GROUP), 0);
    varint(out, (values.len() / GROUP) << 1 | 1);
    let (mut bits, mut count) = (0_u64, 0);
    for value in values.drain(..) {
        bits |= u64::from(value) << count;
        count += width;
        while count >= 8 {
            let [byte, ..] = bits.to_le_bytes();
            out.push(byte);
            bits >>= 8;
            count -= 8;
        }
    }
}

fn varint(out: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        let [low, ..] = number.to_le_bytes();
        out.push(low | 0x80);
        number >>= 7;
    }
    out.push(u8::try_from(number).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::{Series, encode, width};

    /// Reads numbers as the format's description says.
    fn decode(mut bytes: &[u8], width: usize, count: usize) -> Vec<u32> {
        let mut values = Vec::new();
        while values.len() < count {
            let (mut header, mut shift) = (0_usize, 0);
            loop {
                let byte = bytes[0];
                bytes = &bytes[1..];
                header |= usize::from(byte & 0x7F) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    break;
                }
            }
            if header & 1 == 0 {
                let size = width.div_ceil(8);
                let value = bytes[..size].iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
                bytes = &bytes[size..];
                values.extend(std::iter::repeat_n(value, header >> 1));
            } else {
                let size = (header >> 1) * width;
                let bit = |place: usize| u32::from(bytes[place / 8] >> (place % 8) & 1);
                for value in 0..(header >> 1) * 8 {
                    values.push((0..width).map(|place| bit(value * width + place) << place).sum());
                }
                bytes = &bytes[size..];
            }
        }
        assert!(bytes.is_empty());
        values
    }

    #[test]
    fn series_of_any_shape_and_width_are_restored() {
        let mut state = 7_u32;
        let mut random = |most: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % most
        };
        for most in [1, 2, 3, 9, 255, 256, 70_000] {
            for shape in 0..200 {
                let mut values = Vec::new();
                for _ in 0..random(12) {
                    let (value, times) = (random(most), if shape % 2 == 0 { 1 } else { random(40) });
                    values.extend((0..times).map(|_| value));
                }
                let bits = width(most - 1);
                let mut bytes = Vec::new();
                encode(&mut bytes, bits, Series::Each(&values));
                let restored = decode(&bytes, bits as usize, values.len());
                assert_eq!(restored[..values.len()], values, "{most}");
                assert!(restored[values.len()..].iter().all(|padding| *padding == 0));
            }
        }
        let mut bytes = Vec::new();
        encode(&mut bytes, 9, Series::Same(300_u32, 1000));
        assert_eq!(bytes, [0xD0, 0x0F, 44, 1], "the example of a run");
    }
}
