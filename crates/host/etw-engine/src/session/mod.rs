//! Sessions: what they are asked to be, what they take, and where it goes.

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

/// A trace session. Clones are handles of the same session; it runs until [`Session::stop`].
#[derive(Clone)]
pub struct Session {
    pub(crate) engine: Engine,
    pub(crate) core: Arc<SessionCore>,
}

impl Session {
    /// The name it was started with.
    #[must_use]
    pub fn name(&self) -> &str {
        self.core.name()
    }

    /// The session's handle, which no other session of the engine has, ever.
    #[must_use]
    pub fn handle(&self) -> u64 {
        self.core.id()
    }

    /// What the time stamps of this session's records mean.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.core.clock
    }

    /// A copy of the captured events, oldest first. Only sessions of [`Engine::start_session`] capture events.
    #[must_use]
    pub fn events(&self) -> Vec<CapturedEvent> {
        self.core.memory().map(memory::Memory::events).unwrap_or_default()
    }

    /// The captured events, oldest first; the session keeps none of them.
    #[must_use]
    pub fn take_events(&self) -> Vec<CapturedEvent> {
        self.core.memory().map(memory::Memory::take_events).unwrap_or_default()
    }

    /// How many events the session wanted and could not take or keep.
    #[must_use]
    pub fn events_lost(&self) -> u64 {
        self.core.statistics().lost
    }

    /// Whether the session was stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.core.is_stopped()
    }

    /// The stack behind a stack key of this session's events.
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
