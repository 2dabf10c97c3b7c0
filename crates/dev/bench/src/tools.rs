//! Runs other programs and finds or installs them.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The argument that makes the bench a worker.
pub const WORKER: &str = "worker";
/// Time in seconds after which a program is ended because it hangs.
const PATIENCE: u32 = 600;

/// Makes a program end with a signal after this many seconds, even if it hangs.
pub fn limit(command: &mut Command, seconds: u32) -> &mut Command {
    let set = move || {
        // SAFETY: the system call accepts any number. The alarm is kept across `exec`.
        unsafe { libc::alarm(seconds) };
        Ok(())
    };
    // SAFETY: the closure only makes one system call.
    unsafe { command.pre_exec(set) }
}

/// Runs a program and returns its output. The time limit is ten minutes.
///
/// # Errors
///
/// Returns an error if the program cannot be started or fails. The message contains the last line of its output.
pub fn run(command: &mut Command) -> Result<String, String> {
    run_slowly(limit(command, PATIENCE))
}

/// Like [`run`], without a time limit.
///
/// # Errors
///
/// Returns the same errors as [`run`].
pub fn run_slowly(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().display().to_string();
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{program}: {}: {}", output.status, last_line(&output)))
}

/// Returns the last line of a failed program's output.
fn last_line(output: &Output) -> String {
    let text = if output.stderr.is_empty() { &output.stdout } else { &output.stderr };
    let text = String::from_utf8_lossy(text);
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
}

/// Returns a command that runs this program as a worker.
///
/// # Errors
///
/// Returns an error if the path of this program is not known.
pub fn worker_command(words: &[&str]) -> Result<Command, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(own);
    command.arg(WORKER).args(words);
    Ok(command)
}

/// Runs this program as a worker and returns its output.
///
/// # Errors
///
/// Returns an error if it fails or does not print JSON.
pub fn worker(words: &[&str]) -> Result<Value, String> {
    let text = run(&mut worker_command(words)?)?;
    serde_json::from_str(&text).map_err(|error| format!("a worker printed `{}`: {error}", text.trim()))
}

/// Returns a Python with our packages, in its own virtual environment, which is created if it does not exist.
///
/// # Errors
///
/// Returns an error if no Python can create the environment, or if the packages cannot be installed.
pub fn python(dir: &Path, packages: &[&str], import: &str) -> Result<PathBuf, String> {
    let python = dir.join("bin/python");
    let works = |python: &Path| run(Command::new(python).args(["-c", import])).is_ok();
    if works(&python) {
        return Ok(python);
    }
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(dir))?;
    let install = ["-m", "pip", "--quiet", "--disable-pip-version-check", "install"];
    run(Command::new(&python).args(install).args(packages))?;
    run(Command::new(&python).args(["-c", import])).map(|_| python)
}

/// Returns a command that runs cargo in the repository or in a copy of it.
#[must_use]
pub fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // The variable that cargo set for this program does not apply to another workspace.
    command.current_dir(root).env_remove("CARGO_MANIFEST_DIR");
    command
}

/// Returns the maximum memory use of a running process in KiB.
#[must_use]
pub fn peak_kib(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Returns the seconds that the work took.
///
/// # Errors
///
/// Returns the error of the work.
pub fn timed<T>(work: impl FnOnce() -> Result<T, String>) -> Result<f64, String> {
    let started = Instant::now();
    work().map(|_| started.elapsed().as_secs_f64())
}

/// The time that other programs took, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    /// From the start to the end.
    pub wall: f64,
    /// On all processors together, in user and kernel mode. It changes little if the machine has other work.
    pub processor: f64,
}

/// Returns the time of the programs that the work runs and waits for.
///
/// # Errors
///
/// Returns the error of the work.
pub fn spent<T>(work: impl FnOnce() -> Result<T, String>) -> Result<Spent, String> {
    let before = processor_time(Whose::Children);
    let wall = timed(work)?;
    Ok(Spent { wall, processor: processor_time(Whose::Children).saturating_sub(before).as_secs_f64() })
}

/// The processes whose processor time is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// This process.
    Own,
    /// The processes that this process has waited for, and those that they have waited for.
    Children,
}

/// Returns the processor time that processes have taken, in user and kernel mode.
#[must_use]
pub fn processor_time(whose: Whose) -> Duration {
    let who = match whose {
        Whose::Own => libc::RUSAGE_SELF,
        Whose::Children => libc::RUSAGE_CHILDREN,
    };
    // SAFETY: all bytes zero is a valid value of this structure of integers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: there is room for the structure.
    unsafe { libc::getrusage(who, &raw mut usage) };
    let duration = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec.cast_unsigned()) + Duration::from_micros(time.tv_usec.cast_unsigned())
    };
    duration(usage.ru_utime) + duration(usage.ru_stime)
}

/// Returns a number from a worker's output, which must have it.
///
/// # Errors
///
/// Returns an error if the output lacks the number.
pub fn required_number(output: &Value, name: &str) -> Result<f64, String> {
    number(output, name).ok_or_else(|| format!("a worker's output lacks `{name}`"))
}

/// Returns a number from a worker's output.
#[must_use]
pub fn number(output: &Value, name: &str) -> Option<f64> {
    output.get(name)?.as_f64()
}

#[cfg(test)]
mod tests {
    use super::{number, run};
    use serde_json::json;
    use std::process::Command;

    #[test]
    fn a_failure_says_the_last_line() {
        let error = run(Command::new("sh").args(["-c", "echo first >&2; echo last >&2; exit 3"])).unwrap_err();
        assert!(error.contains("last"), "{error}");
        assert!(error.contains('3'), "{error}");
        assert!(!error.contains("first"), "{error}");
        assert!(run(&mut Command::new("no-such-program-here")).unwrap_err().contains("no-such-program-here"));
    }

    #[test]
    fn an_output_may_lack_a_number() {
        assert_eq!(number(&json!({ "a": 2 }), "a"), Some(2.0));
        assert_eq!(number(&json!({ "a": "2" }), "a"), None);
        assert_eq!(number(&json!({}), "a"), None);
    }
}
