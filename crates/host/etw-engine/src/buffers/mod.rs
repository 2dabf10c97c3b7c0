//! The buffers of a session: a lock-free way in for writers, an orderly way out for the session.
//!
//! Every processor has a stream, and every stream a current [`Slot`](slot::Slot) that its writers reserve room in with
//! one compare-and-swap. Records are copied into words that are atomics themselves, so that all of this is safe Rust.
//! A writer that finds its slot full closes it, hands it over in the set of full slots, and puts a free one in its place;
//! where none is free and there may be more, it takes memory for another one, which is the only allocation on this path.
//! No writer waits for another thread. Only the way out does: for writers that closed a slot and are about to hand it
//! over, and for those that have reserved room and are still copying.
//!
//! A short lock around the copy was measured beside this (`cost_beside_a_lock` in the tests, on a busy machine with two
//! processors). Without contention the lock is cheaper, by about half; with several writers on a stream neither was clearly
//! ahead. What decided is not that cost, which is a fifth of a whole write: a writer that is interrupted inside a lock holds
//! up every other writer of its processor, and stopping a stream by one swap is what makes the end of a session exact.

mod index_set;
#[cfg(loom)]
#[cfg(test)]
mod models;
mod pieces;
mod pool;
mod slot;
mod sync;
#[cfg(test)]
mod tests;

pub(crate) use pieces::{Item, Pieces};
pub(crate) use pool::{Outcome, Pool, PoolOptions, Read};
