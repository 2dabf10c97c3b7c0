//! Finds and runs the programs that make libraries: clang, llvm-dlltool, llvm-lib.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::Error;

/// The search path on which all three programs exist; `None` is `PATH`.
pub(crate) struct Tools(Option<OsString>);

impl Tools {
    /// Looks for the programs. The error has the names of the missing ones.
    pub(crate) fn find(path: Option<&OsStr>) -> Result<Self, Vec<&'static str>> {
        let tools = Self(path.map(OsStr::to_owned));
        let missing: Vec<_> =
            ["clang", "llvm-dlltool", "llvm-lib"].into_iter().filter(|name| !tools.has(name)).collect();
        if missing.is_empty() { Ok(tools) } else { Err(missing) }
    }

    /// Runs one of the programs. If it fails, its output is the error.
    pub(crate) fn run(&self, name: &str, arguments: &[&OsStr]) -> Result<(), Error> {
        let failed = |reason: String| Error::Program { command: format!("{name} {arguments:?}"), reason };
        let output = self.command(name).args(arguments).output().map_err(|error| failed(error.to_string()))?;
        if output.status.success() {
            return Ok(());
        }
        Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    }

    /// Whether a program can be started. Its exit code is ignored, because llvm-dlltool has no flag that succeeds without other arguments.
    fn has(&self, name: &str) -> bool {
        let mut command = self.command(name);
        command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.envs(self.0.iter().map(|path| ("PATH", path)));
        command
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
