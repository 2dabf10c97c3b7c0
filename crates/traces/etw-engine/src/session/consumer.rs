//! Real-time consumers: they receive the buffers of a running session one after the other.
//!
//! A consumer has a queue of limited length. If its session also writes a file and the queue is full, the buffer is
//! lost for the consumer, and the file still gets it. If the session only delivers in real time, the buffer waits in
//! the session. A slow consumer then makes the writers run out of buffers, and the lost events are counted as the
//! writers' loss.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use etw_etl::format::event::EventHeader;
use etw_etl::format::record::{Next, next};
use etw_types::Win32Error;
use etw_types::session::mode;

use crate::Session;
use crate::sync::lock;

/// A buffer that a session delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RealTimeBuffer {
    /// The processor whose buffer this is.
    pub processor: u16,
    /// Number of events in it.
    pub events: u32,
    records: Arc<[u8]>,
}

impl RealTimeBuffer {
    pub(super) const fn new(processor: u16, events: u32, records: Arc<[u8]>) -> Self {
        Self { processor, events, records }
    }

    /// Returns the records as they would be in a file, without padding.
    pub fn records(&self) -> impl Iterator<Item = &[u8]> {
        Records(&self.records)
    }

    /// Returns the headers of the events.
    pub fn headers(&self) -> impl Iterator<Item = EventHeader> {
        self.records().filter_map(EventHeader::parse)
    }
}

/// Iterates over the records of a buffer: events, messages and the session's own records, each aligned to eight bytes.
struct Records<'a>(&'a [u8]);

impl<'a> Iterator for Records<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let Next::Record(_, size) = next(self.0) else {
            return None;
        };
        let record = self.0.get(..size)?;
        self.0 = self.0.get(size.next_multiple_of(8)..).unwrap_or_default();
        Some(record)
    }
}

#[derive(Default)]
struct State {
    buffers: VecDeque<RealTimeBuffer>,
    lost: u64,
    ended: bool,
    closed: bool,
}

/// The queue between a session and a consumer.
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    length: usize,
}

impl Queue {
    /// Whether there is room for a buffer, or the consumer is closed.
    pub(super) fn has_room(&self) -> bool {
        let state = lock(&self.state);
        state.closed || state.buffers.len() < self.length
    }

    pub(super) fn is_closed(&self) -> bool {
        lock(&self.state).closed
    }

    /// Delivers a buffer. Returns false if the queue is full or closed. With `force`, the length of the queue is
    /// ignored.
    pub(super) fn push(&self, buffer: &RealTimeBuffer, force: bool) -> bool {
        let mut state = lock(&self.state);
        if state.closed {
            return false;
        }
        if state.buffers.len() >= self.length && !force {
            state.lost += 1;
            return false;
        }
        state.buffers.push_back(buffer.clone());
        drop(state);
        self.changed.notify_all();
        true
    }

    /// Signals that no buffer will follow.
    pub(super) fn end(&self) {
        lock(&self.state).ended = true;
        self.changed.notify_all();
    }
}

/// A real-time consumer of a session. Dropping it disconnects.
pub struct Consumer {
    session: Session,
    queue: Arc<Queue>,
}

impl Session {
    /// Connects a consumer. It receives the buffers that are still waiting and all later ones.
    ///
    /// # Errors
    ///
    /// `WmiInstanceNotFound` if the session is stopped, `InvalidParameter` if it does not deliver in real time.
    pub fn consume(&self) -> Result<Consumer, Win32Error> {
        let length = usize::try_from(self.core.maximum_buffers()).unwrap_or(usize::MAX);
        let queue = Arc::new(Queue { state: Mutex::default(), changed: Condvar::new(), length });
        let buffers = self.core.buffers().ok_or(Win32Error::InvalidParameter)?;
        let mut outlet = lock(&buffers.outlet);
        if outlet.is_finished() {
            return Err(Win32Error::WmiInstanceNotFound);
        }
        if outlet.mode() & mode::REAL_TIME == 0 {
            return Err(Win32Error::InvalidParameter);
        }
        outlet.connect(Arc::clone(&queue));
        drop(outlet);
        buffers.wake();
        Ok(Consumer { session: self.clone(), queue })
    }
}

impl Consumer {
    /// Waits for a buffer. Returns `None` after the session has stopped and all buffers were delivered.
    #[must_use]
    pub fn next_buffer(&self) -> Option<RealTimeBuffer> {
        let mut state = lock(&self.queue.state);
        let buffer = loop {
            if let Some(buffer) = state.buffers.pop_front() {
                break Some(buffer);
            }
            if state.ended {
                break None;
            }
            state = self.queue.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        drop(state);
        self.wake_session();
        buffer
    }

    /// Returns a buffer if one is available.
    #[must_use]
    pub fn try_next_buffer(&self) -> Option<RealTimeBuffer> {
        let buffer = lock(&self.queue.state).buffers.pop_front();
        self.wake_session();
        buffer
    }

    /// Returns the number of buffers that this consumer missed because it was too slow.
    #[must_use]
    pub fn buffers_lost(&self) -> u64 {
        lock(&self.queue.state).lost
    }

    fn wake_session(&self) {
        if let Some(buffers) = self.session.core.buffers() {
            buffers.wake();
        }
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        lock(&self.queue.state).closed = true;
        self.wake_session();
    }
}

impl std::fmt::Debug for Consumer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Consumer").field("session", &self.session).finish_non_exhaustive()
    }
}
