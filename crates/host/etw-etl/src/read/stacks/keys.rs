//! The definitions of stack keys. Events refer to them from anywhere in the file, so the first pass keeps all of them.

use std::collections::HashMap;

use crate::format::stack::Definition;

/// Memory for definitions in addition to the length of the file. The definitions of an uncompressed file always fit, because
/// each one takes at least as many bytes in the file. The limit is for compressed buffers that expand to many times their size.
const FREE_MEMORY: u64 = 64 * 1024 * 1024;
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
    /// Adds a definition from a file of this length. If a key is defined twice, the first definition is used.
    pub(crate) fn add(&mut self, definition: &Definition<'_>, length: u64) {
        if self.places.contains_key(&definition.key) {
            return;
        }
        let frames = definition.frames();
        let cost = u64::try_from(self.cost() + COST + frames.len() * 8).unwrap_or(u64::MAX);
        if cost > length.saturating_add(FREE_MEMORY) {
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
    use super::{FREE_MEMORY, Keys};
    use crate::format::record::Layout;
    use crate::format::stack::{HOOK_RUNDOWN, definition, push_definition};

    #[test]
    fn definitions_that_fit_into_their_file_are_never_dropped() {
        let mut keys = Keys::default();
        let mut length = 0;
        let frames = vec![7; 8000];
        let mut add = |keys: &mut Keys, key, is_packed| {
            let mut record = Vec::new();
            assert!(push_definition(&mut record, HOOK_RUNDOWN, 5, key, &frames));
            length += if is_packed { 0 } else { u64::try_from(record.len()).unwrap() };
            keys.add(&definition(Layout::PerfInfo, &record).unwrap(), length);
        };
        let many = 2 * FREE_MEMORY / 64_000;
        (0..many).for_each(|key| add(&mut keys, key, false));
        assert_eq!((keys.dropped(), keys.get(many - 1)), (0, Some(&frames[..])));
        // Buffers that expand to much more than their size in the file.
        (many..2 * many).for_each(|key| add(&mut keys, key, true));
        assert!((many / 3..many).contains(&keys.dropped()), "{} of {many}", keys.dropped());
        assert_eq!(keys.get(2 * many - 1), None);
    }
}
