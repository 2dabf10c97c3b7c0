//! The primitives of the pool: the standard library's atomics, or those of loom when the model checker runs the tests
//! (`--cfg loom`).

#[cfg(all(loom, test))]
pub(super) use loom::{
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
    thread::yield_now,
};
#[cfg(not(all(loom, test)))]
pub(super) use std::{
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
    thread::yield_now,
};

/// The minimum number of slots in a pool's table, so that an update can raise the limit. Models use as few as possible,
/// because every atomic slows them down.
pub(super) const TABLE: usize = if cfg!(all(loom, test)) { 1 } else { 256 };
