//! The state and the statistics of a session.

use super::Properties;
use crate::session::{SYSTEM_TRACE_CONTROL, mode};

/// What `ControlTrace` returns: the current properties, and counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionStatus {
    /// The properties, with the values that the system chose. The file is the one that is being written.
    pub properties: Properties,
    /// The session's handle.
    pub handle: u64,
    /// Number of allocated buffers.
    pub number_of_buffers: u32,
    /// Number of buffers without events.
    pub free_buffers: u32,
    /// Number of events lost because no buffer was free.
    pub events_lost: u32,
    /// Number of buffers written or delivered.
    pub buffers_written: u32,
    /// Number of buffers that could not be written to the file.
    pub log_buffers_lost: u32,
    /// Number of buffers that could not be delivered to a consumer.
    pub real_time_buffers_lost: u32,
}

impl SessionStatus {
    /// Returns whether any events or buffers were lost.
    #[must_use]
    pub const fn has_losses(&self) -> bool {
        self.events_lost != 0 || self.log_buffers_lost != 0 || self.real_time_buffers_lost != 0
    }

    /// Returns whether the session delivers to real-time consumers.
    #[must_use]
    pub const fn is_real_time(&self) -> bool {
        self.properties.mode & mode::REAL_TIME != 0
    }

    /// Returns whether the session collects events of the system providers.
    #[must_use]
    pub fn is_system(&self) -> bool {
        self.properties.is_system() || self.properties.guid == SYSTEM_TRACE_CONTROL
    }

    /// Returns the names of the session's modes.
    #[must_use]
    pub fn mode_names(&self) -> std::vec::Vec<&'static str> {
        mode::NAMES.iter().filter(|(_, bit)| self.properties.mode & bit != 0).map(|(name, _)| *name).collect()
    }
}
