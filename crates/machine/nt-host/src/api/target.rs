//! A run whose images have been read, so that many processes can be started for it.

use std::path::PathBuf;
use std::sync::Arc;

use nt_machine::{Config, Coverage, GapKind, Guests};

use super::images::ImageFiles;
use crate::{Error, LineCoverage};

/// A run whose images have been read.
#[derive(Clone)]
pub(crate) struct Target {
    pub(super) guests: Guests,
    pub(crate) config: Config,
    pub(super) images: Arc<ImageFiles>,
    pub(super) notes: Vec<String>,
    pub(super) allowed: Vec<GapKind>,
    /// The file for the lines that ran.
    pub(super) coverage_file: Option<PathBuf>,
}

impl Target {
    /// Measures which code of the driver runs, over all processes that are started from now on.
    pub(crate) fn cover(&mut self) -> Result<Coverage, Error> {
        let lines = self.images.driver().symbols.line_starts();
        let coverage = Coverage::new(&self.guests.driver().layout, &lines).map_err(Error::Process)?;
        self.config.coverage = Some(coverage.clone());
        Ok(coverage)
    }

    /// Returns the driver's image as it is in memory.
    pub(crate) fn image(&self) -> &[u8] {
        &self.guests.driver().layout.bytes
    }

    /// Returns which source lines of the driver ran so far.
    pub(crate) fn line_coverage(&self, coverage: &Coverage) -> LineCoverage {
        LineCoverage::new(coverage, &self.images.driver().symbols)
    }
}
