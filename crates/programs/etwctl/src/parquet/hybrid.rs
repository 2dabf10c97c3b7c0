//! Parquet's hybrid encoding of small numbers: runs of one value, and groups of eight bit-packed values.

use std::ops::Range;

/// Numbers to encode.
#[derive(Clone, Copy, Debug)]
pub(super) enum Series<'a, T> {
    /// One number, so many times.
    Same(T, usize),
    Each(&'a [T]),
}

impl<T: Copy> Series<'_, T> {
    pub(super) const fn len(&self) -> usize {
        match self {
            Self::Same(_, count) => *count,
            Self::Each(values) => values.len(),
        }
    }

    pub(super) fn get(&self, index: usize) -> Option<T> {
        match self {
            Self::Same(value, count) => (index < *count).then_some(*value),
            Self::Each(values) => values.get(index).copied(),
        }
    }

    /// A part of the numbers.
    pub(super) fn part(self, part: Range<usize>) -> Self {
        match self {
            Self::Same(value, count) => Self::Same(value, part.end.min(count).saturating_sub(part.start)),
            Self::Each(values) => Self::Each(values.get(part).unwrap_or_default()),
        }
    }
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
    // The values of groups that are not written yet. All of these groups are complete, except the last one of the series.
    let mut packed = rest;
    let mut waiting = 0;
    while let Some(first) = rest.first() {
        let length = rest.iter().take_while(|value| *value == first).count();
        let taken = if length >= GROUP { length } else { GROUP.min(rest.len()) };
        let later = rest.get(taken..).unwrap_or_default();
        if length >= GROUP {
            pack(out, width, packed.get(..waiting).unwrap_or_default());
            run(out, width, (*first).into(), length);
            (packed, waiting) = (later, 0);
        } else {
            waiting += taken;
        }
        rest = later;
    }
    pack(out, width, packed.get(..waiting).unwrap_or_default());
}

fn run(out: &mut Vec<u8>, width: u32, value: u32, count: usize) {
    if count > 0 {
        varint(out, u64::try_from(count).unwrap_or_default() << 1);
        out.extend(value.to_le_bytes().into_iter().take(usize::try_from(width.div_ceil(8)).unwrap_or_default()));
    }
}

/// Appends bit-packed groups. Only the last one of a series may be incomplete; it is filled with zeros.
fn pack<T: Copy + Into<u32>>(out: &mut Vec<u8>, width: u32, values: &[T]) {
    if values.is_empty() {
        return;
    }
    let groups = values.len().div_ceil(GROUP);
    varint(out, u64::try_from(groups).unwrap_or_default() << 1 | 1);
    let end = out.len() + groups * usize::try_from(width).unwrap_or_default();
    let mut bits = 0_u64;
    let mut count = 0;
    for value in values {
        bits |= u64::from((*value).into()) << count;
        count += width;
        if count >= u32::BITS {
            let [a, b, c, d, ..] = bits.to_le_bytes();
            out.extend_from_slice(&[a, b, c, d]);
            bits >>= u32::BITS;
            count -= u32::BITS;
        }
    }
    out.extend_from_slice(&bits.to_le_bytes());
    out.resize(end, 0);
}

/// Appends a number in groups of seven bits, the lowest first.
pub(super) fn varint(out: &mut Vec<u8>, mut number: u64) {
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
            let mut header = 0_usize;
            let mut shift = 0;
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
                    let value = random(most);
                    let times = if shape % 2 == 0 { 1 } else { random(40) };
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
