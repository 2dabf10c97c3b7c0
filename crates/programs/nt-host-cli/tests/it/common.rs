//! Runs the program.

use std::path::Path;
use std::process::Command;

/// Runs `nt-host run` with a driver. Returns the exit code and everything that it prints.
pub(crate) fn run(driver: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_nt-host")).arg("run").arg(driver).args(arguments).output();
    let output = output.expect("the command");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}
