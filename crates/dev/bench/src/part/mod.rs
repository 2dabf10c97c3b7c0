//! The measurements, with one module each. A part returns its tables and the goals that they decide.

mod build;
mod calls;
mod decode;
mod devices;
mod engine;
mod export;
mod facades;
mod fuzz;
mod generated;
mod host;
mod images;
mod install;
mod instructions;
mod kmdf;
mod lttng;
mod sample;
mod scale;
mod size;

use std::path::PathBuf;

use crate::report::{Goal, Section};

pub use build::build;
pub use calls::calls;
pub use decode::decode;
pub use devices::devices;
pub(crate) use devices::run_devices;
pub use engine::engine;
pub use export::export;
pub use facades::facades;
pub use fuzz::fuzz;
pub(crate) use fuzz::run_fuzz;
pub use host::{host, setup};
pub use images::Images;
pub use install::install;
pub use instructions::instructions;
pub use kmdf::kmdf;
pub(crate) use lttng::{BUFFER_KIB, BUFFERS};
pub use sample::{image, matrix};
pub(crate) use scale::{run_requests, run_threads};
pub use size::size;

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The repository.
    pub root: PathBuf,
    /// Whether this is a quick run: fewer repetitions, and no long parts.
    pub quick: bool,
    /// A folder with recorded traces, which are decoded and exported as well.
    pub traces: Option<PathBuf>,
}

/// The results of a part.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Its tables.
    pub sections: Vec<Section>,
    /// Its goals.
    pub goals: Vec<Goal>,
}

impl Settings {
    /// Returns a path in the folder for the files that the bench creates.
    #[must_use]
    pub fn scratch(&self, inside: &str) -> PathBuf {
        self.root.join("target/bench").join(inside)
    }
}
