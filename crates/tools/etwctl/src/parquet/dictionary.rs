//! Texts and bytes of a column, each different one stored once.

use std::collections::HashMap;

use parquet::data_type::ByteArray;

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
    known: HashMap<Box<[u8]>, u32>,
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
        let (place, cost) = match self.known.get(bytes) {
            Some(place) => (*place, 0),
            None => self.insert(bytes),
        };
        if self.recent.is_empty() {
            self.recent = vec![u32::MAX; RECENT].into();
        }
        if let Some(recent) = self.recent.get_mut(slot) {
            *recent = place;
        }
        (place, cost)
    }

    fn insert(&mut self, bytes: &[u8]) -> (u32, usize) {
        let place = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
        self.plain.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
        self.values.push((self.plain.len(), bytes.len()));
        self.plain.extend_from_slice(bytes);
        self.is_varied |= self.values.len() > FEW && self.values.len() > self.rows / 2;
        if self.is_varied {
            self.known = HashMap::new();
            return (place, bytes.len() + 24);
        }
        self.known.insert(bytes.into(), place);
        (place, 2 * bytes.len() + 80)
    }

    fn get(&self, place: u32) -> Option<&[u8]> {
        let (start, length) = *self.values.get(usize::try_from(place).ok()?)?;
        self.plain.get(start..)?.get(..length)
    }

    /// Whether a dictionary makes the column smaller.
    pub(super) const fn is_useful(&self) -> bool {
        !self.is_varied && self.plain.len() <= MAX_DICTIONARY
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

    /// Removes the rows and returns their values.
    pub(super) fn take_rows(&mut self) -> Vec<ByteArray> {
        let Self { plain, values, mut places, rows, .. } = std::mem::take(self);
        places.resize(rows, 0);
        let plain = ByteArray::from(plain);
        let values: Vec<ByteArray> = values.into_iter().map(|(start, length)| plain.slice(start, length)).collect();
        places.into_iter().filter_map(|place| values.get(usize::try_from(place).ok()?)).cloned().collect()
    }
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
        let restored: Vec<_> =
            few.take_rows().iter().map(|row| String::from_utf8(row.data().to_vec()).unwrap()).collect();
        assert_eq!(restored, rows);
        assert!(few.places().is_empty(), "the rows are taken");

        let mut many = Dictionary::default();
        let rows: Vec<String> = (0..FEW + 2).map(|number| format!("number {number}")).collect();
        for row in rows.iter().chain(&rows) {
            many.push(row.as_bytes());
        }
        assert!(!many.is_useful());
        let restored = many.take_rows();
        assert_eq!(restored.len(), 2 * rows.len());
        assert!(restored.iter().zip(rows.iter().chain(&rows)).all(|(restored, row)| restored.data() == row.as_bytes()));
    }
}
