//! Sequence numbers: private to a session, or shared by all sessions that request it.
//!
//! The documentation of `TraceMessage` says that a message with that flag gets a number, starting at one, if its
//! session has one of the two modes. An `EVENT_HEADER` has no field for it and none is documented, so events get no
//! number by default; see [`EngineOptions::event_sequence`](crate::EngineOptions::event_sequence).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use etw_types::session::mode;

/// The source of a session's sequence numbers.
#[derive(Debug)]
pub(super) enum Sequence {
    /// The session has no sequence numbers.
    None,
    /// A counter of this session or of the engine. It holds the last number.
    Counter(Arc<AtomicU32>),
}

impl Sequence {
    pub(super) fn new(mode: u32, global: &Arc<AtomicU32>) -> Self {
        if mode & mode::USE_GLOBAL_SEQUENCE != 0 {
            Self::Counter(Arc::clone(global))
        } else if mode & mode::USE_LOCAL_SEQUENCE != 0 {
            Self::Counter(Arc::default())
        } else {
            Self::None
        }
    }

    /// Returns the next number. The number of a record that is then lost is missing in the trace, which shows the loss.
    pub(super) fn next(&self) -> Option<u32> {
        match self {
            Self::None => None,
            Self::Counter(last) => Some(last.fetch_add(1, Ordering::Relaxed).wrapping_add(1)),
        }
    }
}
