//! What is measured, one module each. A part returns its tables and the goals that they decide.

mod decode;
mod engine;
mod facades;
mod generated;
mod host;
mod images;
mod instructions;
mod lttng;
mod size;

use std::path::PathBuf;

use crate::report::{Goal, Section};

pub use decode::decode;
pub use engine::engine;
pub use facades::facades;
pub use host::{host, setup};
pub use images::Images;
pub use instructions::instructions;
pub use size::size;

/// Where a run is and what it may do.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The repository.
    pub root: PathBuf,
    /// Ends soon: fewer repetitions, long parts left out.
    pub quick: bool,
}

/// What a part found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Its tables.
    pub sections: Vec<Section>,
    /// Its goals.
    pub goals: Vec<Goal>,
}

impl Settings {
    /// A path below the folder in which the bench keeps what it makes.
    #[must_use]
    pub fn folder(&self, inside: &str) -> PathBuf {
        self.root.join("target/bench").join(inside)
    }
}
