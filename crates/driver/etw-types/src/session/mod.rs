//! Session control: modes, properties, enable parameters, filters, information classes and the layout of their data.
//!
//! The layouts are those of 64-bit Windows. They are checked against Microsoft's metadata if it contains them. `parse`
//! and `to_bytes` never panic. The documented rules about values are defined once, here, for callers and for
//! implementations of the functions.

#[macro_use]
pub(crate) mod wire;

mod class;
#[cfg(feature = "std")]
mod control;
pub mod enable;
pub mod filter;
#[cfg(feature = "std")]
pub mod info;
mod instance;
mod limit;
pub mod mode;
mod payload;
mod pmc;
mod properties;

#[doc(alias("TRACE_QUERY_INFO_CLASS", "TRACE_INFO_CLASS"))]
pub use class::TraceInfoClass;
#[cfg(feature = "std")]
pub use control::{
    ENABLE_RULES, Enable, Filter, Listed, Properties, RULES, Rule, Selection, SessionStatus, Update, empty_block,
};
pub use instance::{
    TRACE_PROVIDER_FLAG_LEGACY, TRACE_PROVIDER_FLAG_PRE_ENABLE, TraceEnableInfo, TraceGuidInfo,
    TraceProviderInstanceInfo,
};
pub use limit::Limit;
#[doc(alias = "CLASSIC_EVENT_ID")]
pub use payload::ClassicEventId;
pub use payload::{
    ContextRegisterInfo, GroupMask, LBR_MAXIMUM_EVENTS, MAX_STACK_TRACING_EVENTS, PeriodicCaptureStateInfo,
    ProfileInterval, StackCachingInfo, TraceVersionInfo,
};
pub use pmc::{PmcCounterOwner, PmcOwnershipStatus, PmcSessionInfo, ProfileSourceInfo};
#[doc(alias = "EVENT_TRACE_PROPERTIES")]
pub use properties::EventTraceProperties;
pub use properties::{
    BUFFER_KIB, ClockType, EventTracePropertiesV2, KERNEL_LOGGER_NAME, MAX_NAME, SYSTEM_TRACE_CONTROL,
    WNODE_FLAG_TRACED_GUID, WNODE_FLAG_VERSIONED_PROPERTIES, WnodeHeader,
};
