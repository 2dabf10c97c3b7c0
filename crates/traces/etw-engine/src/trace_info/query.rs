//! `TraceQueryInformation`: typed results, and their encoding.

use etw_types::session::{
    ClassicEventId, GroupMask, PeriodicCaptureStateInfo, PmcCounterOwner, PmcOwnershipStatus, PmcSessionInfo,
    ProfileInterval, ProfileSourceInfo, TraceInfoClass, TraceVersionInfo,
};
use etw_types::{Guid, Win32Error};

use super::bytes::{chain, count, guid_bytes};
use super::class::{Function, QueryError};
use crate::sync::{lock, read};
use crate::{Engine, ProfileSource, SessionInformation};

/// Version of trace processing. Our choice: no value is documented.
const PROCESSING_VERSION: u32 = 1;
/// Owner types of a counter, and the tag ("Etw ") with which the engine owns one.
const OWNER_UNTAGGED: u32 = 1;
const OWNER_WITH_SOURCE: u32 = 3;
const TAG: u32 = 0x2077_7445;
/// Interval of the timer if none was set: one millisecond.
const DEFAULT_INTERVAL: u32 = 10_000;

/// A result of `TraceQueryInformation`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Information {
    /// Class 3.
    StackTracing(Vec<ClassicEventId>),
    /// Class 4.
    SystemFlags(GroupMask),
    /// Class 5.
    ProfileInterval(ProfileInterval),
    /// Class 7.
    ProfileSourceList(Vec<ProfileSource>),
    /// Class 11.
    Version(TraceVersionInfo),
    /// Class 14.
    DisallowList(Vec<Guid>),
    /// Class 17: the shortest period in seconds and the maximum number of providers.
    PeriodicLimits(PeriodicCaptureStateInfo),
    /// Class 19, 22 or 23.
    Number(u32),
    /// Class 25: the counters of a processor.
    PmcOwners(u32, Vec<PmcCounterOwner>),
    /// Class 27.
    PmcSessions(Vec<PmcSession>),
}

/// A session that uses performance counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PmcSession {
    /// The logger id of the session.
    pub logger_id: u16,
    /// The profile sources that it counts.
    pub sources: Vec<u32>,
    /// The events that get the counts.
    pub hook_ids: Vec<u16>,
}

impl Information {
    /// Encodes the result.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::StackTracing(events) => events.iter().flat_map(ClassicEventId::to_bytes).collect(),
            Self::SystemFlags(mask) => mask.to_bytes().to_vec(),
            Self::ProfileInterval(interval) => interval.to_bytes().to_vec(),
            Self::ProfileSourceList(sources) => chain(sources.iter().map(source_bytes).collect()),
            Self::Version(version) => version.to_bytes().to_vec(),
            Self::DisallowList(guids) => guid_bytes(guids),
            Self::PeriodicLimits(limits) => limits.to_bytes().to_vec(),
            Self::Number(number) => number.to_le_bytes().to_vec(),
            Self::PmcOwners(processor_number, owners) => {
                let number_of_counters = count(owners.len());
                let header = PmcOwnershipStatus { processor_number: *processor_number, number_of_counters };
                header.to_bytes().into_iter().chain(owners.iter().flat_map(PmcCounterOwner::to_bytes)).collect()
            }
            Self::PmcSessions(sessions) => chain(sessions.iter().map(session_bytes).collect()),
        }
    }
}

fn source_bytes(source: &ProfileSource) -> Vec<u8> {
    let header = ProfileSourceInfo {
        source: source.source,
        min_interval: source.min_interval,
        max_interval: source.max_interval,
        ..ProfileSourceInfo::default()
    };
    let text = source.description.encode_utf16().chain([0]).flat_map(u16::to_le_bytes);
    header.to_bytes().into_iter().chain(text).collect()
}

fn session_bytes(session: &PmcSession) -> Vec<u8> {
    let header = PmcSessionInfo {
        logger_id: session.logger_id,
        profile_source_count: count(session.sources.len()),
        hook_id_count: count(session.hook_ids.len()),
        ..PmcSessionInfo::default()
    };
    let sources = session.sources.iter().flat_map(|source| source.to_le_bytes());
    let hooks = session.hook_ids.iter().flat_map(|hook| hook.to_le_bytes());
    header.to_bytes().into_iter().chain(sources).chain(hooks).collect()
}

impl Engine {
    /// `TraceQueryInformation` with a buffer, which two classes also use as input. Returns `ReturnLength`.
    ///
    /// # Errors
    ///
    /// The same as [`Engine::query_trace_information`]. If the buffer is too short, `BadLength` for a result of fixed
    /// length, and [`Answers::short_buffer`](crate::Answers::short_buffer) for one of variable length, both with the
    /// required length.
    pub fn query_trace_information_bytes(
        &self,
        handle: u64,
        class: TraceInfoClass,
        buffer: &mut [u8],
    ) -> Result<usize, QueryError> {
        self.check_class(class, Function::Query, handle)?;
        // The source of class 5 and the processor of class 25 are at the start of the buffer.
        let asks = matches!(class, TraceInfoClass::SampledProfileIntervalInfo | TraceInfoClass::PmcCounterOwners);
        if asks && buffer.len() < 8 {
            return Err(QueryError { code: Win32Error::BadLength, needed: 8 });
        }
        let input = buffer.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let result = self.query_trace_information(handle, class, input)?;
        let bytes = result.to_bytes();
        let is_variable = matches!(
            result,
            Information::StackTracing(_)
                | Information::ProfileSourceList(_)
                | Information::DisallowList(_)
                | Information::PmcOwners(..)
                | Information::PmcSessions(_)
        );
        let needed = bytes.len();
        let code = if is_variable { self.options().answers.short_buffer } else { Win32Error::BadLength };
        buffer.get_mut(..needed).ok_or(QueryError { code, needed })?.copy_from_slice(&bytes);
        Ok(needed)
    }

    /// `TraceQueryInformation`. `input` is the source for class 5 and the processor for class 25; other classes ignore
    /// it.
    ///
    /// # Errors
    ///
    /// `InvalidParameter` for an unknown class, source or processor, or a handle of the wrong kind; `NotSupported` for
    /// a class that cannot be queried; `WmiInstanceNotFound`; `AccessDenied`; and those of [`Answers`](crate::Answers).
    pub fn query_trace_information(
        &self,
        handle: u64,
        class: TraceInfoClass,
        input: u32,
    ) -> Result<Information, Win32Error> {
        self.check_class(class, Function::Query, handle)?;
        let options = self.options();
        Ok(match class {
            TraceInfoClass::StackTracingInfo => {
                let session = self.session_for(class, handle)?;
                options.answers.stack_tracing_query.ok()?;
                Information::StackTracing(session.information().stack_tracing)
            }
            TraceInfoClass::SystemTraceEnableFlagsInfo => {
                Information::SystemFlags(self.session_for(class, handle)?.information().system_flags)
            }
            TraceInfoClass::SampledProfileIntervalInfo => {
                if !options.profile_sources.iter().any(|source| source.source == input) {
                    return Err(Win32Error::InvalidParameter);
                }
                let interval = lock(&self.inner().machine).intervals.get(&input).copied();
                let interval = interval.unwrap_or(DEFAULT_INTERVAL);
                Information::ProfileInterval(ProfileInterval { source: input, interval })
            }
            TraceInfoClass::ProfileSourceListInfo => Information::ProfileSourceList(options.profile_sources.clone()),
            TraceInfoClass::VersionInfo => {
                Information::Version(TraceVersionInfo { processing_version: PROCESSING_VERSION, reserved: 0 })
            }
            TraceInfoClass::DisallowListQuery => {
                let session = self.session_for(class, handle)?;
                Information::DisallowList(read(&self.inner().state).disallowed(session.handle()))
            }
            TraceInfoClass::PeriodicCaptureStateInfo => Information::PeriodicLimits(PeriodicCaptureStateInfo {
                seconds: options.periodic_seconds,
                provider_count: options.periodic_providers,
                reserved: 0,
            }),
            TraceInfoClass::MaxLoggersQuery => Information::Number(count(options.max_sessions)),
            TraceInfoClass::MaxPmcCounterQuery => Information::Number(options.pmc_counters),
            TraceInfoClass::StreamCount => Information::Number(count(self.session_for(class, handle)?.core.streams())),
            TraceInfoClass::PmcCounterOwners => self.pmc_owners(input)?,
            TraceInfoClass::PmcSessionInformation => Information::PmcSessions(self.pmc_sessions()),
            _ => return Err(Win32Error::NotSupported),
        })
    }

    fn pmc_owners(&self, processor: u32) -> Result<Information, Win32Error> {
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
        Ok(Information::PmcOwners(processor, used.chain(std::iter::repeat(rest)).take(counters).collect()))
    }

    fn pmc_sessions(&self) -> Vec<PmcSession> {
        let uses = |information: &SessionInformation| {
            !information.pmc_events.is_empty() || !information.pmc_counters.is_empty()
        };
        let sessions = self.sessions();
        let sessions = sessions.iter().map(|session| (session.core.logger_id(), session.information()));
        sessions
            .filter(|(_, information)| uses(information))
            .map(|(logger_id, information)| PmcSession {
                logger_id,
                sources: information.pmc_counters,
                // Our choice: the group half of a hook id cannot be derived from the event's GUID here.
                hook_ids: information.pmc_events.iter().map(|event| u16::from(event.event_type)).collect(),
            })
            .collect()
    }
}
