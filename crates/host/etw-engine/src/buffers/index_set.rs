//! A set of small numbers that threads add to and take from without a lock.

use super::sync::{AtomicU64, Ordering};

/// A bit for every number. Who clears a bit owns what the number stands for.
pub(super) struct IndexSet(Box<[AtomicU64]>);

impl IndexSet {
    /// An empty set of numbers below `limit`.
    pub(super) fn new(limit: usize) -> Self {
        Self((0..limit.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    fn place(&self, index: usize) -> Option<(&AtomicU64, u64)> {
        self.0.get(index / 64).map(|word| (word, 1 << (index % 64)))
    }

    /// Adds a number: everything done before is visible to who takes it.
    pub(super) fn insert(&self, index: usize) {
        if let Some((word, bit)) = self.place(index) {
            word.fetch_or(bit, Ordering::AcqRel);
        }
    }

    /// Takes this number, unless somebody else did.
    pub(super) fn remove(&self, index: usize) -> bool {
        self.place(index).is_some_and(|(word, bit)| word.fetch_and(!bit, Ordering::AcqRel) & bit != 0)
    }

    pub(super) fn contains(&self, index: usize) -> bool {
        self.place(index).is_some_and(|(word, bit)| word.load(Ordering::Acquire) & bit != 0)
    }

    /// Takes any number.
    pub(super) fn take(&self) -> Option<usize> {
        self.0.iter().enumerate().find_map(|(number, word)| {
            let mut bits = word.load(Ordering::Acquire);
            while bits != 0 {
                let bit = bits & bits.wrapping_neg();
                let before = word.fetch_and(!bit, Ordering::AcqRel);
                if before & bit != 0 {
                    return Some(number * 64 + bit.trailing_zeros() as usize);
                }
                bits = before;
            }
            None
        })
    }

    /// The numbers at some moment.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(number, word)| {
            let bits = word.load(Ordering::Acquire);
            (0..64).filter(move |bit| bits & (1 << bit) != 0).map(move |bit| number * 64 + bit)
        })
    }

    pub(super) fn len(&self) -> usize {
        self.0.iter().map(|word| word.load(Ordering::Acquire).count_ones() as usize).sum()
    }
}
