//! Random numbers that are the same on every machine: `SplitMix64`.

/// A stream of numbers that follow from a seed.
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    /// The stream of one input: neighbouring numbers give unrelated streams.
    pub(crate) fn new(seed: u64, number: u64) -> Self {
        let mut start = Self(seed);
        Self(start.next() ^ number.wrapping_mul(0xD6E8_FEB8_6659_FD93))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `limit`; 0 where that is 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        let limit = limit as u64;
        usize::try_from(self.next().checked_rem(limit).unwrap_or(0)).unwrap_or(0)
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
    }
}
