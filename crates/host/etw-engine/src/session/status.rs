//! What a session says about itself.

use crate::Session;
use etw_types::session::SessionStatus;

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

/// What `ControlTrace` returns, and what only an engine knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What `ControlTrace` returns.
    pub status: SessionStatus,
    /// The session's number.
    pub logger_id: u16,
    /// Where the events went.
    pub statistics: Statistics,
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
    pub fn status(&self) -> Report {
        self.core.status()
    }
}
