//! Classes 20 and 21: last branch records.

use std::vec;
use std::vec::Vec;

use super::codec::{Element, exact};
use super::{Information, Length, Malformed, OfSession, Privilege, Settable, View, Words, list_class};
use crate::session::{LBR_MAXIMUM_EVENTS, Limit, TraceInfoClass};

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
        Self(bits).checked()
    }

    /// The bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }
}

impl Information for LbrConfiguration {
    const CLASS: TraceInfoClass = TraceInfoClass::LbrConfigurationInfo;
    const LENGTH: Length = Length::exactly(u32::SIZE);
    type Scope = OfSession;

    fn encode(&self) -> Vec<u8> {
        self.0.to_le_bytes().to_vec()
    }

    fn decode(data: &[u8]) -> Result<Self, Malformed> {
        exact(Self::CLASS, data).map(Self)
    }

    fn view(&self) -> View {
        View::number(self.0)
    }

    fn examples() -> Vec<Self> {
        vec![Self(0x201)]
    }
}

impl Settable for LbrConfiguration {
    const PRIVILEGE: Privilege = Privilege::Helps;
    const WORDS: Words = Words::Names("names or numbers of bits", LBR_BITS, |bits| {
        Self::new(bits.into_iter().fold(0, |all, bit| all | bit)).map(|value| value.encode())
    });

    fn check(&self) -> Result<(), Limit> {
        let defined = LBR_BITS.iter().fold(0, |all, (_, bit)| all | bit);
        Limit::rule(self.0 & !defined == 0, "the configuration of last branches has bits from 0x1 to 0x400")
    }
}

list_class! {
    /// Class 21: hook ids of the system events that get last branch records.
    LbrEvents(u32) = LbrEventListInfo, OfSession,
    set Numbers, Helps, 0..=LBR_MAXIMUM_EVENTS, "events with last branches"
}
