//! A bit for each block, in memory that the driver's process can share with its parent.

use std::sync::atomic::{AtomicU64, Ordering};
use std::{io, ptr};

use crate::memory::{Protection, Region};

/// The word before the bits: how many of them are set.
const COUNT: usize = 0;
const BITS: usize = 1;

/// The bits. Nothing here allocates or locks, so a signal handler can set one.
#[derive(Debug)]
pub(super) struct Bitmap {
    region: Region,
}

impl Bitmap {
    /// Allocates bits that are not set. `shared` bits are shared with processes that are forked later.
    pub(super) fn new(bits: usize, shared: bool) -> io::Result<Self> {
        let words = BITS + bits.div_ceil(64);
        Region::new(words as u64 * 8, Protection::ReadWrite, shared).map(|region| Self { region })
    }

    fn words(&self) -> &[AtomicU64] {
        let start = ptr::with_exposed_provenance(self.region.base as usize);
        // SAFETY: the region is zeroed, aligned and mapped for as long as this value exists, and is only used as atomics.
        unsafe { std::slice::from_raw_parts(start, (self.region.size / 8) as usize) }
    }

    /// Sets a bit. Returns whether it was not set before.
    pub(super) fn set(&self, bit: usize) -> bool {
        let words = self.words();
        let (Some(word), [count, ..]) = (words.get(BITS + bit / 64), words) else { return false };
        let is_new = word.fetch_or(1 << (bit % 64), Ordering::AcqRel) & 1 << (bit % 64) == 0;
        if is_new {
            count.fetch_add(1, Ordering::AcqRel);
        }
        is_new
    }

    /// Returns whether a bit is set.
    pub(super) fn get(&self, bit: usize) -> bool {
        self.words().get(BITS + bit / 64).is_some_and(|word| word.load(Ordering::Acquire) & 1 << (bit % 64) != 0)
    }

    /// Returns how many bits are set.
    pub(super) fn count(&self) -> usize {
        self.words().get(COUNT).map_or(0, |count| count.load(Ordering::Acquire)) as usize
    }

    /// Returns the bits that are set, and resets them.
    pub(super) fn take(&self) -> Vec<usize> {
        let words = self.words();
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

impl Drop for Bitmap {
    fn drop(&mut self) {
        let start = ptr::with_exposed_provenance_mut(self.region.base as usize);
        // SAFETY: this is the whole region that `new` mapped, and references to it do not outlive this value.
        unsafe { libc::munmap(start, self.region.size as usize) };
    }
}
