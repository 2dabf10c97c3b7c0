//! The programs that make libraries: clang, llvm-dlltool, llvm-lib.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use crate::Error;

/// All three are there.
pub(crate) struct Tools(());

impl Tools {
    /// Looks in `PATH`; the error lists what is missing.
    pub(crate) fn find() -> Result<Self, Vec<&'static str>> {
        let missing: Vec<_> = ["clang", "llvm-dlltool", "llvm-lib"].into_iter().filter(|name| !exists(name)).collect();
        if missing.is_empty() { Ok(Self(())) } else { Err(missing) }
    }

    /// Runs one of them; its output is the error when it fails.
    #[expect(clippy::unused_self, reason = "the value is the proof that the tools exist")]
    pub(crate) fn run(&self, name: &str, arguments: &[&OsStr]) -> Result<(), Error> {
        let output = Command::new(name).args(arguments).output().map_err(|error| Error(format!("{name}: {error}")))?;
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr);
        Err(Error(format!("{name} {arguments:?} failed: {}", text.trim())))
    }
}

/// Any answer will do: llvm-dlltool has no flag that merely asks it whether it is there.
fn exists(name: &str) -> bool {
    Command::new(name)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok()
}
