//! A set of small numbers. Threads insert and remove numbers without a lock.

use super::sync::{AtomicU64, Ordering};

/// One bit for every number. The thread that clears a bit owns the object with that number.
pub(super) struct IndexSet(Box<[AtomicU64]>);

impl IndexSet {
    /// Creates an empty set of numbers below `limit`.
    pub(super) fn new(limit: usize) -> Self {
        Self((0..limit.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    fn place(&self, index: usize) -> Option<(&AtomicU64, u64)> {
        self.0.get(index / 64).map(|word| (word, 1 << (index % 64)))
    }

    /// Adds a number. Everything that this thread did before is visible to the thread that removes the number.
    pub(super) fn insert(&self, index: usize) {
        if let Some((word, bit)) = self.place(index) {
            word.fetch_or(bit, Ordering::AcqRel);
        }
    }

    /// Removes this number. Returns false if it is not in the set, for example because another thread removed it first.
    pub(super) fn remove(&self, index: usize) -> bool {
        self.place(index).is_some_and(|(word, bit)| word.fetch_and(!bit, Ordering::AcqRel) & bit != 0)
    }

    pub(super) fn contains(&self, index: usize) -> bool {
        self.place(index).is_some_and(|(word, bit)| word.load(Ordering::Acquire) & bit != 0)
    }

    /// Removes and returns any number.
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

    /// The numbers in the set at some moment.
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
