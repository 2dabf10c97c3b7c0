//! `--driver` on systems that cannot run drivers: everything but Linux on x86-64.

use std::path::{Path, PathBuf};

use etw_session::Machine;
use windows_releases::Release;

use super::{Outcome, Plan};
use crate::failure::Failure;

/// A driver to run. This system cannot run one, so the type has no values.
#[derive(Debug)]
pub(crate) enum Driver {}

impl Driver {
    /// Always fails.
    pub(crate) fn prepare(_path: &Path, _os: Option<Release>) -> Result<Self, Failure> {
        let reason =
            "--driver is for Linux on x86-64, where nt-host runs the driver; here, load the driver and omit --driver";
        Err(Failure::Unsupported(reason.to_owned()))
    }

    /// The ETW that the driver writes to.
    pub(crate) const fn machine(&self) -> &Machine {
        match *self {}
    }

    /// The files that the run reads.
    pub(crate) const fn files(&self) -> Vec<PathBuf> {
        match *self {}
    }

    /// Starts the thread that runs the driver.
    pub(crate) const fn start(&mut self, _plan: Plan) {
        match *self {}
    }

    /// Whether the run is over.
    pub(crate) const fn is_finished(&self) -> bool {
        match *self {}
    }

    /// Ends the run and returns what happened.
    pub(crate) const fn finish(self) -> Outcome {
        match self {}
    }
}
