//! Fuzzing: functions of bytes that panic when one of the workspace's promises about hostile input is broken.
//!
//! libFuzzer (the package in `libfuzzer`, outside the workspace as cargo-fuzz wants it) and the replay of the corpus in the test
//! suite call the same [`TARGETS`]. `cargo xtask fuzz` starts libFuzzer.
//!
//! The promises belong to the crates that make them; nothing is parsed or repaired here.
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a target panics when a promise is broken")]

mod targets;

pub use targets::{TARGETS, Target};

/// Runs the target of that name.
///
/// # Panics
///
/// When there is none, and when the target breaks a promise.
pub fn run(name: &str, bytes: &[u8]) {
    let (_, target) = TARGETS.iter().find(|(known, _)| *known == name).expect("the target exists");
    target(bytes);
}
