//! Sessions: their properties, the events they record, and where those go.

mod buffered;
pub(crate) mod consumer;
mod core;
mod file;
pub(crate) mod information;
mod logger;
pub(crate) mod memory;
pub(crate) mod message;
mod outlet;
pub(crate) mod properties;
mod sequence;
mod stacks;
mod start;
pub(crate) mod status;
mod table;
pub(crate) mod update;

use std::sync::Arc;

use etw_etl::Clock;

use crate::{CapturedEvent, Engine};

pub(crate) use self::core::{SessionCore, Wanted};
pub(crate) use self::stacks::Opcodes;
pub(crate) use self::start::end_all;
pub(crate) use self::table::Sessions;

/// A trace session. Clones refer to the same session. It runs until [`Session::stop`].
#[derive(Clone)]
pub struct Session {
    pub(crate) engine: Engine,
    pub(crate) core: Arc<SessionCore>,
}

impl Session {
    /// Returns the name of the session.
    #[must_use]
    pub fn name(&self) -> &str {
        self.core.name()
    }

    /// Returns the session's handle. Handles are unique and never reused within an engine.
    #[must_use]
    pub fn handle(&self) -> u64 {
        self.core.id()
    }

    /// Returns the clock that the timestamps of this session's records use.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.core.clock
    }

    /// Returns a copy of the captured events, oldest first. Only sessions of [`Engine::start_session`] capture events.
    #[must_use]
    pub fn events(&self) -> Vec<CapturedEvent> {
        self.core.memory().map(memory::Memory::events).unwrap_or_default()
    }

    /// Removes and returns the captured events, oldest first.
    #[must_use]
    pub fn take_events(&self) -> Vec<CapturedEvent> {
        self.core.memory().map(memory::Memory::take_events).unwrap_or_default()
    }

    /// Returns the number of events that the session accepted but could not record or keep.
    #[must_use]
    pub fn events_lost(&self) -> u64 {
        self.core.statistics().lost
    }

    /// Returns whether the session was stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.core.is_stopped()
    }

    /// Returns the stack for a stack key of this session's events.
    #[must_use]
    pub fn stack_of(&self, key: u64) -> Option<Vec<u64>> {
        self.core.stacks().frames(key)
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("id", &self.core.id()).field("name", &self.core.name()).finish_non_exhaustive()
    }
}
