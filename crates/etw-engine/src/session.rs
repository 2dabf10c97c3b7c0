//! Sessions: who they are and what they captured.
//!
//! A session's buffer has a lock of its own, taken after everything else and never held across a callback.

use std::sync::{Arc, Mutex};

use etw_types::NtStatus;

use crate::sync::{lock, write};
use crate::{CapturedEvent, Engine};

/// How much a session takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionOptions {
    /// The largest event in bytes, headers included. A larger one is answered with `BufferOverflow`.
    pub max_event_size: usize,
    /// How many events are kept. Further ones are lost, and answered with `NoMemory`.
    pub capacity: usize,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self { max_event_size: 0x1_0000, capacity: 1 << 20 }
    }
}

/// A trace session. Clones are handles of the same session; it runs until [`Session::stop`].
#[derive(Clone)]
pub struct Session {
    pub(crate) engine: Engine,
    pub(crate) core: Arc<SessionCore>,
}

/// The part of a session that enablements refer to.
pub(crate) struct SessionCore {
    id: u64,
    name: String,
    options: SessionOptions,
    buffer: Mutex<Buffer>,
}

#[derive(Default)]
struct Buffer {
    events: Vec<CapturedEvent>,
    seen: u64,
    lost: u64,
    stopped: bool,
}

impl Engine {
    /// Starts a session that takes events of up to 64 KiB.
    #[must_use]
    pub fn start_session(&self, name: &str) -> Session {
        self.start_session_with(name, SessionOptions::default())
    }

    /// Starts a session.
    #[must_use]
    pub fn start_session_with(&self, name: &str, options: SessionOptions) -> Session {
        let id = write(&self.inner().state).next_session();
        Session {
            engine: self.clone(),
            core: Arc::new(SessionCore { id, name: name.to_owned(), options, buffer: Mutex::default() }),
        }
    }
}

impl Session {
    /// The name it was started with.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.core.name
    }

    /// A copy of the captured events, oldest first.
    #[must_use]
    pub fn events(&self) -> Vec<CapturedEvent> {
        lock(&self.core.buffer).events.clone()
    }

    /// The captured events, oldest first; the session keeps none of them.
    #[must_use]
    pub fn take_events(&self) -> Vec<CapturedEvent> {
        std::mem::take(&mut lock(&self.core.buffer).events)
    }

    /// How many events the session wanted and could not take: too large for it, or one too many.
    #[must_use]
    pub fn events_lost(&self) -> u64 {
        lock(&self.core.buffer).lost
    }

    /// Whether the session was stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.core.is_stopped()
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("id", &self.core.id).field("name", &self.core.name).finish_non_exhaustive()
    }
}

impl SessionCore {
    pub(crate) const fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn is_stopped(&self) -> bool {
        lock(&self.buffer).stopped
    }

    pub(crate) fn mark_stopped(&self) {
        lock(&self.buffer).stopped = true;
    }

    /// Takes an event, or says why not. A stopped session wants nothing: the writer looked just before it stopped.
    pub(crate) fn capture(&self, event: &CapturedEvent) -> NtStatus {
        let mut buffer = lock(&self.buffer);
        if buffer.stopped {
            return NtStatus::Success;
        }
        let sequence = buffer.seen;
        buffer.seen += 1;
        let status = if event.size() > self.options.max_event_size {
            NtStatus::BufferOverflow
        } else if buffer.events.len() >= self.options.capacity {
            NtStatus::NoMemory
        } else {
            buffer.events.push(CapturedEvent { sequence, ..event.clone() });
            return NtStatus::Success;
        };
        buffer.lost += 1;
        status
    }
}
