//! What the pool is built from: the standard library's atomics, or loom's when a model checker runs the tests
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

/// How many slots a pool's table has at least, so that an update can raise the limit. A model has as few as it needs: every
/// atomic costs.
pub(super) const TABLE: usize = if cfg!(all(loom, test)) { 1 } else { 256 };
