//! Fuzz targets: functions that take any bytes and panic if a crate of this workspace breaks one of its guarantees
//! about hostile input.
//!
//! libFuzzer and a test that replays the corpus call the same [`TARGETS`]. libFuzzer's entry points are in the
//! package `libfuzzer`, which is not a member of the workspace, as cargo-fuzz requires. `cargo xtask fuzz` starts
//! libFuzzer.
//!
//! The targets only call the crates. They never parse or repair the input themselves.
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a target panics if a guarantee is broken")]

mod targets;

pub use targets::{TARGETS, Target};

/// Runs the target with this name.
///
/// # Panics
///
/// If there is no such target, or if a guarantee is broken.
pub fn run(name: &str, bytes: &[u8]) {
    let (_, target) = TARGETS.iter().find(|(known, _)| *known == name).expect("the target exists");
    target(bytes);
}
