//! Session control: modes, properties, enable parameters, filters, information classes and the layout of their data.
//!
//! Layouts are those of 64-bit Windows, checked against Microsoft's metadata where it has them. `parse` and `to_bytes`
//! are total; nothing here decides what a value means or whether a session accepts it.

#[macro_use]
pub(crate) mod wire;

mod class;
pub mod enable;
pub mod filter;
mod instance;
pub mod mode;
mod payload;
mod pmc;
mod properties;

pub use class::{ClassFacts, HandleKind, TraceInfoClass};
pub use instance::{TraceEnableInfo, TraceGuidInfo, TraceProviderInstanceInfo};
pub use payload::{
    ClassicEventId, ContextRegisterInfo, GroupMask, LBR_MAXIMUM_EVENTS, MAX_STACK_TRACING_EVENTS,
    PeriodicCaptureStateInfo, ProfileInterval, StackCachingInfo, TraceVersionInfo,
};
pub use pmc::{PmcCounterOwner, PmcOwnershipStatus, PmcSessionInfo, ProfileSourceInfo};
pub use properties::{
    EventTraceProperties, EventTracePropertiesV2, SYSTEM_TRACE_CONTROL, WNODE_FLAG_TRACED_GUID,
    WNODE_FLAG_VERSIONED_PROPERTIES, WnodeHeader,
};
