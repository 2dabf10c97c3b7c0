//! The arguments of a provider's enable callback.

use std::sync::Arc;

use etw_types::{ControlCode, Guid, Level};

/// Filter data for the provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilterData {
    /// `EVENT_FILTER_TYPE_*`.
    pub kind: u32,
    /// The data, in a format that the provider and the controller agreed on.
    pub data: Vec<u8>,
}

/// What ETW tells a provider about the sessions that enable it.
#[derive(Clone, Copy, Debug)]
pub struct Notification<'a> {
    /// The registration's GUID.
    pub provider: Guid,
    /// The registration whose callback runs.
    pub handle: u64,
    /// The source id of the request. Zero if the callback runs during registration, or while joining a group, and
    /// reports an earlier request.
    pub source: Guid,
    /// What happened.
    pub control: ControlCode,
    /// The most verbose level that is enabled.
    pub level: Level,
    /// Keyword mask: an event must have at least one of these bits.
    pub any: u64,
    /// Keyword mask: an event must have all of these bits.
    pub all: u64,
    /// Filter data of the request that caused this callback.
    pub filter: Option<&'a FilterData>,
}

/// A provider's enable callback.
pub type Callback = Arc<dyn Fn(&Notification<'_>) + Send + Sync>;
