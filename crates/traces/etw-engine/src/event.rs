//! An event that is being written: its limits, its arguments, and what a session needs to know about it.
//!
//! This module depends on neither routes nor sessions.

use std::sync::atomic::AtomicU64;

use etw_types::{EventDescriptor, Guid};
use windows_constants::tracing::MAX_EVENT_DATA_DESCRIPTORS;

use crate::{Environment, Routine};

/// `MAX_EVENT_DATA_DESCRIPTORS`: the maximum number of data blocks of an event.
pub const MAX_BLOCKS: usize = MAX_EVENT_DATA_DESCRIPTORS;

/// The maximum total size of all blocks of an event, in bytes.
pub const MAX_DATA: usize = 0xFFF8;

/// The arguments of a write, except its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventWrite {
    /// The routine that was called: [`Routine::Write`], [`Routine::WriteTransfer`], [`Routine::WriteEx`], or
    /// [`Routine::WriteString`] for an event that consists only of UTF-16 text.
    pub routine: Routine,
    /// The registration.
    pub handle: u64,
    /// Level, keyword, id and so on.
    pub descriptor: EventDescriptor,
    /// Filter argument of `EtwWriteEx`.
    pub filter: u64,
    /// Flags argument of `EtwWriteEx`.
    pub flags: u32,
    /// The activity id. The kernel writes a zero GUID if there is none.
    pub activity: Option<Guid>,
    /// The related activity id.
    pub related: Option<Guid>,
}

impl EventWrite {
    /// Creates a write through `EtwWriteTransfer` without activity ids.
    #[must_use]
    pub const fn new(handle: u64, descriptor: EventDescriptor) -> Self {
        Self { routine: Routine::WriteTransfer, handle, descriptor, filter: 0, flags: 0, activity: None, related: None }
    }
}

impl EventWrite {
    /// Whether the event consists only of text.
    pub(crate) fn is_string(&self) -> bool {
        self.routine == Routine::WriteString
    }
}

/// An event on its way to a session.
pub(crate) struct Offer<'a> {
    pub(crate) event: &'a EventWrite,
    pub(crate) provider: Guid,
    /// The engine's time.
    pub(crate) now: u64,
    /// The processor that the event is written on.
    pub(crate) processor: u16,
    pub(crate) environment: &'a dyn Environment,
    pub(crate) keys: &'a AtomicU64,
}
