//! The definitions of stack keys. Events refer to them from anywhere in the file, so the first pass keeps all of them.

use std::collections::HashMap;

use crate::format::stack::Definition;

/// Memory for definitions in addition to the length of the file. An uncompressed file has no definition that does not fit,
/// because a definition takes at least as much of the file. The limit stops buffers that unpack to far more than they are.
pub(crate) const FREE_MEMORY: u64 = 64 * 1024 * 1024;
/// Size of a definition in addition to its addresses, in the file and approximately in memory.
const COST: usize = 24;

/// The addresses of each stack key.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    /// The position of the first address, and the number of addresses.
    places: HashMap<u64, (usize, usize)>,
    addresses: Vec<u64>,
    dropped: u64,
}

impl Keys {
    /// Adds a definition, unless all definitions would then need more than `most` bytes of memory. If a key is defined twice, the
    /// first definition is used.
    pub(crate) fn add(&mut self, definition: &Definition<'_>, most: u64) {
        if self.places.contains_key(&definition.key) {
            return;
        }
        let frames = definition.frames();
        let cost = u64::try_from(self.cost() + COST + frames.len() * 8).unwrap_or(u64::MAX);
        if cost > most {
            self.dropped += 1;
            return;
        }
        self.places.insert(definition.key, (self.addresses.len(), frames.len()));
        self.addresses.extend(frames);
    }

    pub(crate) fn get(&self, key: u64) -> Option<&[u64]> {
        let (start, length) = *self.places.get(&key)?;
        self.addresses.get(start..)?.get(..length)
    }

    /// Returns the approximate memory of the definitions, in bytes.
    pub(crate) fn cost(&self) -> usize {
        self.places.len() * COST + self.addresses.len() * 8
    }

    /// Returns how many definitions were left out.
    pub(crate) const fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::Keys;
    use crate::format::record::Layout;
    use crate::format::stack::{HOOK_RUNDOWN, definition, push_definition};

    fn add(keys: &mut Keys, key: u64, frames: &[u64], most: usize) -> usize {
        let mut record = Vec::new();
        assert!(push_definition(&mut record, HOOK_RUNDOWN, 5, key, frames));
        keys.add(&definition(Layout::PerfInfo, &record).unwrap(), most.try_into().unwrap());
        record.len()
    }

    #[test]
    fn definitions_that_fit_into_their_file_are_never_dropped() {
        let mut keys = Keys::default();
        let mut length = 0;
        for (key, count) in (0..).zip([0, 1, 2, 100, 8000, 0]) {
            length += add(&mut keys, key, &vec![key; count], length + 24 + 8 * count);
            assert_eq!(keys.get(key), Some(&vec![key; count][..]));
        }
        assert_eq!((keys.dropped(), keys.cost()), (0, length), "as large as in the file");
        // A compressed definition takes less of the file than of the memory.
        add(&mut keys, 6, &[1, 2], length + 39);
        assert_eq!((keys.dropped(), keys.get(6), keys.cost()), (1, None, length));
        add(&mut keys, 7, &[1, 2], length + 40);
        assert_eq!((keys.dropped(), keys.get(7)), (1, Some(&[1, 2][..])));
    }

    #[test]
    fn the_first_definition_of_a_key_is_used() {
        let mut keys = Keys::default();
        add(&mut keys, 5, &[1, 2], 1000);
        add(&mut keys, 6, &[3], 1000);
        add(&mut keys, 5, &[4, 5, 6], 1000);
        assert_eq!((keys.get(5), keys.get(6), keys.get(7)), (Some(&[1, 2][..]), Some(&[3][..]), None));
        assert_eq!((keys.dropped(), keys.cost()), (0, 2 * 24 + 3 * 8));
    }
}
