//! Parquet's encoding of integers as differences, which are small for times, ids and addresses (`DELTA_BINARY_PACKED`).

use std::ops::BitXor;

use super::hybrid::varint;

/// Values of a block. The smallest difference of a block is stored once.
const BLOCK: usize = 128;
/// Values of a part of a block. Each part has its own number of bits.
const PART: usize = 32;

/// An integer of a column.
pub(super) trait Integer: Copy + Ord + Into<i64> + BitXor<Output = Self> {
    /// The difference to the value before, which wraps at the width of the type.
    fn difference(self, before: Self) -> i64;
}

impl Integer for i32 {
    fn difference(self, before: Self) -> i64 {
        self.wrapping_sub(before).into()
    }
}

impl Integer for i64 {
    fn difference(self, before: Self) -> i64 {
        self.wrapping_sub(before)
    }
}

/// The smallest and the largest number. `flip` is the sign bit if the numbers are unsigned, and 0 otherwise.
pub(super) fn range<T: Integer>(values: &[T], flip: T) -> (Option<T>, Option<T>) {
    let Some(first) = values.first().map(|value| *value ^ flip) else { return (None, None) };
    let mut least = first;
    let mut most = first;
    for value in values {
        let value = *value ^ flip;
        least = if value < least { value } else { least };
        most = if value > most { value } else { most };
    }
    (Some(least ^ flip), Some(most ^ flip))
}

/// Appends numbers.
pub(super) fn encode<T: Integer>(out: &mut Vec<u8>, values: &[T]) {
    varint(out, u64::try_from(BLOCK).unwrap_or_default());
    varint(out, u64::try_from(BLOCK / PART).unwrap_or_default());
    varint(out, u64::try_from(values.len()).unwrap_or_default());
    let Some((first, rest)) = values.split_first() else { return varint(out, 0) };
    varint(out, zigzag((*first).into()));
    let mut before = *first;
    for values in rest.chunks(BLOCK) {
        let mut differences = [0; BLOCK];
        for (difference, value) in differences.iter_mut().zip(values) {
            *difference = value.difference(before);
            before = *value;
        }
        block(out, &mut differences, values.len());
    }
}

/// Appends the first `count` differences of a block.
fn block(out: &mut Vec<u8>, differences: &mut [i64; BLOCK], count: usize) {
    let least = differences.iter().take(count).copied().min().unwrap_or_default();
    varint(out, zigzag(least));
    let mut above = [0_u64; BLOCK];
    for (above, difference) in above.iter_mut().zip(differences.iter().take(count)) {
        *above = difference.wrapping_sub(least).cast_unsigned();
    }
    let parts = above.as_chunks::<PART>().0;
    let widths: [u8; BLOCK / PART] = std::array::from_fn(|place| {
        let all = parts.get(place).map_or(0, |part| part.iter().fold(0, |all, value| all | value));
        u8::try_from(u64::BITS - all.leading_zeros()).unwrap_or_default()
    });
    out.extend_from_slice(&widths);
    for (part, width) in parts.iter().zip(widths) {
        pack(out, width.into(), part);
    }
}

/// Appends the lower `width` bits of each value.
fn pack(out: &mut Vec<u8>, width: u32, values: &[u64; PART]) {
    if width == 0 {
        return;
    }
    let mut bits = 0_u64;
    let mut count = 0;
    for value in values {
        bits |= value << count;
        count += width;
        if count >= u64::BITS {
            out.extend_from_slice(&bits.to_le_bytes());
            count -= u64::BITS;
            bits = if count == 0 { 0 } else { value >> (width - count) };
        }
    }
    // The values take a multiple of 32 bits.
    if count > 0 {
        let [a, b, c, d, ..] = bits.to_le_bytes();
        out.extend_from_slice(&[a, b, c, d]);
    }
}

const fn zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::{Integer, encode};

    struct Bytes<'a>(&'a [u8]);

    impl<'a> Bytes<'a> {
        fn take(&mut self, count: usize) -> &'a [u8] {
            let (taken, rest) = self.0.split_at(count);
            self.0 = rest;
            taken
        }

        fn varint(&mut self) -> u64 {
            let mut number = 0;
            let mut shift = 0;
            loop {
                let byte = self.take(1)[0];
                number |= u64::from(byte & 0x7F) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    return number;
                }
            }
        }

        fn signed(&mut self) -> i64 {
            let number = self.varint();
            (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
        }
    }

    /// Reads numbers as the format's description says.
    fn decode(bytes: &[u8]) -> Vec<i64> {
        let mut bytes = Bytes(bytes);
        assert_eq!(bytes.varint(), 128);
        assert_eq!(bytes.varint(), 4);
        let count = usize::try_from(bytes.varint()).unwrap();
        let mut last = bytes.signed();
        let mut values = vec![last];
        while values.len() < count {
            let smallest = bytes.signed();
            for width in bytes.take(4).iter().copied().map(usize::from) {
                let packed = bytes.take(width * 4);
                let bit = |place: usize| u64::from(packed[place / 8] >> (place % 8) & 1);
                for value in 0..32 {
                    let above: u64 = (0..width).map(|place| bit(value * width + place) << place).sum();
                    last = last.wrapping_add(smallest).wrapping_add(above.cast_signed());
                    values.push(last);
                }
            }
        }
        assert!(bytes.0.is_empty());
        values.truncate(count);
        values
    }

    fn low(value: i64) -> i32 {
        i32::from_le_bytes(value.to_le_bytes()[..4].try_into().unwrap())
    }

    fn restored<T: Integer>(values: &[T]) -> Vec<i64> {
        let mut bytes = Vec::new();
        encode(&mut bytes, values);
        decode(&bytes)
    }

    #[test]
    fn numbers_of_any_width_are_restored() {
        let mut state = 7_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state
        };
        for count in [1, 2, 32, 33, 34, 129, 130, 500] {
            for shift in 0..64 {
                let values: Vec<i64> = (0..count).map(|_| (random() >> shift).cast_signed()).collect();
                assert_eq!(restored(&values), values, "{shift}");
                // A reader keeps 32 bits of each sum.
                let small: Vec<i32> = values.iter().copied().map(low).collect();
                let read: Vec<i32> = restored(&small).into_iter().map(low).collect();
                assert_eq!(read, small, "{shift}");
            }
        }
        let mut bytes = Vec::new();
        encode(&mut bytes, &[7_i64, 5, 3, 1, 2, 3, 4, 5]);
        assert_eq!(bytes[..5], [0x80, 0x01, 4, 8, 14], "the start of the example in the format's description");
        assert_eq!(bytes[5..10], [3, 2, 0, 0, 0], "the smallest difference is -2, and the others need two bits");
    }
}
