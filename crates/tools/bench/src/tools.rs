//! Other programs: run, and where they can be had.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::worker;

/// Seconds after which a program that is measured or asked is ended: it waits for something that does not come.
const PATIENCE: u32 = 600;

/// Ends a program with a signal once so many seconds have passed, wherever it hangs.
pub fn limit(command: &mut Command, seconds: u32) -> &mut Command {
    let set = move || {
        // SAFETY: a system call that takes any number. The alarm stays with the process over `exec`.
        unsafe { libc::alarm(seconds) };
        Ok(())
    };
    // SAFETY: the closure makes one system call and touches nothing else.
    unsafe { command.pre_exec(set) }
}

/// Runs a program to its end, within ten minutes; returns what it printed.
///
/// # Errors
///
/// When it cannot be started or fails; the last line of what it said is part of the message.
pub fn run(command: &mut Command) -> Result<String, String> {
    run_slowly(limit(command, PATIENCE))
}

/// The same for a program that may take as long as it likes.
///
/// # Errors
///
/// As for [`run`].
pub fn run_slowly(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().display().to_string();
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{program}: {}: {}", output.status, said(&output)))
}

/// The last line that a failed program said.
fn said(output: &Output) -> String {
    let text = if output.stderr.is_empty() { &output.stdout } else { &output.stderr };
    let text = String::from_utf8_lossy(text);
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
}

/// This program as a worker.
///
/// # Errors
///
/// When this program does not know where it is.
pub fn worker_command(words: &[&str]) -> Result<Command, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(own);
    command.arg(worker::WORD).args(words);
    Ok(command)
}

/// Runs this program as a worker; returns what it printed.
///
/// # Errors
///
/// When it fails, or prints no JSON.
pub fn worker(words: &[&str]) -> Result<Value, String> {
    let text = run(&mut worker_command(words)?)?;
    serde_json::from_str(&text).map_err(|error| format!("a worker answered `{}`: {error}", text.trim()))
}

/// A Python with packages of our own, out of the user's way; made where it is not there yet.
///
/// # Errors
///
/// When there is no Python that can make it, or the packages cannot be had.
pub fn python(folder: &Path, packages: &[&str], import: &str) -> Result<PathBuf, String> {
    let python = folder.join("bin/python");
    let works = |python: &Path| run(Command::new(python).args(["-c", import])).is_ok();
    if works(&python) {
        return Ok(python);
    }
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder))?;
    let install = ["-m", "pip", "--quiet", "--disable-pip-version-check", "install"];
    run(Command::new(&python).args(install).args(packages))?;
    run(Command::new(&python).args(["-c", import])).map(|_| python)
}

/// A number of a worker's answer.
#[must_use]
pub fn number(answer: &Value, name: &str) -> Option<f64> {
    answer.get(name)?.as_f64()
}

#[cfg(test)]
mod tests {
    use super::{number, run};
    use serde_json::json;
    use std::process::Command;

    #[test]
    fn a_failure_says_the_last_line() {
        let error = run(Command::new("sh").args(["-c", "echo first >&2; echo last >&2; exit 3"])).unwrap_err();
        assert!(error.contains("last") && error.contains('3') && !error.contains("first"), "{error}");
        assert!(run(&mut Command::new("no-such-program-here")).unwrap_err().contains("no-such-program-here"));
    }

    #[test]
    fn answers_may_lack_a_number() {
        assert_eq!(number(&json!({ "a": 2 }), "a"), Some(2.0));
        assert_eq!(number(&json!({ "a": "2" }), "a"), None);
        assert_eq!(number(&json!({}), "a"), None);
    }
}
