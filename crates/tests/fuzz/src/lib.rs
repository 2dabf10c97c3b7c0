//! Fuzzing: what is fuzzed, with which seeds, and a mutator for machines without fuzzing tools.
//!
//! [`TARGETS`] are functions of bytes that panic when one of the workspace's promises about hostile input is broken.
//! libFuzzer (the package in `libfuzzer`, outside the workspace as it needs a nightly compiler), the bounded mutator of this
//! crate's program and the replay of the corpus in the test suite all call the same functions. `cargo xtask fuzz` is how
//! they are started.
//!
//! The promises belong to the crates that make them; nothing is parsed or repaired here.
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a target panics when a promise is broken")]

mod corpus;
pub mod engine;
mod mutate;
mod rng;
mod targets;

pub use corpus::Seed;
pub use mutate::Mutator;
pub use targets::{BROKEN, TARGETS, Target};

/// Runs the target of that name.
///
/// # Panics
///
/// When there is none, and when the target breaks a promise.
pub fn run(name: &str, bytes: &[u8]) {
    let target = Target::of(name).expect("the target exists");
    (target.run)(bytes);
}
