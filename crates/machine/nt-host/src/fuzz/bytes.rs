//! Changes of bytes: the data of requests, and what the device below returns.

use fastrand::Rng;

/// The maximum number of bytes of a request: more than a page, and little enough for a command line.
pub(super) const LONGEST: usize = 8192;

/// Values at which programs often go wrong: limits of the integer types, and powers of two with their neighbours.
pub(super) const INTERESTING: [u64; 22] = [
    0,
    1,
    2,
    4,
    8,
    16,
    32,
    64,
    100,
    127,
    128,
    255,
    256,
    4095,
    4096,
    0x7FFF,
    0xFFFF,
    0x1_0000,
    0x7FFF_FFFF,
    0x8000_0000,
    0xFFFF_FFFF,
    u64::MAX,
];

/// Returns a length for a buffer. `values` are constants of the driver.
pub(super) fn length(rng: &mut Rng, values: &[u64]) -> usize {
    match rng.u8(..8) {
        0 => 0,
        1..=3 => rng.usize(..=64),
        4 | 5 => value(rng, values) as usize % (LONGEST + 1),
        6 => 1 << rng.u32(..=12),
        _ => rng.usize(..=LONGEST),
    }
}

/// Returns an integer: interesting, a constant of the driver or near one, or random.
pub(super) fn value(rng: &mut Rng, values: &[u64]) -> u64 {
    let near = |rng: &mut Rng, value: u64| value.wrapping_add(rng.u64(..4)).wrapping_sub(rng.u64(..4));
    match (rng.u8(..8), rng.choice(values).copied()) {
        (0..=3, Some(value)) => value,
        (4, Some(value)) => near(rng, value),
        (7, _) => rng.u64(..),
        (6, _) => {
            let value = rng.choice(INTERESTING).unwrap_or_default();
            near(rng, value)
        }
        _ => rng.choice(INTERESTING).unwrap_or_default(),
    }
}

/// Writes an integer of `width` bytes at an offset. The bytes become longer if necessary.
pub(super) fn write(bytes: &mut Vec<u8>, at: usize, value: u64, width: usize) {
    let end = at + width;
    if bytes.len() < end && end <= LONGEST {
        bytes.resize(end, 0);
    }
    if let (Some(place), Some(value)) = (bytes.get_mut(at..end), value.to_le_bytes().get(..width)) {
        place.copy_from_slice(value);
    }
}

/// Changes bytes once. `other` are bytes of another input, and `values` constants of the driver.
pub(super) fn mutate(bytes: &mut Vec<u8>, other: Option<&[u8]>, values: &[u64], rng: &mut Rng) {
    let length = bytes.len();
    let at = rng.usize(..length.max(1));
    match rng.u8(..12) {
        0 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << rng.u8(..8);
            }
        }
        1 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = rng.u8(..);
            }
        }
        2 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = byte.wrapping_add(rng.u8(..16)).wrapping_sub(rng.u8(..16));
            }
        }
        // Fields are aligned, and the first ones decide most.
        3..=6 => {
            let width = 1 << rng.u32(..=3);
            let field = if rng.bool() { rng.usize(..4) } else { rng.usize(..=length / width) };
            let value = value(rng, values);
            write(bytes, field * width, value, width);
        }
        // A length field: the length of the rest or of everything.
        7 => {
            let field = rng.usize(..4) * 4;
            let value = (length as u64).wrapping_sub(rng.choice([0, 4, 8, 16]).unwrap_or_default());
            write(bytes, field, value, 4);
        }
        8 => bytes.resize(self::length(rng, values), 0),
        9 => {
            let end = at + rng.usize(..=length - at.min(length));
            bytes.drain(at.min(length)..end.min(length));
        }
        10 => {
            let count = rng.usize(1..=16);
            let byte = if rng.bool() { 0 } else { rng.u8(..) };
            bytes.splice(at.min(length)..at.min(length), std::iter::repeat_n(byte, count));
        }
        _ => {
            if let Some(other) = other.filter(|other| !other.is_empty()) {
                let from = rng.usize(..other.len());
                bytes.truncate(at);
                bytes.extend(other.iter().skip(from));
            }
        }
    }
    bytes.truncate(LONGEST);
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::{LONGEST, mutate};

    #[test]
    fn bytes_change_within_the_limit_and_constants_are_found() {
        let mut rng = Rng::with_seed(1);
        let mut bytes = Vec::new();
        let mut found = false;
        for _ in 0..100_000 {
            mutate(&mut bytes, Some(&[7; 9000]), &[0xDEAD_BEEF], &mut rng);
            assert!(bytes.len() <= LONGEST);
            found |= bytes.starts_with(&0xDEAD_BEEF_u32.to_le_bytes());
        }
        assert!(found, "a constant of the driver is at the start of an input");
    }
}
