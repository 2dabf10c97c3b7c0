//! Third-party programs that check signatures and scripts.
//!
//! They are looked up and never installed here: `cargo xtask test` installs them. Missing programs are reported on
//! standard error.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::tools;

/// The verdict of a verifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Accepted,
    Refused,
}

/// Runs a verifier whose exit code is its verdict, and returns its output.
pub(crate) fn ask<A: AsRef<OsStr>>(program: &Path, arguments: &[A]) -> (Verdict, String) {
    let output = Command::new(program).args(arguments).output().unwrap();
    let printed = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (if output.status.success() { Verdict::Accepted } else { Verdict::Refused }, printed)
}

/// Returns a program on the path.
pub(crate) fn program(name: &str, probe: &[&str]) -> Option<PathBuf> {
    // Some programs exit with 1 after printing their version.
    match Command::new(name).args(probe).output() {
        Ok(_) => Some(name.into()),
        Err(error) => {
            eprintln!("skipped {name}: {error}");
            None
        }
    }
}

/// Returns the root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap().to_path_buf()
}

/// Returns a Python that can run this script: the one that `cargo xtask test` installs, or the user's.
pub(crate) fn python(script: &str) -> Option<PathBuf> {
    let folder = if cfg!(windows) { "Scripts" } else { "bin" };
    let own = root().join("target/verifiers").join(folder).join("python");
    let pythons = [own, "python3".into()];
    let found = pythons.iter().find(|python| tools::run(python.to_str().unwrap(), &["-c", script]).is_ok());
    if found.is_none() {
        eprintln!("skipped what needs `{script}`: no Python has it; `cargo xtask test` installs it");
    }
    found.cloned()
}

/// Returns the path of a script in the folder of these tests.
pub(crate) fn script(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name).to_str().unwrap().to_owned()
}
