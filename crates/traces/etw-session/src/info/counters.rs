//! Classes 8, 9, 22, 25 and 27: performance counters.

use etw_types::session::{ClassicEventId, PmcCounterOwner, PmcOwnershipStatus, PmcSessionInfo, TraceInfoClass};

use super::wire::{chain, count, decode_some, encode_all, encode_chain, malformed};
use super::{Information, OfMachine, Privilege, Queryable, Settable, list_class, queryable};
use crate::{Limit, Malformed};

list_class! {
    /// Class 8: system events that get counter values. Can be set only once per session.
    PmcEvents(ClassicEventId) = PmcEventListInfo, OfSession
}

impl PmcEvents {
    /// Requests counter values for these events.
    ///
    /// # Errors
    ///
    /// If the list is empty: the shortest data is one event.
    pub fn new(events: Vec<ClassicEventId>) -> Result<Self, Limit> {
        Limit::at_least("events with counter values", events.len(), 1)?;
        Ok(Self(events))
    }
}

impl Settable for PmcEvents {
    const PRIVILEGE: Privilege = Privilege::Helps;
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
        Limit::at_least("counters", sources.len(), 1)?;
        Limit::at_most("counters", sources.len(), usize::try_from(most).unwrap_or(usize::MAX))?;
        Ok(Self(sources))
    }
}

impl Settable for PmcCounters {
    const PRIVILEGE: Privilege = Privilege::Helps;
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
}
queryable!(PmcSessions, 0);
