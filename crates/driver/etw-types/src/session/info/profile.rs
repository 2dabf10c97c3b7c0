//! Classes 5, 6 and 7: what the profiler samples, and how often.

use std::borrow::ToOwned;
use std::string::String;
use std::vec;
use std::vec::Vec;

use super::codec::{chain, encode_chain, exact, malformed};
use super::{
    Information, Length, Malformed, OfMachine, Privilege, Queryable, Settable, View, Words, list_class, queryable,
};
use crate::session::{ProfileInterval, ProfileSourceInfo, TraceInfoClass};

/// Class 5: the sampling interval of a profile source, for the whole machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleInterval {
    /// The source; 0 is the timer.
    pub source: u32,
    /// In 100 ns units for the timer, in counts for other sources.
    pub interval: u32,
}

impl Information for SampleInterval {
    const CLASS: TraceInfoClass = TraceInfoClass::SampledProfileIntervalInfo;
    const LENGTH: Length = Length::exactly(ProfileInterval::SIZE);
    type Scope = OfMachine;

    fn encode(&self) -> Vec<u8> {
        ProfileInterval { source: self.source, interval: self.interval }.to_bytes().to_vec()
    }

    fn decode(data: &[u8]) -> Result<Self, Malformed> {
        exact(Self::CLASS, data).map(|ProfileInterval { source, interval }| Self { source, interval })
    }

    fn view(&self) -> View {
        View::Record(vec![("source", self.source.into()), ("interval", self.interval.into())])
    }

    fn examples() -> Vec<Self> {
        vec![Self { source: 0, interval: 20_000 }]
    }
}

impl Settable for SampleInterval {
    const PRIVILEGE: Privilege = Privilege::Needed;
    const WORDS: Words = Words::Pair("SOURCE=INTERVAL", |source, interval| Self { source, interval }.encode());
}

impl Queryable for SampleInterval {
    /// The source.
    type Input = u32;

    fn buffer(source: &u32) -> Vec<u8> {
        Self { source: *source, interval: 0 }.encode()
    }
}

list_class! {
    /// Class 6: all sources that the profiler samples, for the whole machine. A list replaces the previous one.
    ProfileSourcesInUse(u32) = ProfileSourceConfigInfo, OfMachine,
    set Numbers, Needed, 1..=usize::MAX, "profile sources"
}

/// A profile source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileSource {
    /// Its number; 0 is the timer.
    pub source: u32,
    /// Smallest interval.
    pub min_interval: u32,
    /// Largest interval.
    pub max_interval: u32,
    /// Its name.
    pub description: String,
}

/// Class 7: the profile sources of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileSources(pub Vec<ProfileSource>);

impl Information for ProfileSources {
    const CLASS: TraceInfoClass = TraceInfoClass::ProfileSourceListInfo;
    const LENGTH: Length = Length::list(0, 1);
    type Scope = OfMachine;

    fn encode(&self) -> Vec<u8> {
        encode_chain(self.0.iter().map(|source| {
            let header = ProfileSourceInfo {
                source: source.source,
                min_interval: source.min_interval,
                max_interval: source.max_interval,
                ..ProfileSourceInfo::default()
            };
            let text = source.description.encode_utf16().chain([0]).flat_map(u16::to_le_bytes);
            header.to_bytes().into_iter().chain(text).collect()
        }))
    }

    /// The last entry may be shorter than the C structure. A description ends at its terminator or at the end of its
    /// entry.
    fn decode(data: &[u8]) -> Result<Self, Malformed> {
        let entries = chain(Self::CLASS, data, ProfileSourceInfo::SIZE)?;
        let sources = entries.into_iter().map(|entry| {
            let header = ProfileSourceInfo::parse(entry)?;
            let (units, _) = entry.get(ProfileSourceInfo::SIZE..)?.as_chunks::<2>();
            let units = units.iter().map(|unit| u16::from_le_bytes(*unit)).take_while(|unit| *unit != 0);
            let description = String::from_utf16_lossy(&units.collect::<Vec<_>>());
            let ProfileSourceInfo { source, min_interval, max_interval, .. } = header;
            Some(ProfileSource { source, min_interval, max_interval, description })
        });
        sources.collect::<Option<_>>().map(Self).ok_or(malformed(Self::CLASS, "an entry is cut off"))
    }

    fn view(&self) -> View {
        let rows = self.0.iter().map(|source| {
            let ProfileSource { source, min_interval, max_interval, description } = source;
            vec![(*source).into(), description.as_str().into(), (*min_interval).into(), (*max_interval).into()]
        });
        View::List { columns: &["source", "name", "min_interval", "max_interval"], rows: rows.collect() }
    }

    fn examples() -> Vec<Self> {
        let source = |source, name: &str| ProfileSource {
            source,
            min_interval: 2,
            max_interval: 3,
            description: name.to_owned(),
        };
        vec![Self(vec![source(0, "Timer"), source(1, "TotalIssues"), source(2, "Ü")])]
    }
}
queryable!(ProfileSources, 0);
