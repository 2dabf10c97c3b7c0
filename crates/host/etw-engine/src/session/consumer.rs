//! Consumers in real time: buffers of a running session, one after the other.
//!
//! A consumer has a queue of limited length. Where its session also writes a file, a buffer that finds the queue full is
//! lost for the consumer and the file goes on. Where real time is all there is, the buffer waits in the session: a slow
//! consumer makes writers run out of buffers, and the loss is counted as theirs.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use etw_etl::format::event::EventHeader;
use etw_etl::format::record::{Next, next};
use etw_types::Win32Error;
use etw_types::session::mode;

use crate::Session;
use crate::sync::lock;

/// A buffer of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RealTimeBuffer {
    /// The processor whose buffer it was.
    pub processor: u16,
    /// Events in it.
    pub events: u32,
    records: Arc<[u8]>,
}

impl RealTimeBuffer {
    pub(super) const fn new(processor: u16, events: u32, records: Arc<[u8]>) -> Self {
        Self { processor, events, records }
    }

    /// The records as they would stand in a file, without what fills them up.
    pub fn records(&self) -> impl Iterator<Item = &[u8]> {
        Records(&self.records)
    }

    /// The headers of the events.
    pub fn headers(&self) -> impl Iterator<Item = EventHeader> {
        self.records().filter_map(EventHeader::parse)
    }
}

/// The records of a session's own buffer: events, messages and what the session says itself, each at a multiple of eight.
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
    /// Whether a buffer has room, or nobody wants it any more.
    pub(super) fn has_room(&self) -> bool {
        let state = lock(&self.state);
        state.closed || state.buffers.len() < self.length
    }

    pub(super) fn is_closed(&self) -> bool {
        lock(&self.state).closed
    }

    /// Delivers a buffer; whether it had room. With `force` it always has.
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

    /// Says that no buffer will follow.
    pub(super) fn end(&self) {
        lock(&self.state).ended = true;
        self.changed.notify_all();
    }
}

/// A consumer of a session in real time. Dropping it disconnects.
pub struct Consumer {
    session: Session,
    queue: Arc<Queue>,
}

impl Session {
    /// Connects a consumer, which gets the buffers from here on and those that wait.
    ///
    /// # Errors
    ///
    /// `WmiInstanceNotFound` once stopped, `InvalidParameter` where the session does not deliver in real time.
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
    /// Waits for a buffer; `None` once the session has stopped and everything was delivered.
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

    /// A buffer, where one is there already.
    #[must_use]
    pub fn try_next_buffer(&self) -> Option<RealTimeBuffer> {
        let buffer = lock(&self.queue.state).buffers.pop_front();
        self.wake_session();
        buffer
    }

    /// Buffers that this consumer did not get because it was too slow.
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
