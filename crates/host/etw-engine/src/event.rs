//! An event that is being written: its limits, its arguments, and what a session is told about it.
//!
//! A leaf: it knows neither routes nor sessions.

use std::sync::atomic::AtomicU64;

use etw_types::{EventDescriptor, Guid};

use crate::{Environment, Routine};

/// `MAX_EVENT_DATA_DESCRIPTORS`: how many data blocks an event may have.
pub const MAX_BLOCKS: usize = 128;

/// How many bytes all blocks of an event may have together.
pub const MAX_DATA: usize = 0xFFF8;

/// The arguments of a write, without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventWrite {
    /// The routine that was called: [`Routine::Write`], [`Routine::WriteTransfer`], [`Routine::WriteEx`], or
    /// [`Routine::WriteString`] for an event that is UTF-16 text and nothing else.
    pub routine: Routine,
    /// The registration.
    pub handle: u64,
    /// Level, keyword, id and so on.
    pub descriptor: EventDescriptor,
    /// Filter argument of `EtwWriteEx`.
    pub filter: u64,
    /// Flags argument of `EtwWriteEx`.
    pub flags: u32,
    /// The activity id. The kernel writes a zero GUID where there is none.
    pub activity: Option<Guid>,
    /// The related activity id.
    pub related: Option<Guid>,
}

impl EventWrite {
    /// A write through `EtwWriteTransfer` without activity ids.
    #[must_use]
    pub const fn new(handle: u64, descriptor: EventDescriptor) -> Self {
        Self { routine: Routine::WriteTransfer, handle, descriptor, filter: 0, flags: 0, activity: None, related: None }
    }
}

impl EventWrite {
    /// Whether the event is a text and nothing else.
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
    /// The processor it is written on.
    pub(crate) processor: u16,
    pub(crate) environment: &'a dyn Environment,
    pub(crate) keys: &'a AtomicU64,
}
