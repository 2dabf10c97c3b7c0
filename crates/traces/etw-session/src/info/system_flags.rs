//! Class 4: the system providers of a session.

use etw_types::session::{GroupMask, TraceInfoClass};

use super::groups::GROUPS;
use super::wire::exact;
use super::{Information, OfSession, Privilege, Queryable, Settable};
use crate::Malformed;

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
        let SystemFlags(mask) = Self::from_groups(&[group]);
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
    type Scope = OfSession;

    fn encode(&self) -> Vec<u8> {
        self.0.to_bytes().to_vec()
    }

    fn decode(data: &[u8]) -> Result<Self, Malformed> {
        exact(Self::CLASS, data, GroupMask::SIZE, GroupMask::parse).map(Self)
    }
}

impl Settable for SystemFlags {
    const PRIVILEGE: Privilege = Privilege::Helps;
}

impl Queryable for SystemFlags {
    type Input = ();

    fn buffer((): &()) -> Vec<u8> {
        vec![0; GroupMask::SIZE]
    }
}

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
