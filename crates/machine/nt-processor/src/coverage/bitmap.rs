//! A bit for each block, in memory that the driver's process can share with its parent.

use std::io;
use std::sync::atomic::Ordering;

use super::words::Words;

/// The word before the bits: how many of them are set.
const COUNT: usize = 0;
const BITS: usize = 1;

/// The bits. Nothing here allocates or locks, so a signal handler can set one.
#[derive(Debug)]
pub(super) struct Bitmap {
    words: Words,
}

impl Bitmap {
    /// Allocates bits that are not set. `shared` bits are shared with processes that are forked later.
    pub(super) fn new(bits: usize, shared: bool) -> io::Result<Self> {
        Words::new(BITS + bits.div_ceil(64), shared).map(|words| Self { words })
    }

    /// Sets a bit. Returns whether it was not set before.
    pub(super) fn set(&self, bit: usize) -> bool {
        let words = self.words.get();
        let (Some(word), [count, ..]) = (words.get(BITS + bit / 64), words) else { return false };
        let is_new = word.fetch_or(1 << (bit % 64), Ordering::AcqRel) & 1 << (bit % 64) == 0;
        if is_new {
            count.fetch_add(1, Ordering::AcqRel);
        }
        is_new
    }

    /// Returns whether a bit is set.
    pub(super) fn get(&self, bit: usize) -> bool {
        self.words.get().get(BITS + bit / 64).is_some_and(|word| word.load(Ordering::Acquire) & 1 << (bit % 64) != 0)
    }

    /// Returns how many bits are set.
    pub(super) fn count(&self) -> usize {
        self.words.get().get(COUNT).map_or(0, |count| count.load(Ordering::Acquire)) as usize
    }

    /// Returns the bits that are set, and resets them.
    pub(super) fn take(&self) -> Vec<usize> {
        let words = self.words.get();
        // Usually there are none.
        if words.get(COUNT).is_none_or(|count| count.swap(0, Ordering::AcqRel) == 0) {
            return Vec::new();
        }
        let words = words.iter().skip(BITS).map(|word| word.swap(0, Ordering::AcqRel));
        words.enumerate().flat_map(|(index, word)| bits(word).map(move |bit| index * 64 + bit)).collect()
    }
}

/// Returns the positions of the bits that are set.
fn bits(word: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |bit| word & 1 << bit != 0)
}
