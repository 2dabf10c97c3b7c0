//! Sequence numbers: of a session's own, or shared by all sessions that ask for it.
//!
//! The page about `TraceMessage` says that a message with that flag gets a number, from one on, where its session has one of
//! the two modes. An `EVENT_HEADER` has no place for it and no document names one, so events get none by default; see
//! [`EngineOptions::event_sequence`](crate::EngineOptions::event_sequence).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use etw_types::session::mode;

/// Where the numbers of a session come from.
#[derive(Debug)]
pub(super) enum Sequence {
    /// There are none.
    None,
    /// A counter of this session or of the engine. Holds the last number.
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

    /// The next number. One that is lost afterwards is missing in the trace, which is what numbers are for.
    pub(super) fn next(&self) -> Option<u32> {
        match self {
            Self::None => None,
            Self::Counter(last) => Some(last.fetch_add(1, Ordering::Relaxed).wrapping_add(1)),
        }
    }
}
