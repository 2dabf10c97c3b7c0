//! Python environments with packages of others, for tests that ask them for a second opinion.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The interpreter of the virtual environment in `folder`, which is made first if `module` cannot be imported there.
///
/// # Errors
///
/// Why there is none: no Python, or an index that cannot be reached within `seconds`.
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

/// What a program printed.
///
/// # Errors
///
/// What it said on standard error if it failed, or why it could not be started.
pub fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}
