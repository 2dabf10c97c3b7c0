//! What the I/O manager checks when a driver uses another part of the kernel in a dispatch routine.
//!
//! The executive, the scheduler and ETW lie below the I/O manager, so they reach its checks through this table.

use nt_processor::layer_state::LayerState;
use nt_processor::memory::Fault;

/// The checks of the I/O manager.
pub(crate) struct RequestRules {
    /// A spin lock is released.
    pub(crate) lock_released: fn() -> Result<(), Fault>,
    /// The event at an address is set.
    pub(crate) sets_event: fn(u64),
    /// Returns whether a dispatch routine runs on this thread for a client.
    pub(crate) is_for_client: fn() -> bool,
    /// Returns whether a dispatch routine runs on this thread for a program.
    pub(crate) is_for_user: fn() -> bool,
}

static RULES: LayerState<RequestRules> = LayerState::new();

/// Sets the checks. Later calls have no effect.
pub(super) fn attach(rules: &'static RequestRules) {
    RULES.attach(rules);
}

/// Checks what happened to an IRP when a spin lock is released.
pub(crate) fn lock_released() -> Result<(), Fault> {
    (RULES.get().lock_released)()
}

/// Checks the event at an address when the driver sets it.
pub(crate) fn sets_event(event: u64) {
    (RULES.get().sets_event)(event);
}

/// Returns whether a dispatch routine runs on this thread for a client.
pub(crate) fn is_for_client() -> bool {
    (RULES.get().is_for_client)()
}

/// Returns whether a dispatch routine runs on this thread for a program.
pub(crate) fn is_for_user() -> bool {
    (RULES.get().is_for_user)()
}
