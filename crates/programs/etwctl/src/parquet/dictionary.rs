//! Texts and bytes of a column, each different one stored once.

use std::ops::Range;

use ahash::RandomState;
use hashbrown::HashTable;

/// Values from which on a column is given up as one of different values, unless they repeat.
const FEW: usize = 4096;
/// Maximum size of a dictionary in a file, in bytes.
const MAX_DICTIONARY: usize = 1 << 20;
/// Number of values that are found without hashing all of their bytes; a power of two.
const RECENT: usize = 256;

/// Values, and the order in which they occur.
#[derive(Debug, Default)]
pub(super) struct Dictionary {
    /// The different values in Parquet's plain encoding: the length in four bytes, then the bytes.
    plain: Vec<u8>,
    /// Where the bytes of each value are.
    values: Vec<(usize, usize)>,
    /// The value of each row. As long as there is only one value, empty.
    places: Vec<u32>,
    rows: usize,
    /// The places of the different values, by their hashes.
    known: HashTable<u32>,
    hasher: RandomState,
    recent: Box<[u32]>,
    /// Whether the values are too different to look for equal ones.
    is_varied: bool,
}

impl Dictionary {
    /// Adds a row and returns its approximate memory cost in bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) -> usize {
        if self.values.len() == 1 && self.get(0) == Some(bytes) {
            self.rows += 1;
            return 0;
        }
        let slot = slot(bytes);
        let recent = self.recent.get(slot).copied().unwrap_or(u32::MAX);
        let (place, cost) = if self.get(recent) == Some(bytes) { (recent, 0) } else { self.find(bytes, slot) };
        if self.values.len() > 1 {
            self.places.resize(self.rows, 0);
            self.places.push(place);
        }
        self.rows += 1;
        cost + 4
    }

    /// Adds rows that are equal to the last one, and returns their approximate memory cost in bytes.
    pub(super) fn repeat(&mut self, count: usize) -> usize {
        self.rows += count;
        let Some(last) = self.places.last().copied() else { return 0 };
        self.places.resize(self.rows, last);
        4 * count
    }

    /// Finds a value, or adds it, and remembers it as a recent one.
    fn find(&mut self, bytes: &[u8], slot: usize) -> (u32, usize) {
        let (place, cost) = if self.is_varied {
            (self.append(bytes), bytes.len() + 24)
        } else {
            let hash = self.hasher.hash_one(bytes);
            let known = self.known.find(hash, |place| self.get(*place) == Some(bytes)).copied();
            known.map_or_else(|| self.insert(bytes, hash), |place| (place, 0))
        };
        if self.recent.is_empty() {
            self.recent = vec![u32::MAX; RECENT].into();
        }
        if let Some(recent) = self.recent.get_mut(slot) {
            *recent = place;
        }
        (place, cost)
    }

    /// Adds a value that is not known.
    fn insert(&mut self, bytes: &[u8], hash: u64) -> (u32, usize) {
        let place = self.append(bytes);
        if self.values.len() > FEW && self.values.len() > self.rows / 2 {
            self.is_varied = true;
            self.known = HashTable::new();
        } else {
            let Self { plain, values, known, hasher, .. } = self;
            known.insert_unique(hash, place, |place| hasher.hash_one(value(plain, values, *place).unwrap_or_default()));
        }
        (place, bytes.len() + 40)
    }

    fn append(&mut self, bytes: &[u8]) -> u32 {
        let place = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
        self.plain.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
        self.values.push((self.plain.len(), bytes.len()));
        self.plain.extend_from_slice(bytes);
        place
    }

    fn get(&self, place: u32) -> Option<&[u8]> {
        value(&self.plain, &self.values, place)
    }

    /// Whether a dictionary makes the column smaller.
    pub(super) const fn is_useful(&self) -> bool {
        self.values.len() <= 1 || !self.is_varied && self.plain.len() <= MAX_DICTIONARY
    }

    /// Appends the values of some rows in Parquet's plain encoding. There must be several values.
    pub(super) fn append_rows(&self, body: &mut Vec<u8>, rows: Range<usize>) {
        for place in self.places.get(rows).unwrap_or_default() {
            let value = usize::try_from(*place).ok().and_then(|place| self.values.get(place));
            let value = value.and_then(|(start, length)| self.plain.get(start - size_of::<u32>()..start + length));
            body.extend_from_slice(value.unwrap_or_default());
        }
    }

    /// The different values in Parquet's plain encoding, and their number.
    pub(super) fn take_values(&mut self) -> (Vec<u8>, usize) {
        (std::mem::take(&mut self.plain), self.values.len())
    }

    /// The value of each row, if there are several values.
    pub(super) fn places(&self) -> &[u32] {
        &self.places
    }

    /// The smallest and the largest value.
    pub(super) fn range(&self) -> Option<(&[u8], &[u8])> {
        let mut values = self.values.iter().filter_map(|(start, length)| self.plain.get(*start..)?.get(..*length));
        let first = values.next()?;
        Some(values.fold((first, first), |(least, most), value| (least.min(value), most.max(value))))
    }
}

/// Returns the bytes of a value.
fn value<'a>(plain: &'a [u8], values: &[(usize, usize)], place: u32) -> Option<&'a [u8]> {
    let (start, length) = *values.get(usize::try_from(place).ok()?)?;
    plain.get(start..)?.get(..length)
}

/// A place for a value that depends on its length and its ends.
fn slot(bytes: &[u8]) -> usize {
    let word = |chunk: Option<&[u8; 8]>| chunk.map(|chunk| u64::from_le_bytes(*chunk));
    let mixed = match (word(bytes.first_chunk()), word(bytes.last_chunk())) {
        (Some(first), Some(last)) => first ^ last.rotate_left(29),
        _ => bytes.iter().fold(0, |mixed, byte| mixed << 8 | u64::from(*byte)),
    };
    let length = u64::try_from(bytes.len()).unwrap_or_default();
    let [.., high] = (mixed ^ length).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes();
    usize::from(high)
}

#[cfg(test)]
mod tests {
    use super::{Dictionary, FEW};

    #[test]
    fn values_are_stored_once_unless_all_of_them_differ() {
        let mut few = Dictionary::default();
        let rows: Vec<String> = (0..10_000).map(|number| format!("{}", number % 300)).collect();
        for row in &rows {
            few.push(row.as_bytes());
        }
        assert!(few.is_useful());
        assert_eq!(
            few.range().map(|(least, most)| (least.to_vec(), most.to_vec())),
            Some((b"0".to_vec(), b"99".to_vec()))
        );
        assert_eq!(few.values.len(), 300);
        assert_eq!(restored(&few), rows);

        let mut many = Dictionary::default();
        let rows: Vec<String> = (0..FEW + 2).map(|number| format!("number {number}")).collect();
        for row in rows.iter().chain(&rows) {
            many.push(row.as_bytes());
        }
        assert!(!many.is_useful());
        assert_eq!(restored(&many), [rows.clone(), rows].concat());
    }

    /// The rows in Parquet's plain encoding, read back.
    fn restored(dictionary: &Dictionary) -> Vec<String> {
        let mut body = Vec::new();
        let mut rows = Vec::new();
        dictionary.append_rows(&mut body, 0..dictionary.rows);
        let mut rest = body.as_slice();
        while let Some((length, behind)) = rest.split_first_chunk() {
            let (text, behind) = behind.split_at(u32::from_le_bytes(*length).try_into().unwrap());
            rows.push(String::from_utf8(text.to_vec()).unwrap());
            rest = behind;
        }
        rows
    }
}
