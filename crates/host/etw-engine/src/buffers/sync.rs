//! What the pool is built from. A model checker compiles the pool a second time with its own in this place.

pub(super) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
pub(super) use std::thread::yield_now;

/// How many slots a pool's table has at least, so that an update can raise the limit.
pub(super) const TABLE: usize = 256;
