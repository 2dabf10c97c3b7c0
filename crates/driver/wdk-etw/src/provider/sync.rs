//! The atomics of the provider's state, in one place: the model checker's tests put others here.

pub(crate) use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
