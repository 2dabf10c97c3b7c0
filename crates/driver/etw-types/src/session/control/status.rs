//! What a session says about itself.

use super::Properties;
use crate::session::{SYSTEM_TRACE_CONTROL, mode};

/// What `ControlTrace` returns: the properties as they are, and counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionStatus {
    /// The properties, with the system's choices filled in. The file is the one that is written now.
    pub properties: Properties,
    /// The session's handle.
    pub handle: u64,
    /// Buffers allocated.
    pub number_of_buffers: u32,
    /// Buffers without events.
    pub free_buffers: u32,
    /// Events lost: no buffer was free.
    pub events_lost: u32,
    /// Buffers written or delivered.
    pub buffers_written: u32,
    /// Buffers that could not be written to the file.
    pub log_buffers_lost: u32,
    /// Buffers that no consumer got.
    pub real_time_buffers_lost: u32,
}

impl SessionStatus {
    /// Whether anything was lost.
    #[must_use]
    pub const fn has_losses(&self) -> bool {
        self.events_lost != 0 || self.log_buffers_lost != 0 || self.real_time_buffers_lost != 0
    }

    /// Whether consumers are served.
    #[must_use]
    pub const fn is_real_time(&self) -> bool {
        self.properties.mode & mode::REAL_TIME != 0
    }

    /// Whether it takes events of the system providers.
    #[must_use]
    pub fn is_system(&self) -> bool {
        self.properties.is_system() || self.properties.guid == SYSTEM_TRACE_CONTROL
    }

    /// The names of the modes.
    #[must_use]
    pub fn mode_names(&self) -> std::vec::Vec<&'static str> {
        mode::NAMES.iter().filter(|(_, bit)| self.properties.mode & bit != 0).map(|(name, _)| *name).collect()
    }
}
