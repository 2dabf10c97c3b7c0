//! The buffers of a session: writers fill them without a lock, and the session empties them in order.
//!
//! Every processor has a stream, and every stream has a current [`Slot`](slot::Slot) in which its writers reserve room
//! with one compare-and-swap. Records are copied into words that are themselves atomics, so all of this is safe Rust. A
//! writer that finds its slot full closes it, adds it to the set of full slots, and replaces it with a free one. If no
//! slot is free and the maximum is not reached, it allocates another one; this is the only allocation on this path. No
//! writer waits for another thread. Only the thread that empties the buffers waits: for writers that closed a slot and
//! are about to add it to the set, and for writers that reserved room and are still copying.
//!
//! The alternative, a short lock around the copy, was measured (`cost_beside_a_lock` in the tests, on a busy machine
//! with two processors). Without contention the lock is cheaper by about half; with several writers on a stream neither
//! was clearly ahead. This cost is a fifth of a whole write and was not decisive. Two other reasons were: a writer that
//! is interrupted while it holds a lock stops every other writer of its processor, and stopping a stream with one swap
//! makes the end of a session exact.

mod index_set;
#[cfg(loom)]
#[cfg(test)]
mod models;
mod pool;
mod slot;
mod sync;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use pool::{Place, Pool, PoolOptions, Read, Refusal};
pub(crate) use words::{Encoded, Record, Words};
