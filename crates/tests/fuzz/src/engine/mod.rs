//! The two ways of finding inputs, with one face: progress, findings and a summary.
//!
//! [`supervise`] runs our own mutator in a child process, so that a stack overflow or an abort is a finding like a panic;
//! [`libfuzzer`] runs a target that was built for libFuzzer. Findings are files in `target/fuzz/<target>`.

mod finding;
mod interrupt;
pub mod libfuzzer;
mod progress;
pub mod supervise;
pub mod worker;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use finding::Finding;

use crate::Target;

/// What both engines are told.
#[derive(Clone, Debug)]
pub struct Options {
    /// What is fuzzed.
    pub target: &'static Target,
    /// For how long.
    pub time: Duration,
    /// What decides on the inputs.
    pub seed: u64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Nothing was found.
    Clean,
    /// An input breaks a promise; it was said which.
    Found,
}

/// An input may not take longer.
pub const MOST_TIME: Duration = Duration::from_secs(10);
/// The process may not hold more memory, in MiB.
pub const MOST_MEMORY: u64 = 2048;

impl Options {
    /// Where findings of this target are written.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        folder(self.target)
    }
}

/// Where findings of a target are written.
#[must_use]
pub fn folder(target: &Target) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(3).unwrap_or(here).join("target/fuzz").join(target.name)
}
