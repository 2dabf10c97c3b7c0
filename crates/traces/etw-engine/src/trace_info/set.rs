//! The values that can be set, typed, and parsed from bytes.

use etw_types::session::{
    ClassicEventId, ContextRegisterInfo, GroupMask, PeriodicCaptureStateInfo, ProfileInterval, StackCachingInfo,
    TraceInfoClass,
};
use etw_types::{Guid, Win32Error};

use super::bytes::{array_of, guids, numbers};

/// A value for `TraceSetInformation`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetInformation {
    /// Class 3: system events that get a stack; an empty list turns stacks off.
    StackTracing(Vec<ClassicEventId>),
    /// Class 4: the enabled system providers.
    SystemFlags(GroupMask),
    /// Class 5: the sampling interval of the profiler.
    ProfileInterval(ProfileInterval),
    /// Class 6: the sources that the profiler samples.
    ProfileSources(Vec<u32>),
    /// Class 8: system events that get counter values. Can be set only once.
    PmcEvents(Vec<ClassicEventId>),
    /// Class 9: the counters whose values these events get. Can be set only once.
    PmcCounters(Vec<u32>),
    /// Class 10: providers that a group does not enable.
    DisallowList(Vec<Guid>),
    /// Class 16: the period in seconds, and the providers whose state is captured; an empty list turns it off.
    PeriodicCapture(u32, Vec<Guid>),
    /// Class 18: whether binaries are tracked.
    BinaryTracking(bool),
    /// Class 20: `TRACE_LBR_CONFIGURATION_*`.
    LbrConfiguration(u32),
    /// Class 21: hook ids of events that get last branch records.
    LbrEvents(Vec<u32>),
    /// Class 24: caching of the stacks of system events.
    StackCaching(StackCachingInfo),
    /// Class 26: caching of all stacks.
    UnifiedStackCaching(StackCachingInfo),
    /// Class 28: system events that get registers, and the kinds of registers.
    ContextRegisters(ContextRegisterInfo, Vec<ClassicEventId>),
}

impl SetInformation {
    /// Returns the class of this value.
    #[must_use]
    pub const fn class(&self) -> TraceInfoClass {
        match self {
            Self::StackTracing(_) => TraceInfoClass::StackTracingInfo,
            Self::SystemFlags(_) => TraceInfoClass::SystemTraceEnableFlagsInfo,
            Self::ProfileInterval(_) => TraceInfoClass::SampledProfileIntervalInfo,
            Self::ProfileSources(_) => TraceInfoClass::ProfileSourceConfigInfo,
            Self::PmcEvents(_) => TraceInfoClass::PmcEventListInfo,
            Self::PmcCounters(_) => TraceInfoClass::PmcCounterListInfo,
            Self::DisallowList(_) => TraceInfoClass::SetDisallowList,
            Self::PeriodicCapture(..) => TraceInfoClass::PeriodicCaptureStateListInfo,
            Self::BinaryTracking(_) => TraceInfoClass::ProviderBinaryTracking,
            Self::LbrConfiguration(_) => TraceInfoClass::LbrConfigurationInfo,
            Self::LbrEvents(_) => TraceInfoClass::LbrEventListInfo,
            Self::StackCaching(_) => TraceInfoClass::StackCachingInfo,
            Self::UnifiedStackCaching(_) => TraceInfoClass::UnifiedStackCachingInfo,
            Self::ContextRegisters(..) => TraceInfoClass::ContextRegisterInfo,
        }
    }

    /// Parses the data of a class.
    ///
    /// # Errors
    ///
    /// `BadLength` for data shorter than the minimum of the class, `odd` for any other invalid length, `NotSupported`
    /// for a class that cannot be set.
    pub fn parse(class: TraceInfoClass, data: &[u8], odd: Win32Error) -> Result<Self, Win32Error> {
        let at_least = |least: usize| if data.len() < least { Err(Win32Error::BadLength) } else { Ok(()) };
        let exactly = |length: usize| {
            at_least(length)?;
            if data.len() == length { Ok(()) } else { Err(odd) }
        };
        let events = |data: &[u8]| array_of(data, ClassicEventId::SIZE, ClassicEventId::parse).ok_or(odd);
        let caching = || {
            exactly(StackCachingInfo::SIZE)?;
            StackCachingInfo::parse(data).ok_or(odd)
        };
        Ok(match class {
            TraceInfoClass::StackTracingInfo => Self::StackTracing(events(data)?),
            TraceInfoClass::SystemTraceEnableFlagsInfo => {
                at_least(4)?;
                let numbers = numbers(data).filter(|numbers| numbers.len() <= 8).ok_or(odd)?;
                let mut mask = GroupMask::default();
                mask.masks.iter_mut().zip(numbers).for_each(|(mask, number)| *mask = number);
                Self::SystemFlags(mask)
            }
            TraceInfoClass::SampledProfileIntervalInfo => {
                exactly(ProfileInterval::SIZE)?;
                Self::ProfileInterval(ProfileInterval::parse(data).ok_or(odd)?)
            }
            TraceInfoClass::ProfileSourceConfigInfo => {
                at_least(4)?;
                Self::ProfileSources(numbers(data).ok_or(odd)?)
            }
            TraceInfoClass::PmcEventListInfo => {
                at_least(ClassicEventId::SIZE)?;
                Self::PmcEvents(events(data)?)
            }
            TraceInfoClass::PmcCounterListInfo => {
                at_least(4)?;
                Self::PmcCounters(numbers(data).ok_or(odd)?)
            }
            TraceInfoClass::SetDisallowList => Self::DisallowList(guids(data).ok_or(odd)?),
            TraceInfoClass::PeriodicCaptureStateListInfo if data.is_empty() => Self::PeriodicCapture(0, Vec::new()),
            TraceInfoClass::PeriodicCaptureStateListInfo => {
                at_least(PeriodicCaptureStateInfo::SIZE)?;
                let info = PeriodicCaptureStateInfo::parse(data).ok_or(odd)?;
                let providers = guids(data.get(PeriodicCaptureStateInfo::SIZE..).unwrap_or_default()).ok_or(odd)?;
                if providers.len() != usize::from(info.provider_count) {
                    return Err(odd);
                }
                Self::PeriodicCapture(info.seconds, providers)
            }
            TraceInfoClass::ProviderBinaryTracking => {
                exactly(1)?;
                Self::BinaryTracking(data != [0])
            }
            TraceInfoClass::LbrConfigurationInfo => {
                exactly(4)?;
                Self::LbrConfiguration(numbers(data).and_then(|numbers| numbers.first().copied()).ok_or(odd)?)
            }
            TraceInfoClass::LbrEventListInfo => Self::LbrEvents(numbers(data).ok_or(odd)?),
            TraceInfoClass::StackCachingInfo => Self::StackCaching(caching()?),
            TraceInfoClass::UnifiedStackCachingInfo => Self::UnifiedStackCaching(caching()?),
            TraceInfoClass::ContextRegisterInfo => {
                at_least(ContextRegisterInfo::SIZE)?;
                let info = ContextRegisterInfo::parse(data).ok_or(odd)?;
                Self::ContextRegisters(info, events(data.get(ContextRegisterInfo::SIZE..).unwrap_or_default())?)
            }
            _ => return Err(Win32Error::NotSupported),
        })
    }
}
