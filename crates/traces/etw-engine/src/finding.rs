//! Misuse that the engine detected: mistakes that hang or crash a real system, or that it does not report at all.

use etw_types::Guid;

use crate::Routine;
use crate::gate::Blocked;

/// One mistake of a provider or of its test.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// A GUID was registered inside a callback of the same GUID. The kernel deadlocks.
    RegisterInCallback {
        /// The GUID.
        provider: Guid,
    },
    /// A registration was unregistered inside a callback of its GUID. The kernel deadlocks.
    UnregisterInCallback {
        /// The registration's GUID.
        provider: Guid,
        /// The registration.
        handle: u64,
    },
    /// Traits with a group were set inside a callback of the GUID. Joining the group would have to run the callback
    /// again.
    JoinGroupInCallback {
        /// The registration's GUID.
        provider: Guid,
        /// The registration.
        handle: u64,
    },
    /// A session was controlled (enable, disable, capture state, stop) inside a callback that this would run again.
    ControlInCallback {
        /// The GUID whose callback is running.
        provider: Guid,
    },
    /// Threads inside callbacks of different GUIDs wait for each other's GUID.
    LockCycle {
        /// The GUID whose lock closes the cycle.
        provider: Guid,
    },
    /// A routine was called with a handle that this engine never returned.
    UnknownHandle {
        /// The routine.
        routine: Routine,
        /// The handle.
        handle: u64,
    },
    /// A routine was called with a handle that is already unregistered.
    StaleHandle {
        /// The routine.
        routine: Routine,
        /// The handle.
        handle: u64,
    },
    /// A data block of an event that a session accepts cannot be read (a NULL pointer with a size).
    UnreadableData {
        /// The registration that wrote.
        handle: u64,
        /// Position of the block.
        index: usize,
    },
    /// The size of a data block changed while the event was written. The kernel stops with bug check 0x11D.
    SizeChanged {
        /// The registration that wrote.
        handle: u64,
        /// Position of the block.
        index: usize,
    },
}

/// The operation that a gate refused.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Attempt {
    Register,
    Unregister(u64),
    JoinGroup(u64),
    Control,
}

impl Finding {
    /// Returns the finding for an operation that a gate refused.
    pub(crate) fn blocked(attempt: Attempt, blocked: Blocked) -> Self {
        match (blocked, attempt) {
            (Blocked::Cycle(provider), _) => Self::LockCycle { provider },
            (Blocked::Own(provider), Attempt::Register) => Self::RegisterInCallback { provider },
            (Blocked::Own(provider), Attempt::Unregister(handle)) => Self::UnregisterInCallback { provider, handle },
            (Blocked::Own(provider), Attempt::JoinGroup(handle)) => Self::JoinGroupInCallback { provider, handle },
            (Blocked::Own(provider), Attempt::Control) => Self::ControlInCallback { provider },
        }
    }
}
