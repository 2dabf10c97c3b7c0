//! Classes 8, 9, 22, 25 and 27: performance counters.

use std::string::String;
use std::vec;
use std::vec::Vec;

use super::codec::{chain, count, decode_some, encode_all, encode_chain, malformed};
use super::{
    Information, Length, Malformed, OfMachine, Privilege, Queryable, Settable, View, Words, list_class, queryable,
};
use crate::session::{ClassicEventId, Limit, PmcCounterOwner, PmcOwnershipStatus, PmcSessionInfo, TraceInfoClass};

list_class! {
    /// Class 8: system events that get counter values. Can be set only once per session.
    PmcEvents(ClassicEventId) = PmcEventListInfo, OfSession,
    set Events, Helps, 1..=usize::MAX, "events with counter values"
}

list_class! {
    /// Class 9: the counters whose values those events get, as sources of [`ProfileSources`](super::ProfileSources).
    /// Can be set only once per session, with at most [`MaxPmcCounters`] counters.
    PmcCounters(u32) = PmcCounterListInfo, OfSession
}

impl PmcCounters {
    /// Requests these counters.
    ///
    /// # Errors
    ///
    /// If the list is empty, or has more counters than the machine supports.
    pub fn new(sources: Vec<u32>, MaxPmcCounters(most): MaxPmcCounters) -> Result<Self, Limit> {
        Limit::at_most("counters", sources.len(), usize::try_from(most).unwrap_or(usize::MAX))?;
        Self(sources).checked()
    }
}

impl Settable for PmcCounters {
    const PRIVILEGE: Privilege = Privilege::Helps;
    const SET_LENGTH: Length = Length::list(size_of::<u32>(), size_of::<u32>());
    const WORDS: Words = Words::OfProgram("numbers");

    fn check(&self) -> Result<(), Limit> {
        Limit::at_least("counters", self.0.len(), 1)
    }
}

super::numbers::number_class! {
    /// Class 22: the maximum number of counters that a session can use.
    MaxPmcCounters = MaxPmcCounterQuery, OfMachine
}

/// Class 25: the owners of a processor's counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PmcOwners {
    /// The processor.
    pub processor: u32,
    /// Its counters.
    pub counters: Vec<PmcCounterOwner>,
}

impl Information for PmcOwners {
    const CLASS: TraceInfoClass = TraceInfoClass::PmcCounterOwners;
    const LENGTH: Length = Length::list(PmcOwnershipStatus::SIZE, PmcCounterOwner::SIZE);
    type Scope = OfMachine;

    fn encode(&self) -> Vec<u8> {
        let number_of_counters = count(self.counters.len());
        let header = PmcOwnershipStatus { processor_number: self.processor, number_of_counters };
        header.to_bytes().into_iter().chain(encode_all(&self.counters)).collect()
    }

    fn decode(data: &[u8]) -> Result<Self, Malformed> {
        let header = PmcOwnershipStatus::parse(data);
        let header = header.ok_or(malformed(Self::CLASS, "it is shorter than its header"))?;
        let rest = data.get(PmcOwnershipStatus::SIZE..).unwrap_or_default();
        let (counters, _) = decode_some(Self::CLASS, rest, header.number_of_counters)?;
        Ok(Self { processor: header.processor_number, counters })
    }

    fn view(&self) -> View {
        let rows = (0_u32..).zip(&self.counters).map(|(index, counter)| {
            let owner = match counter.owner_type {
                0 => "free",
                1 => "untagged",
                2 => "tagged",
                3 => "tagged with source",
                _ => "unknown",
            };
            let tag = counter.owner_tag.to_le_bytes().map(char::from).into_iter().filter(char::is_ascii_graphic);
            vec![index.into(), owner.into(), counter.profile_source.into(), tag.collect::<String>().into()]
        });
        View::List { columns: &["counter", "owner", "source", "tag"], rows: rows.collect() }
    }

    fn examples() -> Vec<Self> {
        let tagged = PmcCounterOwner { owner_type: 2, ..PmcCounterOwner::default() };
        vec![Self { processor: 0, counters: Vec::new() }, Self { processor: 3, counters: vec![tagged; 2] }]
    }
}

impl Queryable for PmcOwners {
    /// The processor.
    type Input = u32;

    fn buffer(processor: &u32) -> Vec<u8> {
        // Room for eight counters. If more are needed, the result says so.
        let mut buffer = PmcOwnershipStatus { processor_number: *processor, number_of_counters: 0 }.to_bytes().to_vec();
        buffer.resize(PmcOwnershipStatus::SIZE + 8 * PmcCounterOwner::SIZE, 0);
        buffer
    }
}

/// A session that uses performance counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PmcSession {
    /// The session's logger id.
    pub logger_id: u16,
    /// The sources that it counts.
    pub sources: Vec<u32>,
    /// The events that get the values.
    pub hook_ids: Vec<u16>,
}

/// Class 27: the sessions that use performance counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PmcSessions(pub Vec<PmcSession>);

impl Information for PmcSessions {
    const CLASS: TraceInfoClass = TraceInfoClass::PmcSessionInformation;
    const LENGTH: Length = Length::list(0, 1);
    type Scope = OfMachine;

    fn encode(&self) -> Vec<u8> {
        encode_chain(self.0.iter().map(|session| {
            let header = PmcSessionInfo {
                logger_id: session.logger_id,
                profile_source_count: count(session.sources.len()),
                hook_id_count: count(session.hook_ids.len()),
                ..PmcSessionInfo::default()
            };
            let lists = encode_all(&session.sources).into_iter().chain(encode_all(&session.hook_ids));
            header.to_bytes().into_iter().chain(lists).collect()
        }))
    }

    fn decode(data: &[u8]) -> Result<Self, Malformed> {
        let mut sessions = Vec::new();
        for entry in chain(Self::CLASS, data, PmcSessionInfo::SIZE)? {
            let header = PmcSessionInfo::parse(entry).ok_or(malformed(Self::CLASS, "an entry is cut off"))?;
            let rest = entry.get(PmcSessionInfo::SIZE..).unwrap_or_default();
            let (sources, rest) = decode_some(Self::CLASS, rest, header.profile_source_count)?;
            // Hook ids have two bytes here, unlike in class 21.
            let (hook_ids, _) = decode_some(Self::CLASS, rest, header.hook_id_count)?;
            sessions.push(PmcSession { logger_id: header.logger_id, sources, hook_ids });
        }
        Ok(Self(sessions))
    }

    fn view(&self) -> View {
        let rows = self.0.iter().map(|session| {
            let sources = session.sources.iter().copied().collect();
            vec![session.logger_id.into(), sources, session.hook_ids.iter().copied().collect()]
        });
        View::List { columns: &["session", "sources", "hook_ids"], rows: rows.collect() }
    }

    fn examples() -> Vec<Self> {
        let session = |logger_id| PmcSession { logger_id, sources: vec![1, 2], hook_ids: vec![3, 4, 5] };
        vec![Self(vec![session(1), session(2)])]
    }
}
queryable!(PmcSessions, 0);
