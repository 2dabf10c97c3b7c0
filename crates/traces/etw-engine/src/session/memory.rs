//! A session that captures events for a test, with everything that their writers passed.
//!
//! Its list has a lock, which is taken last and never held across a callback. Tests need data that no trace record
//! contains (every data block, the arguments of the write), and that justifies a lock. Sessions with buffers do not
//! need one.

use std::sync::Mutex;

use etw_types::NtStatus;

use super::status::Statistics;
use crate::capture::{CapturedEvent, trace_size};
use crate::data::Data;
use crate::event::Offer;
use crate::sync::lock;

/// The limits of an in-memory session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionOptions {
    /// The largest event in bytes, including headers. A larger event is lost and returns `BufferOverflow`.
    pub max_event_size: usize,
    /// The maximum number of events that are kept. Further events are lost and return `NoMemory`.
    pub capacity: usize,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self { max_event_size: 0x1_0000, capacity: 1 << 20 }
    }
}

/// The events of such a session.
pub(super) struct Memory {
    options: SessionOptions,
    list: Mutex<List>,
}

#[derive(Default)]
struct List {
    events: Vec<CapturedEvent>,
    seen: u64,
    lost: u64,
    stopped: bool,
}

impl Memory {
    pub(super) fn new(options: SessionOptions) -> Self {
        Self { options, list: Mutex::default() }
    }

    /// Records an event, or returns the reason why not. If the session is stopped, the event is ignored: the writer
    /// checked just before the session stopped.
    pub(super) fn offer(&self, offer: &Offer<'_>, data: &Data<'_>, stack: Vec<u64>) -> NtStatus {
        let mut list = lock(&self.list);
        if list.stopped {
            return NtStatus::Success;
        }
        let sequence = list.seen;
        list.seen += 1;
        let status = if trace_size(offer, data) > self.options.max_event_size {
            NtStatus::BufferOverflow
        } else if list.events.len() >= self.options.capacity {
            NtStatus::NoMemory
        } else {
            list.events.push(CapturedEvent::new(offer, data, stack, sequence));
            return NtStatus::Success;
        };
        list.lost += 1;
        status
    }

    pub(super) fn stop(&self) {
        lock(&self.list).stopped = true;
    }

    pub(super) fn events(&self) -> Vec<CapturedEvent> {
        lock(&self.list).events.clone()
    }

    pub(super) fn take_events(&self) -> Vec<CapturedEvent> {
        std::mem::take(&mut lock(&self.list).events)
    }

    pub(super) fn statistics(&self) -> Statistics {
        let list = lock(&self.list);
        Statistics { written: list.seen, recorded: list.seen - list.lost, lost: list.lost, ..Statistics::default() }
    }
}
