//! Classes 16, 17 and 18: periodic capture state, and the paths of providers' binaries.

use std::vec;
use std::vec::Vec;

use super::codec::{Element, decode_some, encode_all, exact, malformed};
use super::text::ListElement;
use super::{Information, Length, Malformed, OfMachine, OfSession, Settable, View, Words, queryable};
use crate::Guid;
use crate::session::{Limit, PeriodicCaptureStateInfo, TraceInfoClass};

/// Class 16: the providers whose state is captured periodically. They must already be enabled on the session. A list
/// replaces the previous one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeriodicCapture {
    seconds: u32,
    providers: Vec<Guid>,
}

impl PeriodicCapture {
    /// Requests the state of these providers periodically. The limits depend on the machine and may change, so they
    /// must be queried.
    ///
    /// # Errors
    ///
    /// If there is no provider, there are too many providers, or the period is too short.
    pub fn new(seconds: u32, providers: Vec<Guid>, limits: PeriodicCaptureLimits) -> Result<Self, Limit> {
        Limit::at_least("providers for periodic capture of state", providers.len(), 1)?;
        Limit::at_most("providers for periodic capture of state", providers.len(), limits.most_providers.into())?;
        let given = usize::try_from(seconds).unwrap_or(usize::MAX);
        let least = usize::try_from(limits.least_seconds).unwrap_or(usize::MAX);
        Limit::at_least("seconds between two captures of state", given, least)?;
        Ok(Self { seconds, providers })
    }

    /// Turns the periodic capture state off.
    #[must_use]
    pub const fn off() -> Self {
        Self { seconds: 0, providers: Vec::new() }
    }

    /// The period in seconds.
    #[must_use]
    pub const fn seconds(&self) -> u32 {
        self.seconds
    }

    /// The providers.
    #[must_use]
    pub fn providers(&self) -> &[Guid] {
        &self.providers
    }
}

impl Information for PeriodicCapture {
    const CLASS: TraceInfoClass = TraceInfoClass::PeriodicCaptureStateListInfo;
    const LENGTH: Length = Length::list(PeriodicCaptureStateInfo::SIZE, Guid::SIZE).or_empty();
    type Scope = OfSession;

    /// Encodes a list without providers as no data, which clears the list.
    fn encode(&self) -> Vec<u8> {
        if self.providers.is_empty() {
            return Vec::new();
        }
        let provider_count = u16::try_from(self.providers.len()).unwrap_or(u16::MAX);
        let info = PeriodicCaptureStateInfo { seconds: self.seconds, provider_count, reserved: 0 };
        info.to_bytes().into_iter().chain(encode_all(&self.providers)).collect()
    }

    fn decode(data: &[u8]) -> Result<Self, Malformed> {
        if data.is_empty() {
            return Ok(Self::off());
        }
        let bad = |reason| malformed(Self::CLASS, reason);
        let info = PeriodicCaptureStateInfo::parse(data).ok_or(bad("it is shorter than its header"))?;
        let rest = data.get(PeriodicCaptureStateInfo::SIZE..).unwrap_or_default();
        let (providers, rest) = decode_some(Self::CLASS, rest, info.provider_count.into())?;
        if !rest.is_empty() {
            return Err(bad("it has more providers than its count says"));
        }
        Ok(if providers.is_empty() { Self::off() } else { Self { seconds: info.seconds, providers } })
    }

    fn view(&self) -> View {
        View::Record(vec![("seconds", self.seconds.into()), ("providers", self.providers.iter().copied().collect())])
    }

    fn examples() -> Vec<Self> {
        vec![Self { seconds: 60, providers: vec![Guid::EXAMPLE] }]
    }
}

impl Settable for PeriodicCapture {
    const WORDS: Words = Words::OfProgram("providers");
}

/// Class 17: the limits of class 16.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeriodicCaptureLimits {
    /// The shortest period in seconds.
    pub least_seconds: u32,
    /// The maximum number of providers.
    pub most_providers: u16,
}

impl Information for PeriodicCaptureLimits {
    const CLASS: TraceInfoClass = TraceInfoClass::PeriodicCaptureStateInfo;
    const LENGTH: Length = Length::exactly(PeriodicCaptureStateInfo::SIZE);
    type Scope = OfMachine;

    fn encode(&self) -> Vec<u8> {
        let Self { least_seconds: seconds, most_providers: provider_count } = *self;
        PeriodicCaptureStateInfo { seconds, provider_count, reserved: 0 }.to_bytes().to_vec()
    }

    fn decode(data: &[u8]) -> Result<Self, Malformed> {
        let info: PeriodicCaptureStateInfo = exact(Self::CLASS, data)?;
        Ok(Self { least_seconds: info.seconds, most_providers: info.provider_count })
    }

    fn view(&self) -> View {
        let least = ("least_seconds", self.least_seconds.into());
        View::Record(vec![least, ("most_providers", self.most_providers.into())])
    }

    fn examples() -> Vec<Self> {
        vec![Self { least_seconds: 60, most_providers: 9 }]
    }
}
queryable!(PeriodicCaptureLimits, PeriodicCaptureStateInfo::SIZE);

/// Class 18: whether the session records the paths of its providers' binaries. This includes providers that are already
/// registered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BinaryTracking(pub bool);

impl Information for BinaryTracking {
    const CLASS: TraceInfoClass = TraceInfoClass::ProviderBinaryTracking;
    const LENGTH: Length = Length::exactly(1);
    type Scope = OfSession;

    /// Encodes the value as one byte, not four.
    fn encode(&self) -> Vec<u8> {
        vec![self.0.into()]
    }

    fn decode(data: &[u8]) -> Result<Self, Malformed> {
        exact(Self::CLASS, data).map(|byte: u8| Self(byte != 0))
    }

    fn view(&self) -> View {
        View::Record(vec![("tracked", self.0.into())])
    }

    fn examples() -> Vec<Self> {
        vec![Self(true)]
    }
}

impl Settable for BinaryTracking {
    const WORDS: Words = Words::Switch(|is_on| Self(is_on).encode());
}
