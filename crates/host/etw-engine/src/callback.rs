//! What a provider's callback is told.

use std::sync::Arc;

use etw_types::{ControlCode, Guid, Level};

/// Data of a filter for the provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilterData {
    /// `EVENT_FILTER_TYPE_*`.
    pub kind: u32,
    /// The data, in a form that the provider and the session agreed on.
    pub data: Vec<u8>,
}

/// What ETW tells a provider about the sessions that listen.
#[derive(Clone, Copy, Debug)]
pub struct Notification<'a> {
    /// The registration's GUID.
    pub provider: Guid,
    /// The registration that is called back.
    pub handle: u64,
    /// Who asks; zero when ETW reports, while registering or joining a group, what was enabled before.
    pub source: Guid,
    /// What happened.
    pub control: ControlCode,
    /// The most verbose level wanted.
    pub level: Level,
    /// The keyword bits of which an event needs one.
    pub any: u64,
    /// The keyword bits of which an event needs all.
    pub all: u64,
    /// Filter data of the session whose request caused this.
    pub filter: Option<&'a FilterData>,
}

/// A provider's enable callback.
pub type Callback = Arc<dyn Fn(&Notification<'_>) + Send + Sync>;
