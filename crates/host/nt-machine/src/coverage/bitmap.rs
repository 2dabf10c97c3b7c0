//! A bit for each block, in memory that the driver's process shares with its parent.

use std::io;
use std::sync::atomic::Ordering;

use super::shared::SharedWords;

/// The words before the bits: how many bits are set, and how many of them were not taken yet.
const COUNT: usize = 0;
const NEW: usize = 1;
const BITS: usize = 2;

/// The bits. Nothing here allocates or locks, so a signal handler can set one.
#[derive(Debug)]
pub(super) struct Bitmap {
    words: SharedWords,
}

impl Bitmap {
    /// Allocates bits that are not set, for processes that are forked later, too.
    pub(super) fn new(bits: usize) -> io::Result<Self> {
        SharedWords::new(BITS + bits.div_ceil(64)).map(|words| Self { words })
    }

    /// Sets a bit.
    pub(super) fn set(&self, bit: usize) {
        let words = self.words.get();
        let (Some(word), [count, new, ..]) = (words.get(BITS + bit / 64), words) else { return };
        if word.fetch_or(1 << (bit % 64), Ordering::AcqRel) & 1 << (bit % 64) == 0 {
            count.fetch_add(1, Ordering::AcqRel);
            new.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Returns whether a bit is set.
    pub(super) fn get(&self, bit: usize) -> bool {
        self.words.get().get(BITS + bit / 64).is_some_and(|word| word.load(Ordering::Acquire) & 1 << (bit % 64) != 0)
    }

    /// Returns how many bits are set.
    pub(super) fn count(&self) -> usize {
        self.words.get().get(COUNT).map_or(0, |count| count.load(Ordering::Acquire)) as usize
    }

    /// Returns how many bits were set since the last call.
    pub(super) fn take_new(&self) -> usize {
        self.words.get().get(NEW).map_or(0, |new| new.swap(0, Ordering::AcqRel)) as usize
    }
}
