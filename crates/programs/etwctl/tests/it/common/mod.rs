//! Runs the command, and names temporary files.
#![allow(dead_code, reason = "on Windows only a part is used")]

pub(crate) mod kernel;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// The exit code and the output of a run.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Runs the command with the words of a line.
pub(crate) fn etwctl(line: &str) -> Run {
    etwctl_with(line, "")
}

/// Runs the command with standard input.
pub(crate) fn etwctl_with(line: &str, input: &str) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_etwctl"))
        .args(line.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    // An error is ignored: a command that does not read its input may have ended already.
    let _ = child.stdin.take().expect("its input is ours").write_all(input.as_bytes());
    child.wait_with_output().expect("the command ends").into()
}

/// Runs the command with files that cannot grow beyond this many buffers of 64 KiB, as on a full disk.
#[cfg(unix)]
pub(crate) fn etwctl_limited(line: &str, buffers: u32) -> Run {
    // The unit of the limit is 512 bytes.
    let script = format!("trap '' XFSZ; ulimit -f {}; exec \"$0\" \"$@\"", buffers * 128);
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_etwctl")]).args(line.split_whitespace()).stdin(Stdio::null());
    shell.output().expect("the command runs").into()
}

/// The path of a temporary file of this test process.
pub(crate) fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()))
}

/// The rows that a command prints with `--json`.
pub(crate) fn rows(line: &str) -> serde_json::Value {
    let run = etwctl(line);
    assert_eq!(run.code, 0, "{line}: {}", run.err);
    serde_json::from_str::<serde_json::Value>(&run.out).unwrap()["rows"].clone()
}

/// Records the demonstration provider to a file.
pub(crate) fn demo_trace(name: &str) -> PathBuf {
    let path = scratch(name);
    let run = etwctl(&format!("record --demo --etl {}", path.display()));
    assert_eq!(run.code, 0, "{}", run.err);
    path
}
