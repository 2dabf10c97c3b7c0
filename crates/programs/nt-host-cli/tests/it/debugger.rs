//! A run waits for a debugger, and the debugger knows the driver's lines and variables.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use test_support::drivers::c;

/// A run that waits, and the command that it printed.
fn waiting() -> (Child, String) {
    let image = c::build("kmdf", 0, "FxDriverEntry", &c::FRAMEWORK);
    let mut run = Command::new(env!("CARGO_BIN_EXE_nt-host"));
    run.args(["run", "--debug"]).arg(image).args(["--ioctl", "222000:0102"]);
    let mut run = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a run");
    let mut lines = BufReader::new(run.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
    let line = lines.find(|line| line.starts_with("lldb")).expect("a command");
    // Nobody else reads the pipe.
    std::thread::spawn(move || lines.for_each(drop));
    (run, line)
}

/// Runs a debugger to its end. Returns what it printed, or `None` if it is not installed or may not attach.
fn debug(line: &str) -> Option<String> {
    let output = Command::new("sh").args(["-c", line]).stdin(Stdio::null()).output().expect("a shell");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let cannot = ["not found", "Operation not permitted", "not permitted", "attach failed"];
    if let Some(reason) = cannot.iter().find(|reason| text.contains(**reason)) {
        eprintln!("skipped: {reason}: {line}");
        return None;
    }
    Some(text)
}

/// The output of a run that a debugger has left.
fn finished(run: Child) -> String {
    let output = run.wait_with_output().expect("the run");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}");
    text
}

/// The driver's process is stopped while a debugger attaches, so it goes on when the debugger continues it.
#[test]
fn a_run_goes_on_when_a_debugger_continues_it() {
    let (mut run, line) = waiting();
    let process = line.split(' ').nth(2).expect("a process");
    assert!(run.try_wait().expect("a state").is_none(), "it waits");
    let signals = "handle SIGSEGV SIGBUS SIGILL SIGFPE SIGSYS SIGUSR1 SIGUSR2 nostop noprint pass";
    if debug(&format!("gdb -nx -q -batch -p {process} -ex '{signals}' -ex continue")).is_none() {
        run.kill().expect("the run");
        return;
    }
    assert!(finished(run).contains("no findings"));
}

#[test]
fn a_debugger_stops_at_a_line_and_prints_a_variable() {
    let (mut run, line) = waiting();
    let version = line.split(' ').next().and_then(|name| name.strip_prefix("lldb-")?.parse::<u32>().ok());
    let source = c::source("kmdf");
    let text = std::fs::read_to_string(&source).expect("the driver");
    let source = source.display();
    let number = 1 + text.lines().position(|line| line.contains("*(ULONG *)buffer = sum;")).expect("a line");
    let more = format!(
        " --no-lldbinit --batch -o 'breakpoint set -f {source} -l {number}' -o continue -o bt -o 'frame variable' -o detach"
    );
    // Older ones cannot read every PDB.
    let text = version.filter(|version| *version >= 19).and_then(|_| debug(&format!("{line}{more}")));
    let Some(text) = text else {
        eprintln!("skipped: LLDB 19 or later is not installed or may not attach");
        run.kill().expect("the run");
        return;
    };
    for part in ["stop reason = breakpoint", &format!("kmdf.c:{number}"), "sum = 3"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(finished(run).contains("no findings"));
}
