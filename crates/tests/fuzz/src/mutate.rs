//! Inputs out of seeds, without knowledge of what they reach.
//!
//! Input number N of a random seed is always the same, so a number is all that is needed to make an input again.

use crate::rng::Rng;

/// Numbers at which code that handles sizes goes wrong.
const INTERESTING: [u64; 20] = [
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    16,
    0x20,
    0x40,
    0x7F,
    0x80,
    0xFF,
    0x100,
    0x7FFF,
    0xFFFF,
    0x7FFF_FFFF,
    0xFFFF_FFFF,
    0x7FFF_FFFF_FFFF_FFFF,
    u64::MAX,
];

/// Makes inputs.
#[derive(Clone, Debug)]
pub struct Mutator {
    seeds: Vec<Vec<u8>>,
    max_len: usize,
    seed: u64,
}

impl Mutator {
    /// Starts from these inputs; `seed` decides on everything that follows.
    #[must_use]
    pub fn new(seeds: Vec<Vec<u8>>, max_len: usize, seed: u64) -> Self {
        Self { seeds, max_len, seed }
    }

    /// Input `number`: the seeds as they are first, then changed ones.
    #[must_use]
    pub fn input(&self, number: u64) -> Vec<u8> {
        if let Some(seed) = usize::try_from(number).ok().and_then(|number| self.seeds.get(number)) {
            return seed.clone();
        }
        let mut rng = Rng::new(self.seed, number);
        let mut bytes = rng.pick(&self.seeds).cloned().unwrap_or_default();
        if rng.below(8) == 0
            && let Some(other) = rng.pick(&self.seeds)
        {
            splice(&mut rng, &mut bytes, other);
        }
        for _ in 0..1 << rng.below(7) {
            change(&mut rng, &mut bytes);
        }
        bytes.truncate(self.max_len);
        bytes
    }
}

/// The beginning of one input and the end of another.
fn splice(rng: &mut Rng, bytes: &mut Vec<u8>, other: &[u8]) {
    bytes.truncate(rng.below(bytes.len() + 1));
    let from = rng.below(other.len() + 1);
    bytes.extend_from_slice(&other[from..]);
}

/// One change of any kind.
fn change(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let at = rng.below(bytes.len());
    match rng.below(14) {
        0 | 1 => {
            let flip = 1 << rng.below(8);
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= flip;
            }
        }
        2 | 3 => put(bytes, at, &[rng.byte()]),
        4..=6 => {
            let number = rng.pick(&INTERESTING).copied().unwrap_or(0);
            let width = 1 << rng.below(4);
            put(bytes, at, &number.to_le_bytes()[..width]);
        }
        7 | 8 => {
            let width = 1 << rng.below(4);
            add(rng, bytes, at, width);
        }
        9 => {
            let end = bytes.len().min(at + 1 + short(rng));
            bytes.drain(at.min(end)..end);
        }
        10 => {
            let length = short(rng);
            let part: Vec<u8> = (0..length).map(|_| rng.byte()).collect();
            bytes.splice(at..at, part);
        }
        11 => {
            let part = part(rng, bytes);
            bytes.splice(at..at, part);
        }
        12 => {
            let part = part(rng, bytes);
            put(bytes, at, &part);
        }
        // Rarely: most of what is behind is lost.
        _ if rng.below(8) == 0 => bytes.truncate(at),
        _ => {
            let (fill, length) = (rng.byte(), short(rng));
            put(bytes, at, &vec![fill; length]);
        }
    }
}

/// Adds to, or takes from, a number of that many bytes.
fn add(rng: &mut Rng, bytes: &mut [u8], at: usize, width: usize) {
    let mut number = [0; 8];
    for (place, byte) in number[..width].iter_mut().zip(bytes.iter().skip(at)) {
        *place = *byte;
    }
    let difference = rng.next() % 35;
    let number = u64::from_le_bytes(number);
    let sum = if rng.below(2) == 0 { number.wrapping_add(difference) } else { number.wrapping_sub(difference) };
    put(bytes, at, &sum.to_le_bytes()[..width]);
}

/// A copy of some bytes of the input.
fn part(rng: &mut Rng, bytes: &[u8]) -> Vec<u8> {
    let from = rng.below(bytes.len());
    let end = bytes.len().min(from + short(rng));
    bytes[from..end].to_vec()
}

/// Writes over what is there, as far as something is there.
fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    for (place, byte) in bytes.iter_mut().skip(at).zip(value) {
        *place = *byte;
    }
}

/// A length: mostly small, at times of a buffer.
fn short(rng: &mut Rng) -> usize {
    let most = [4, 16, 64, 1024][rng.below(4)];
    1 + rng.below(most)
}

#[cfg(test)]
mod tests {
    use super::Mutator;

    fn mutator(seed: u64) -> Mutator {
        Mutator::new(vec![b"one seed of some length".to_vec(), vec![], vec![7; 300]], 256, seed)
    }

    #[test]
    fn the_same_number_is_the_same_input() {
        for number in 0..500 {
            assert_eq!(mutator(1).input(number), mutator(1).input(number));
        }
    }

    #[test]
    fn seeds_come_first_and_unchanged() {
        assert_eq!(mutator(1).input(0), b"one seed of some length");
        assert_eq!(mutator(1).input(2), [7; 300]);
    }

    #[test]
    fn other_numbers_and_other_seeds_are_other_inputs() {
        let inputs: std::collections::HashSet<Vec<u8>> = (3..2003).map(|number| mutator(1).input(number)).collect();
        assert!(inputs.len() > 1300, "{}", inputs.len());
        assert!((3..100).any(|number| mutator(1).input(number) != mutator(2).input(number)));
    }

    #[test]
    fn inputs_stay_below_the_limit() {
        assert!((3..3000).all(|number| mutator(9).input(number).len() <= 256));
    }

    #[test]
    fn without_seeds_there_are_inputs_all_the_same() {
        let mutator = Mutator::new(vec![], 64, 3);
        assert!((0..100).any(|number| !mutator.input(number).is_empty()));
    }
}
