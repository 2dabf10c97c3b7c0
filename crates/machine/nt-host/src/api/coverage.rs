//! The files with the lines that ran, each merged over the hosts of this process.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use etw_etl::NewFile;

use crate::{Error, LineCoverage};

/// The environment variable that names a folder for builders without a file.
const VARIABLE: &str = "NT_HOST_COVERAGE";

/// The lines in each file that this process has written.
static WRITTEN: Mutex<BTreeMap<PathBuf, LineCoverage>> = Mutex::new(BTreeMap::new());

/// Returns the file of this process in the folder that the environment names.
pub(super) fn file_of_process() -> Option<PathBuf> {
    let dir = std::env::var_os(VARIABLE).filter(|dir| !dir.is_empty())?;
    let program = std::env::current_exe().ok();
    let program = program.as_deref().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    Some(Path::new(&dir).join(format!("{program}-{}.info", std::process::id())))
}

/// Fails if a file cannot be created there.
#[expect(
    clippy::disallowed_methods,
    reason = "the caller chooses the file; the command passes an output that it checked"
)]
pub(super) fn check(path: &Path) -> Result<(), Error> {
    // The new file is dropped at once.
    NewFile::create(path).map(drop).map_err(|error| Error::Usage(error.to_string()))
}

/// A file for the lines that ran.
pub(crate) struct CoverageFile {
    path: PathBuf,
    is_written: AtomicBool,
}

impl CoverageFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, is_written: AtomicBool::new(false) }
    }

    /// Adds the lines of a host that has ended. Later calls have no effect, and neither has a driver without lines.
    pub(super) fn add(&self, lines: impl FnOnce() -> LineCoverage) -> io::Result<()> {
        if self.is_written.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        let lines = lines();
        if lines.is_empty() {
            return Ok(());
        }
        let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
        let all = written.entry(self.path.clone()).or_default();
        all.merge(&lines);
        all.write(&self.path)
    }
}
