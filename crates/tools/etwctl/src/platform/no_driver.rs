//! Drivers are run on Linux only.

use std::path::Path;

use etw_session::Machine;
use windows_releases::Release;

use super::{Outcome, Plan};
use crate::context::Failure;

/// A driver to be run: not here, so there is no value of this type.
#[derive(Debug)]
pub(crate) enum Driver {}

impl Driver {
    /// Not here.
    pub(crate) fn prepare(_path: &Path, _os: Option<Release>) -> Result<Self, Failure> {
        let reason =
            "--driver is for Linux on x86-64, where nt-host runs the driver; here, load it and record it without";
        Err(Failure::Usage(reason.to_owned()))
    }

    /// The ETW that the driver writes to.
    pub(crate) const fn machine(&self) -> &Machine {
        match *self {}
    }

    /// Begins to run it.
    pub(crate) const fn start(&mut self, _plan: Plan) {
        match *self {}
    }

    /// Whether it has been unloaded.
    pub(crate) const fn is_finished(&self) -> bool {
        match *self {}
    }

    /// Has it unloaded and says what became of it.
    pub(crate) const fn finish(self) -> Outcome {
        match self {}
    }
}
