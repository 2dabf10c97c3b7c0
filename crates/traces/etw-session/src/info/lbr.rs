//! Classes 20 and 21: last branch records.

use etw_types::session::{LBR_MAXIMUM_EVENTS, TraceInfoClass};

use super::wire::{Element, exact};
use super::{Information, OfSession, Privilege, Settable, list_class};
use crate::{Limit, Malformed};

/// The bits of [`LbrConfiguration`] and their names: `TRACE_LBR_CONFIGURATION_*`.
pub const LBR_BITS: &[(&str, u32)] = &[
    ("exclude-kernel", 0x001),
    ("exclude-user", 0x002),
    ("exclude-jcc", 0x004),
    ("exclude-near-relative-call", 0x008),
    ("exclude-near-indirect-call", 0x010),
    ("exclude-near-return", 0x020),
    ("exclude-near-indirect-jump", 0x040),
    ("exclude-near-relative-jump", 0x080),
    ("exclude-far-branch", 0x100),
    ("call-stack", 0x200),
    ("sampled", 0x400),
];

/// Class 20: the branches that are recorded. Setting it turns recording on; it must be set before class 21.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LbrConfiguration(u32);

impl LbrConfiguration {
    /// Creates a configuration from these bits.
    ///
    /// # Errors
    ///
    /// For bits that the header does not define.
    pub fn new(bits: u32) -> Result<Self, Limit> {
        let known = LBR_BITS.iter().fold(0, |known, (_, bit)| known | bit);
        Limit::rule(bits & !known == 0, "the configuration of last branches has bits from 0x1 to 0x400")?;
        Ok(Self(bits))
    }

    /// The bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }
}

impl Information for LbrConfiguration {
    const CLASS: TraceInfoClass = TraceInfoClass::LbrConfigurationInfo;
    type Scope = OfSession;

    fn encode(&self) -> Vec<u8> {
        self.0.to_le_bytes().to_vec()
    }

    fn decode(data: &[u8]) -> Result<Self, Malformed> {
        exact(Self::CLASS, data, 4, u32::read).map(Self)
    }
}

impl Settable for LbrConfiguration {
    const PRIVILEGE: Privilege = Privilege::Helps;
}

list_class! {
    /// Class 21: hook ids of the system events that get last branch records.
    LbrEvents(u32) = LbrEventListInfo, OfSession
}

impl LbrEvents {
    /// Requests last branch records for these events.
    ///
    /// # Errors
    ///
    /// For more than four events.
    pub fn new(hook_ids: Vec<u32>) -> Result<Self, Limit> {
        Limit::at_most("events with last branches", hook_ids.len(), LBR_MAXIMUM_EVENTS)?;
        Ok(Self(hook_ids))
    }
}

impl Settable for LbrEvents {
    const PRIVILEGE: Privilege = Privilege::Helps;
}
