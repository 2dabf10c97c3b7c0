//! Python environments with third-party packages, for tests that compare our results with theirs.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the interpreter of the virtual environment in `folder`. Creates the environment first if `module` cannot be
/// imported.
///
/// # Errors
///
/// Returns an error if Python is missing, or if the package index cannot be reached within `seconds`.
pub fn python(folder: &Path, module: &str, packages: &[&str], seconds: u32) -> Result<PathBuf, String> {
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if run(Command::new(&python).args(["-c", &format!("import {module}")])).is_err() {
        let host = if cfg!(windows) { "python" } else { "python3" };
        run(Command::new(host).args(["-m", "venv"]).arg(folder))?;
        let install = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries", "0", "--timeout"];
        run(Command::new(&python).args(install).arg(seconds.to_string()).args(packages))?;
    }
    Ok(python)
}

/// Returns the output of a program.
///
/// # Errors
///
/// Returns the program's standard error if it failed, or why it could not be started.
pub fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}
