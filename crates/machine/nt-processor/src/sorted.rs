//! Maps and sets as sorted vectors, with the methods of `BTreeMap` and `BTreeSet` that this crate uses.
//!
//! The machine keeps some fifty tables of different types, most of them with a few entries. The code of that many types of
//! `BTreeMap` was a third of the crate. A table that can have very many entries is a `BTreeMap`, unless new keys are the largest. The pool
//! hands out its highest addresses first, so a new address is the smallest key.

use std::borrow::Borrow;
use std::mem;
use std::ops::{Bound, RangeBounds};
use std::vec::IntoIter;

/// A map, ordered by its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortedMap<K, V> {
    entries: Vec<(K, V)>,
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V> SortedMap<K, V> {
    /// Returns an empty map.
    pub const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// Returns the number of entries.
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there are no entries.
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Returns the entries in the order of their keys.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> + ExactSizeIterator {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// Returns the entries with mutable values, in the order of their keys.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (&K, &mut V)> {
        self.entries.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// Returns the keys in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> {
        self.entries.iter().map(|(key, _)| key)
    }

    /// Returns the values in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> {
        self.entries.iter().map(|(_, value)| value)
    }

    /// Returns the mutable values in the order of their keys.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> {
        self.entries.iter_mut().map(|(_, value)| value)
    }

    /// Returns the values in the order of their keys, without the map.
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> {
        self.entries.into_iter().map(|(_, value)| value)
    }

    /// Keeps the entries for which `keep` returns `true`.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.entries.retain_mut(|(key, value)| keep(key, value));
    }

    /// Removes the entries that `is_taken` selects, and returns them.
    pub fn extract_if(&mut self, mut is_taken: impl FnMut(&K, &mut V) -> bool) -> impl Iterator<Item = (K, V)> {
        self.entries.extract_if(.., move |(key, value)| is_taken(key, value))
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    /// Returns the index of a key, or where it would be inserted.
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.entries.binary_search_by(|(other, _)| other.borrow().cmp(key))
    }

    /// Returns whether there is an entry with this key.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }

    /// Returns the value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.entries.get(self.find(key).ok()?).map(|(_, value)| value)
    }

    /// Returns the mutable value of a key.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let index = self.find(key).ok()?;
        self.entries.get_mut(index).map(|(_, value)| value)
    }

    /// Sets the value of a key. Returns the old value.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok(index) => self.entries.get_mut(index).map(|(_, old)| mem::replace(old, value)),
            Err(index) => {
                self.entries.insert(index, (key, value));
                None
            }
        }
    }

    /// Removes the entry with this key. Returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        Some(self.entries.remove(self.find(key).ok()?).1)
    }

    /// Returns the value of a key, and inserts one first if the key has none.
    #[expect(clippy::indexing_slicing, reason = "the index is that of an entry that was found or inserted")]
    pub fn get_or_insert_with(&mut self, key: K, value: impl FnOnce() -> V) -> &mut V {
        let index = match self.find(&key) {
            Ok(index) => index,
            Err(index) => {
                self.entries.insert(index, (key, value()));
                index
            }
        };
        &mut self.entries[index].1
    }

    /// Returns the value of a key, and inserts the default first if the key has none.
    pub fn get_or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.get_or_insert_with(key, V::default)
    }

    /// Returns the entries whose keys are in a range.
    pub fn range<Q: Ord + ?Sized>(&self, range: impl RangeBounds<Q>) -> impl DoubleEndedIterator<Item = (&K, &V)>
    where
        K: Borrow<Q>,
    {
        let first = match range.start_bound() {
            Bound::Unbounded => 0,
            Bound::Included(start) => self.entries.partition_point(|(key, _)| key.borrow() < start),
            Bound::Excluded(start) => self.entries.partition_point(|(key, _)| key.borrow() <= start),
        };
        let end = match range.end_bound() {
            Bound::Unbounded => self.entries.len(),
            Bound::Included(end) => self.entries.partition_point(|(key, _)| key.borrow() <= end),
            Bound::Excluded(end) => self.entries.partition_point(|(key, _)| key.borrow() < end),
        };
        self.entries.get(first..end).unwrap_or_default().iter().map(|(key, value)| (key, value))
    }
}

impl<K: Ord, V> Extend<(K, V)> for SortedMap<K, V> {
    fn extend<T: IntoIterator<Item = (K, V)>>(&mut self, entries: T) {
        entries.into_iter().for_each(|(key, value)| drop(self.insert(key, value)));
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<T: IntoIterator<Item = (K, V)>>(entries: T) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type IntoIter = IntoIter<(K, V)>;
    type Item = (K, V);

    fn into_iter(self) -> IntoIter<(K, V)> {
        self.entries.into_iter()
    }
}

/// A set, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortedSet<T> {
    entries: Vec<T>,
}

impl<T> Default for SortedSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> SortedSet<T> {
    /// Returns an empty set.
    pub const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// Returns whether there are no elements.
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Removes all elements.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Returns the elements in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        self.entries.iter()
    }

    /// Returns the smallest element.
    pub fn first(&self) -> Option<&T> {
        self.entries.first()
    }
}

impl<T: Ord> SortedSet<T> {
    /// Returns whether the set has this element.
    pub fn contains<Q: Ord + ?Sized>(&self, value: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.entries.binary_search_by(|other| other.borrow().cmp(value)).is_ok()
    }

    /// Returns whether the value was new.
    pub fn insert(&mut self, value: T) -> bool {
        match self.entries.binary_search(&value) {
            Ok(_) => false,
            Err(index) => {
                self.entries.insert(index, value);
                true
            }
        }
    }

    /// Returns the first value that is not less than `value`.
    pub fn next_from(&self, value: &T) -> Option<&T> {
        self.entries.get(self.entries.partition_point(|other| other < value))
    }

    /// Returns whether the set had the value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, value: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        let found = self.entries.binary_search_by(|other| other.borrow().cmp(value));
        found.is_ok_and(|index| {
            drop(self.entries.remove(index));
            true
        })
    }
}

impl<T: Ord> FromIterator<T> for SortedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut set = Self::new();
        set.extend(values);
        set
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        values.into_iter().for_each(|value| _ = self.insert(value));
    }
}

impl<T> IntoIterator for SortedSet<T> {
    type IntoIter = IntoIter<T>;
    type Item = T;

    fn into_iter(self) -> IntoIter<T> {
        self.entries.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::{SortedMap, SortedSet};
    use std::collections::{BTreeMap, BTreeSet};

    /// Numbers from 0 to 15, so that keys are inserted and removed more than once.
    fn keys() -> impl Iterator<Item = u32> {
        (0..2_000_u32).map(|n| n.wrapping_mul(0x9E37_79B1) >> 28)
    }

    #[test]
    fn a_map_is_a_btree_map() {
        let mut ours = SortedMap::new();
        let mut theirs = BTreeMap::new();
        for (n, key) in keys().enumerate() {
            match n % 7 {
                0..3 => assert_eq!(ours.insert(key, n), theirs.insert(key, n)),
                3 => assert_eq!(ours.remove(&key), theirs.remove(&key)),
                4 => {
                    *ours.get_or_default(key) += n;
                    *theirs.entry(key).or_default() += n;
                }
                5 => assert_eq!(ours.get(&key), theirs.get(&key)),
                _ => {
                    let taken = |_: &u32, value: &mut usize| value.is_multiple_of(3);
                    let theirs: Vec<_> = theirs.extract_if(key.., taken).collect();
                    assert_eq!(
                        ours.extract_if(|other, value| *other >= key && taken(other, value)).collect::<Vec<_>>(),
                        theirs
                    );
                }
            }
            assert!(ours.iter().eq(&theirs), "{ours:?} {theirs:?}");
            assert!(ours.range(..key).eq(theirs.range(..key)));
            assert!(ours.range(key..=9.max(key)).eq(theirs.range(key..=9.max(key))));
        }
    }

    #[test]
    fn a_set_is_a_btree_set() {
        let mut ours = SortedSet::new();
        let mut theirs = BTreeSet::new();
        for (n, key) in keys().enumerate() {
            if n % 3 == 0 {
                assert_eq!(ours.remove(&key), theirs.remove(&key));
            } else {
                assert_eq!(ours.insert(key), theirs.insert(key));
            }
            assert_eq!(ours.contains(&8), theirs.contains(&8));
            assert_eq!(ours.next_from(&8), theirs.range(8..).next());
            assert!(ours.iter().eq(&theirs));
        }
    }
}
