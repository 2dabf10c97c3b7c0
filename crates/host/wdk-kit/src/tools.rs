//! Finds and runs the programs that make libraries: clang, llvm-dlltool, llvm-lib.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::Error;

/// Proof that all three programs exist.
pub(crate) struct Tools(());

impl Tools {
    /// Looks in `PATH`. The error has the names of the missing programs.
    pub(crate) fn find() -> Result<Self, Vec<&'static str>> {
        let missing: Vec<_> = ["clang", "llvm-dlltool", "llvm-lib"].into_iter().filter(|name| !exists(name)).collect();
        if missing.is_empty() { Ok(Self(())) } else { Err(missing) }
    }

    /// Runs one of the programs. If it fails, its output is the error.
    #[expect(clippy::unused_self, reason = "the value is the proof that the tools exist")]
    pub(crate) fn run(&self, name: &str, arguments: &[&OsStr]) -> Result<(), Error> {
        let failed = |reason: String| Error::Program { command: format!("{name} {arguments:?}"), reason };
        let output = Command::new(name).args(arguments).output().map_err(|error| failed(error.to_string()))?;
        if output.status.success() {
            return Ok(());
        }
        Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    }
}

#[cfg(unix)]
pub(crate) fn make_link(real: &Path, link: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(real, link)
}

#[cfg(not(unix))]
pub(crate) fn make_link(real: &Path, link: &Path) -> std::io::Result<()> {
    std::fs::copy(real, link).map(drop)
}

/// Whether a program can be started. Its exit code is ignored, because llvm-dlltool has no flag that succeeds without other arguments.
fn exists(name: &str) -> bool {
    Command::new(name)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok()
}
