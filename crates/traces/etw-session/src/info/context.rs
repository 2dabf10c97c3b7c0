//! Class 28: registers in system events.

use etw_types::session::{ClassicEventId, ContextRegisterInfo, TraceInfoClass};

use super::wire::{decode_all, encode_all, malformed};
use super::{Information, OfSession, Privilege, Settable};
use crate::{Limit, Malformed};

/// Class 28: system events that get the registers of their thread. A list replaces the previous one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextRegisters {
    types: u32,
    events: Vec<ClassicEventId>,
}

impl ContextRegisters {
    /// `EtwContextRegisterTypeControl`.
    pub const CONTROL: u32 = 1;
    /// `EtwContextRegisterTypeInteger`.
    pub const INTEGER: u32 = 2;

    /// Requests control and integer registers for these events.
    #[must_use]
    pub const fn new(events: Vec<ClassicEventId>) -> Self {
        Self { types: Self::CONTROL | Self::INTEGER, events }
    }

    /// Requests these registers for these events.
    ///
    /// # Errors
    ///
    /// For anything except control and integer registers together: the documentation says that currently both are
    /// required.
    pub fn with_types(types: u32, events: Vec<ClassicEventId>) -> Result<Self, Limit> {
        let both = Self::CONTROL | Self::INTEGER;
        Limit::rule(types == both, "control and integer registers must be requested together")?;
        Ok(Self { types, events })
    }

    /// The types of registers.
    #[must_use]
    pub const fn types(&self) -> u32 {
        self.types
    }

    /// The events that get the registers.
    #[must_use]
    pub fn events(&self) -> &[ClassicEventId] {
        &self.events
    }
}

impl Information for ContextRegisters {
    const CLASS: TraceInfoClass = TraceInfoClass::ContextRegisterInfo;
    type Scope = OfSession;

    fn encode(&self) -> Vec<u8> {
        let info = ContextRegisterInfo { register_types: self.types, reserved: 0 };
        info.to_bytes().into_iter().chain(encode_all(&self.events)).collect()
    }

    fn decode(data: &[u8]) -> Result<Self, Malformed> {
        let info = ContextRegisterInfo::parse(data);
        let info = info.ok_or(malformed(Self::CLASS, "it is shorter than its header"))?;
        let events = decode_all(Self::CLASS, data.get(ContextRegisterInfo::SIZE..).unwrap_or_default())?;
        Ok(Self { types: info.register_types, events })
    }
}

impl Settable for ContextRegisters {
    const PRIVILEGE: Privilege = Privilege::Helps;
}
