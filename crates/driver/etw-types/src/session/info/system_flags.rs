//! Class 4: the system providers of a session.

use std::vec::Vec;
use std::{format, vec};

use super::codec::{decode_all, exact, malformed};
use super::groups::GROUPS;
use super::{Information, Length, Malformed, OfSession, Privilege, Settable, View, Words, queryable};
use crate::session::{GroupMask, TraceInfoClass};

/// Class 4: all system providers that a session enables. A mask replaces the previous one.
///
/// The mask has eight words; the first contains the public `EVENT_TRACE_FLAG_*`. Several of those are aliases of groups
/// in the other words, and a query may return them there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SystemFlags(pub GroupMask);

impl SystemFlags {
    /// Creates the mask of these groups. The top three bits of a group select the word.
    #[must_use]
    pub fn from_groups(groups: &[u32]) -> Self {
        let mut mask = GroupMask::default();
        for group in groups {
            mask.add(*group);
        }
        Self(mask)
    }

    /// Whether a group is in the mask.
    #[must_use]
    pub fn has(&self, group: u32) -> bool {
        let Self(mask) = Self::from_groups(&[group]);
        mask.masks.iter().zip(self.0.masks).all(|(wanted, there)| wanted & there == *wanted)
    }

    /// Returns the names of the groups in the mask that have a known name.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        GROUPS.iter().filter(|(_, group)| self.has(*group)).map(|(name, _)| *name).collect()
    }
}

impl Information for SystemFlags {
    const CLASS: TraceInfoClass = TraceInfoClass::SystemTraceEnableFlagsInfo;
    const LENGTH: Length = Length::exactly(GroupMask::SIZE);
    type Scope = OfSession;

    fn encode(&self) -> Vec<u8> {
        self.0.to_bytes().to_vec()
    }

    fn decode(data: &[u8]) -> Result<Self, Malformed> {
        exact(Self::CLASS, data).map(Self)
    }

    fn view(&self) -> View {
        let masks = self.0.masks.iter().map(|mask| format!("{mask:#x}"));
        View::Record(vec![("groups", self.names().into_iter().collect()), ("masks", masks.collect())])
    }

    fn examples() -> Vec<Self> {
        vec![Self::from_groups(&[1, 0x8000_0040])]
    }
}

impl Settable for SystemFlags {
    const PRIVILEGE: Privilege = Privilege::Helps;
    const SET_LENGTH: Length = Length::list(size_of::<u32>(), size_of::<u32>());
    const WORDS: Words =
        Words::Names("names or numbers of groups", GROUPS, |groups| Ok(Self::from_groups(&groups).encode()));

    /// Other tools pass fewer than eight words; the others are zero.
    fn decode_set(data: &[u8]) -> Result<Self, Malformed> {
        let words: Vec<u32> = decode_all(Self::CLASS, data)?;
        let mut mask = GroupMask::default();
        let given = mask.masks.get_mut(..words.len()).ok_or(malformed(Self::CLASS, "it has more than eight words"))?;
        given.copy_from_slice(&words);
        Ok(Self(mask))
    }
}
queryable!(SystemFlags, GroupMask::SIZE);

#[cfg(test)]
mod tests {
    use super::SystemFlags;

    #[test]
    fn a_groups_top_bits_choose_its_word() {
        // Profile is in the second word, object handles are in the fifth.
        let flags = SystemFlags::from_groups(&[0x2000_0002, 0x8000_0040, 0x1]);
        assert_eq!(flags.0.masks, [1, 2, 0, 0, 0x40, 0, 0, 0]);
        assert!(flags.has(0x8000_0040));
        assert!(!flags.has(0x40));
        assert_eq!(flags.names(), ["process", "perf-profile", "ob-handle"]);
    }
}
