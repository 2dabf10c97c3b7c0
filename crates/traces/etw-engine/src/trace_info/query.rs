//! `TraceQueryInformation`.

use std::iter;

use etw_types::Win32Error;
use etw_types::session::info::{
    DisallowedProviders, Facts, Information, MaxPmcCounters, MaxSessions, PeriodicCaptureLimits, PmcCounters,
    PmcEvents, PmcOwners, PmcSession, PmcSessions, ProcessingVersion, ProfileSources, Queryable, SampleInterval,
    StreamCount,
};
use etw_types::session::{PmcCounterOwner, TraceInfoClass};

use super::check::{Function, QueryError};
use crate::sync::{lock, read};
use crate::{Engine, Session};

/// Version of trace processing. Our choice: no value is documented.
const PROCESSING_VERSION: u32 = 1;
/// Owner types of a counter, and the tag ("Etw ") with which the engine owns one.
const OWNER_UNTAGGED: u32 = 1;
const OWNER_WITH_SOURCE: u32 = 3;
const TAG: u32 = 0x2077_7445;
/// Interval of the timer if none was set: one millisecond.
const DEFAULT_INTERVAL: u32 = 10_000;

/// Converts a number of things that fit into memory.
pub(super) fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl Engine {
    /// `TraceQueryInformation` with a buffer, which two classes also use as input. Returns `ReturnLength`.
    ///
    /// # Errors
    ///
    /// `InvalidParameter` for an unknown class, source or processor, or a handle of the wrong kind; `NotSupported` for
    /// a class that cannot be queried; `WmiInstanceNotFound`; `AccessDenied`; and those of [`Answers`](crate::Answers).
    /// If the buffer is too short, `BadLength` for a result of fixed length, and
    /// [`Answers::short_buffer`](crate::Answers::short_buffer) for one of variable length, both with the required
    /// length.
    pub fn query_trace_information_bytes(
        &self,
        handle: u64,
        class: TraceInfoClass,
        buffer: &mut [u8],
    ) -> Result<usize, QueryError> {
        let facts = self.check_class(class, Function::Query, handle)?;
        let query = facts.query.ok_or(Win32Error::NotSupported)?;
        // The source of class 5 and the processor of class 25 are at the start of the buffer.
        if query.takes_number && buffer.len() < 8 {
            return Err(QueryError { code: Win32Error::BadLength, needed: 8 });
        }
        let input = buffer.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let bytes = if facts.is_of_session() {
            self.session_for(facts, handle)?.result(facts)?
        } else {
            self.result(facts, input)?
        };
        let needed = bytes.len();
        let code = if query.length.is_none() { self.options().answers.short_buffer } else { Win32Error::BadLength };
        buffer.get_mut(..needed).ok_or(QueryError { code, needed })?.copy_from_slice(&bytes);
        Ok(needed)
    }

    /// [`query_trace_information_bytes`](Self::query_trace_information_bytes) with a value as its result.
    ///
    /// # Errors
    ///
    /// The same, except that no buffer is too short.
    pub fn query_trace_information<T: Queryable>(&self, handle: u64, input: &T::Input) -> Result<T, Win32Error> {
        let mut buffer = T::buffer(input);
        loop {
            match self.query_trace_information_bytes(handle, T::CLASS, &mut buffer) {
                Ok(length) => {
                    return T::decode(buffer.get(..length).unwrap_or_default()).map_err(|_| Win32Error::FileCorrupt);
                }
                Err(QueryError { needed, .. }) if needed > buffer.len() => buffer.resize(needed, 0),
                Err(QueryError { code, .. }) => return Err(code),
            }
        }
    }

    /// The result of a class of the machine.
    fn result(&self, facts: &Facts, input: u32) -> Result<Vec<u8>, Win32Error> {
        let options = self.options();
        Ok(match facts.class {
            TraceInfoClass::SampledProfileIntervalInfo => {
                if !options.profile_sources.iter().any(|source| source.source == input) {
                    return Err(Win32Error::InvalidParameter);
                }
                let interval = lock(&self.inner().machine).intervals.get(&input).copied();
                SampleInterval { source: input, interval: interval.unwrap_or(DEFAULT_INTERVAL) }.encode()
            }
            TraceInfoClass::ProfileSourceListInfo => ProfileSources(options.profile_sources.clone()).encode(),
            TraceInfoClass::VersionInfo => ProcessingVersion(PROCESSING_VERSION).encode(),
            TraceInfoClass::PeriodicCaptureStateInfo => PeriodicCaptureLimits {
                least_seconds: options.periodic_seconds,
                most_providers: options.periodic_providers,
            }
            .encode(),
            TraceInfoClass::MaxLoggersQuery => MaxSessions(count(options.max_sessions)).encode(),
            TraceInfoClass::MaxPmcCounterQuery => MaxPmcCounters(options.pmc_counters).encode(),
            TraceInfoClass::PmcCounterOwners => self.pmc_owners(input)?.encode(),
            TraceInfoClass::PmcSessionInformation => PmcSessions(self.pmc_sessions()).encode(),
            class => kept(facts, lock(&self.inner().machine).values.bytes(class)),
        })
    }

    fn pmc_owners(&self, processor: u32) -> Result<PmcOwners, Win32Error> {
        let options = self.options();
        if processor >= u32::from(options.processors) {
            return Err(Win32Error::InvalidParameter);
        }
        let used = self
            .pmc_sessions()
            .into_iter()
            .flat_map(|session| session.sources)
            .map(|profile_source| PmcCounterOwner { owner_type: OWNER_WITH_SOURCE, profile_source, owner_tag: TAG });
        let taken = PmcCounterOwner { owner_type: OWNER_UNTAGGED, ..PmcCounterOwner::default() };
        let rest = if options.pmc_taken { taken } else { PmcCounterOwner::default() };
        let counters = usize::try_from(options.pmc_counters).unwrap_or_default();
        Ok(PmcOwners { processor, counters: used.chain(iter::repeat(rest)).take(counters).collect() })
    }

    fn pmc_sessions(&self) -> Vec<PmcSession> {
        let sessions = self.sessions().into_iter().map(|session| {
            let information = session.information();
            let PmcEvents(events) = information.get().unwrap_or_default();
            let PmcCounters(sources) = information.get().unwrap_or_default();
            // Our choice: the group half of a hook id cannot be derived from the event's GUID here.
            let hook_ids = events.iter().map(|event| u16::from(event.event_type)).collect();
            PmcSession { logger_id: session.core.logger_id(), sources, hook_ids }
        });
        sessions.filter(|session| !session.sources.is_empty() || !session.hook_ids.is_empty()).collect()
    }
}

impl Session {
    /// The result of a class of the session.
    fn result(&self, facts: &Facts) -> Result<Vec<u8>, Win32Error> {
        match facts.class {
            TraceInfoClass::StackTracingInfo => self.engine.options().answers.stack_tracing_query.ok()?,
            TraceInfoClass::DisallowListQuery => {
                let providers = read(&self.engine.inner().state).disallowed(self.handle());
                return Ok(DisallowedProviders(providers).encode());
            }
            TraceInfoClass::StreamCount => return Ok(StreamCount(count(self.core.streams())).encode()),
            _ => {}
        }
        Ok(kept(facts, self.information().bytes(facts.class)))
    }
}

/// Returns what was set. What was not set is zero, or an empty list.
fn kept(facts: &Facts, bytes: Option<&[u8]>) -> Vec<u8> {
    let length = facts.query.and_then(|query| query.length).unwrap_or_default();
    bytes.map_or_else(|| vec![0; length], <[u8]>::to_vec)
}
