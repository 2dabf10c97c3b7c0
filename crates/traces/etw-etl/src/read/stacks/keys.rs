//! The definitions of stack keys. The first pass keeps all of them, because they come after the events that refer to them.
//!
//! Windows uses a key again for another stack. A definition of type delete or rundown therefore belongs to the references since
//! the previous definition, and a reference to the next definition of its key in the same session. A definition does not name a
//! process; keys are unique across processes, except that a kernel stack and a user stack can have the same key.

use crate::format::stack::Definition;

/// Memory for definitions in addition to the length of the file. It stops buffers that unpack to far more than they are.
const FREE_MEMORY: u64 = 64 * 1024 * 1024;
/// Size of a definition in memory in addition to its addresses.
const COST: usize = size_of::<Defined>();

/// A reference to a stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reference {
    pub(crate) key: u64,
    /// The session that wrote the reference.
    pub(crate) session: u16,
    /// When the reference was written.
    pub(crate) stamp: u64,
    /// Whether it is a stack in kernel mode, if the reference says so.
    pub(crate) is_kernel: Option<bool>,
}

/// A definition, and where its addresses are. The order of the members is the order in [`Keys`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Defined {
    key: u64,
    session: u16,
    is_kernel: bool,
    stamp: u64,
    is_create: bool,
    length: u16,
    /// Index of the first address.
    start: u32,
}

/// The addresses of the stack keys.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    defined: Vec<Defined>,
    addresses: Vec<u64>,
    dropped: u64,
    /// The earliest and the latest time stamp of the definitions that were left out.
    gap: Option<(u64, u64)>,
}

/// Returns the memory for the definitions of a file of this length. All definitions of an uncompressed file fit: the shortest
/// one takes 32 bytes of the file and 40 bytes of memory.
pub(crate) const fn most_memory(length: u64) -> u64 {
    length.saturating_add(length / 4).saturating_add(FREE_MEMORY)
}

impl Keys {
    /// Adds a definition, unless all definitions would then need more than `most` bytes of memory. Call [`sort`](Self::sort)
    /// after the last one.
    pub(crate) fn add(&mut self, definition: &Definition<'_>, session: u16, stamp: u64, most: u64) {
        // TraceEvent ignores definitions without addresses, too.
        if definition.len() == 0 {
            return;
        }
        let cost = u64::try_from(self.cost() + COST + definition.len() * 8).unwrap_or(u64::MAX);
        let place = (u32::try_from(self.addresses.len()), u16::try_from(definition.len()));
        let (Ok(start), Ok(length), true) = (place.0, place.1, cost <= most) else {
            self.dropped += 1;
            let (earliest, latest) = self.gap.unwrap_or((stamp, stamp));
            self.gap = Some((earliest.min(stamp), latest.max(stamp)));
            return;
        };
        let Definition { key, is_create, .. } = *definition;
        self.defined.push(Defined { key, session, is_kernel: definition.is_kernel(), stamp, is_create, length, start });
        definition.append(&mut self.addresses);
    }

    /// Orders the definitions, so that they can be found.
    pub(crate) fn sort(&mut self) {
        self.defined.sort_unstable();
    }

    /// Returns the addresses of the stack that a reference means: those of the next definition of its key, or those of an earlier
    /// create record if the key was not deleted since. Returns `None` if the definition is missing.
    pub(crate) fn get(&self, reference: Reference) -> Option<&[u64]> {
        let found = if let Some(is_kernel) = reference.is_kernel {
            self.find(reference, is_kernel)
        } else {
            let found = [false, true].into_iter().filter_map(|is_kernel| self.find(reference, is_kernel));
            found.min_by_key(|defined| defined.stamp.abs_diff(reference.stamp))
        }?;
        // A definition that was left out may be the one that is meant.
        let between = (found.stamp.min(reference.stamp), found.stamp.max(reference.stamp));
        if self.gap.is_some_and(|gap| gap.0 <= between.1 && between.0 <= gap.1) {
            return None;
        }
        let start = usize::try_from(found.start).ok()?;
        self.addresses.get(start..)?.get(..found.length.into())
    }

    fn find(&self, reference: Reference, is_kernel: bool) -> Option<&Defined> {
        let Reference { key, session, stamp, .. } = reference;
        let next = self.defined.partition_point(|defined| {
            (defined.key, defined.session, defined.is_kernel, defined.stamp) < (key, session, is_kernel, stamp)
        });
        let is_same =
            |defined: &&Defined| (defined.key, defined.session, defined.is_kernel) == (key, session, is_kernel);
        let last = next.checked_sub(1).and_then(|last| self.defined.get(last));
        let created = last.filter(is_same).filter(|last| last.is_create);
        created.or_else(|| self.defined.get(next).filter(is_same))
    }

    /// Returns the approximate memory of the definitions, in bytes.
    pub(crate) const fn cost(&self) -> usize {
        self.defined.len() * COST + self.addresses.len() * 8
    }

    /// Returns how many definitions were left out.
    pub(crate) const fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::{Keys, Reference, most_memory};
    use crate::format::record::Layout;
    use crate::format::stack::{HOOK_CREATE, HOOK_DELETE, HOOK_RUNDOWN, definition, push_definition};

    const KERNEL: u64 = 0xFFFF_F800_0000_0000;

    /// Adds a definition. Returns its size in a file.
    fn add(keys: &mut Keys, hook: u16, session: u16, stamp: u64, key: u64, frames: &[u64], most: u64) -> u64 {
        let mut record = Vec::new();
        assert!(push_definition(&mut record, hook, stamp, key, frames));
        keys.add(&definition(Layout::PerfInfo, &record).unwrap(), session, stamp, most);
        keys.sort();
        record.len().try_into().unwrap()
    }

    /// Returns the innermost address of the user stack that a reference of session 1 means.
    fn first(keys: &Keys, key: u64, stamp: u64) -> Option<u64> {
        keys.get(Reference { key, session: 1, stamp, is_kernel: Some(false) }).map(|frames| frames[0])
    }

    #[test]
    fn definitions_that_fit_into_their_file_are_never_dropped() {
        let mut keys = Keys::default();
        let mut length = 0;
        for (key, count) in (0..).zip([1, 2, 1, 100, 8000, 1]) {
            let frames = vec![key; count];
            // A file that has nothing else, and no memory in addition.
            let most = most_memory(length + 24 + 8 * u64::try_from(count).unwrap()) - most_memory(0);
            length += add(&mut keys, HOOK_RUNDOWN, 1, 9, key, &frames, most);
            let reference = Reference { key, session: 1, stamp: 0, is_kernel: None };
            assert_eq!(keys.get(reference), Some(&frames[..]));
        }
        assert_eq!(keys.dropped(), 0);
        let cost = u64::try_from(keys.cost()).unwrap();
        assert_eq!(cost, length + 6 * 8);
        // A compressed definition takes less of the file than of the memory.
        add(&mut keys, HOOK_RUNDOWN, 1, 20, 6, &[1, 2], cost + 47);
        assert_eq!(keys.dropped(), 1);
        assert_eq!(first(&keys, 6, 0), None);
        add(&mut keys, HOOK_RUNDOWN, 1, 10, 7, &[1, 2], cost + 48);
        assert_eq!(keys.dropped(), 1);
        assert_eq!(first(&keys, 7, 10), Some(1));
    }

    #[test]
    fn a_reference_means_the_next_definition_of_its_key() {
        let mut keys = Keys::default();
        add(&mut keys, HOOK_RUNDOWN, 1, 30, 5, &[3], 1000);
        add(&mut keys, HOOK_DELETE, 1, 10, 5, &[1], 1000);
        add(&mut keys, HOOK_DELETE, 1, 20, 5, &[2], 1000);
        add(&mut keys, HOOK_DELETE, 1, 15, 6, &[4], 1000);
        let found = [0, 10, 11, 20, 21, 30, 31].map(|stamp| first(&keys, 5, stamp));
        assert_eq!(found, [Some(1), Some(1), Some(2), Some(2), Some(3), Some(3), None]);
        assert_eq!(first(&keys, 6, 15), Some(4));
        assert_eq!(first(&keys, 6, 16), None);
        assert_eq!(first(&keys, 7, 0), None);
    }

    #[test]
    fn sessions_and_modes_have_their_own_keys() {
        let mut keys = Keys::default();
        add(&mut keys, HOOK_DELETE, 2, 10, 5, &[2], 1000);
        add(&mut keys, HOOK_DELETE, 1, 11, 5, &[KERNEL], 1000);
        add(&mut keys, HOOK_DELETE, 1, 12, 5, &[1], 1000);
        let get = |session, stamp, is_kernel| {
            keys.get(Reference { key: 5, session, stamp, is_kernel }).map(|frames| frames[0])
        };
        assert_eq!(
            [get(1, 0, Some(false)), get(1, 0, Some(true)), get(2, 0, Some(false))],
            [Some(1), Some(KERNEL), Some(2)]
        );
        assert_eq!([get(2, 0, Some(true)), get(1, 12, Some(true)), get(3, 0, None)], [None; 3]);
        // A reference that does not say its mode means the first definition of either mode.
        assert_eq!([get(1, 0, None), get(1, 12, None), get(1, 13, None)], [Some(KERNEL), Some(1), None]);
    }

    #[test]
    fn a_created_key_is_defined_until_it_is_deleted() {
        let mut keys = Keys::default();
        add(&mut keys, HOOK_CREATE, 1, 10, 5, &[1], 1000);
        assert_eq!([9, 10, 11, 99].map(|stamp| first(&keys, 5, stamp)), [Some(1); 4]);
        add(&mut keys, HOOK_DELETE, 1, 20, 5, &[1], 1000);
        add(&mut keys, HOOK_CREATE, 1, 30, 5, &[2], 1000);
        let found = [10, 11, 20, 21, 30, 31].map(|stamp| first(&keys, 5, stamp));
        assert_eq!(found, [Some(1), Some(1), Some(1), Some(2), Some(2), Some(2)]);
        assert_eq!(first(&keys, 4, 31), None, "of another key");
    }

    #[test]
    fn a_reference_to_a_definition_that_was_left_out_means_no_other_one() {
        let mut keys = Keys::default();
        add(&mut keys, HOOK_DELETE, 1, 10, 5, &[1], 1000);
        for stamp in [21, 20, 22] {
            add(&mut keys, HOOK_DELETE, 1, stamp, 5, &[2], 0);
        }
        add(&mut keys, HOOK_DELETE, 1, 30, 5, &[3], 1000);
        let found = [10, 11, 20, 22, 23, 30].map(|stamp| first(&keys, 5, stamp));
        assert_eq!(found, [Some(1), None, None, None, Some(3), Some(3)]);
        assert_eq!(keys.dropped(), 3);
    }

    #[test]
    fn a_definition_without_addresses_is_ignored() {
        let mut keys = Keys::default();
        add(&mut keys, HOOK_DELETE, 1, 10, 5, &[], 1000);
        add(&mut keys, HOOK_DELETE, 1, 20, 5, &[1], 1000);
        assert_eq!(first(&keys, 5, 0), Some(1));
    }
}
