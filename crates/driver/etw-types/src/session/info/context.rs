//! Class 28: registers in system events.

use std::vec;
use std::vec::Vec;

use super::codec::{decode_all, encode_all, malformed};
use super::text::ListElement;
use super::{Information, Length, Malformed, OfSession, Privilege, Settable, View, Words};
use crate::session::{ClassicEventId, ContextRegisterInfo, Limit, TraceInfoClass};

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
        Self { types, events }.checked()
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
    const LENGTH: Length = Length::list(ContextRegisterInfo::SIZE, ClassicEventId::SIZE);
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

    fn view(&self) -> View {
        let events = self.events.iter().map(|event| event.guid);
        View::Record(vec![("types", self.types.into()), ("events", events.collect())])
    }

    fn examples() -> Vec<Self> {
        vec![Self::new(vec![ClassicEventId::EXAMPLE])]
    }
}

impl Settable for ContextRegisters {
    const PRIVILEGE: Privilege = Privilege::Helps;
    const WORDS: Words = Words::Events(|events| Ok(Self::new(events).encode()));

    fn check(&self) -> Result<(), Limit> {
        let both = Self::CONTROL | Self::INTEGER;
        Limit::rule(self.types == both, "control and integer registers must be requested together")
    }
}
