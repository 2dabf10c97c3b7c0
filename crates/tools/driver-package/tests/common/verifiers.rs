//! Programs of other people that check signatures and scripts.
//!
//! They are found, never installed: `cargo xtask test` does that. What is not there is named on standard error.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::tools;

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Accepted,
    Refused,
}

/// Runs a verifier whose exit code is its verdict, and says what it said.
pub(crate) fn ask<A: AsRef<OsStr>>(program: &Path, arguments: &[A]) -> (Verdict, String) {
    let output = Command::new(program).args(arguments).output().unwrap();
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (if output.status.success() { Verdict::Accepted } else { Verdict::Refused }, said)
}

/// A program on the path.
pub(crate) fn program(name: &str, probe: &[&str]) -> Option<PathBuf> {
    // Some end with 1 after saying their version.
    match Command::new(name).args(probe).output() {
        Ok(_) => Some(name.into()),
        Err(error) => {
            eprintln!("skipped {name}: {error}");
            None
        }
    }
}

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap().to_path_buf()
}

/// A Python that has a module: that of `cargo xtask test`, or the user's.
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

/// Runs a script of this folder with a module that it needs.
pub(crate) fn script(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name).to_str().unwrap().to_owned()
}
