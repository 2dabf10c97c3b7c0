//! Shared state without locks under a model checker: the provider's, and the buffers of a session.
//!
//! `wdk-etw`'s `provider/state.rs` is compiled here a second time, with loom's atomics next to it instead of the real
//! ones. Loom then runs each test below under every order in which its threads' operations can be seen.
#![cfg(test)]

#[path = "../../../driver/wdk-etw/src/provider/state.rs"]
mod state;

/// What `state.rs` finds as `super::sync`.
mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
}

mod buffers;
mod enable;
mod lifecycle;
