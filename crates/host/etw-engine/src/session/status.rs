//! What a session says about itself.

use std::path::PathBuf;

use etw_types::Guid;

use super::Session;
use super::properties::Properties;

/// Where the events of a session went. `written` is always the sum of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Events that the session wanted while it ran.
    pub written: u64,
    /// Events in the file; for a session without one, delivered to consumers or captured in memory.
    pub recorded: u64,
    /// Events that no buffer was free for, that were too large, or that could not be written or delivered.
    pub lost: u64,
    /// Events that gave way to newer ones (circular files and buffers), and those that a session kept in memory until it
    /// stopped.
    pub discarded: u64,
    /// Events in buffers that wait. None once the session has stopped.
    pub pending: u64,
}

/// What `ControlTrace` answers: the properties as they are now, and counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionStatus {
    /// The properties, with the engine's choices filled in.
    pub properties: Properties,
    /// The session's handle.
    pub handle: u64,
    /// The session's number.
    pub logger_id: u16,
    /// The session's GUID.
    pub guid: Guid,
    /// Whether it takes events of the system providers.
    pub is_system: bool,
    /// Buffers allocated.
    pub number_of_buffers: u32,
    /// Buffers without events.
    pub free_buffers: u32,
    /// Buffers written or delivered.
    pub buffers_written: u64,
    /// Buffers that could not be written to the file.
    pub log_buffers_lost: u64,
    /// Buffers that a consumer did not get.
    pub real_time_buffers_lost: u64,
    /// Where the events went.
    pub statistics: Statistics,
    /// The file that is written now, the last one of several.
    pub file: Option<PathBuf>,
    /// What went wrong with the file last, in words.
    pub file_error: Option<String>,
}

impl Session {
    /// Where the events of this session went. Exact once no writer is at work; pending events are estimated from the
    /// others before.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.core.statistics()
    }

    /// The session as it is now, running or stopped.
    #[must_use]
    pub fn status(&self) -> SessionStatus {
        self.core.status()
    }
}
