//! The status of a session.

use crate::Session;
use etw_types::session::SessionStatus;

/// What happened to the events of a session. `written` is always the sum of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Events that the session accepted while it was running.
    pub written: u64,
    /// Events in the file. Without a file: events delivered to consumers or captured in memory.
    pub recorded: u64,
    /// Events that found no free buffer, were too large, or could not be written or delivered.
    pub lost: u64,
    /// Events that were overwritten by newer ones (circular files and buffers), and those that a session only kept in
    /// memory until it stopped.
    pub discarded: u64,
    /// Events that are still in buffers. Zero after the session has stopped.
    pub pending: u64,
}

/// What `ControlTrace` returns, plus what only the engine knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What `ControlTrace` returns.
    pub status: SessionStatus,
    /// The session's logger id.
    pub logger_id: u16,
    /// What happened to the events.
    pub statistics: Statistics,
    /// The description of the last error of the file.
    pub file_error: Option<String>,
}

impl Session {
    /// Returns what happened to the events of this session. Exact if no writer is active; otherwise `pending` is an
    /// estimate that is derived from the other counts.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.core.statistics()
    }

    /// Returns the current status of the session, running or stopped.
    #[must_use]
    pub fn status(&self) -> Report {
        self.core.status()
    }
}
