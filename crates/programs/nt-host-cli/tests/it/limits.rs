//! Limits of time and of debug output, and output that nobody reads.

use std::process::{Command, Stdio};

use test_support::drivers::c::{build, build_with};

use crate::common::run;

/// The text that `wdm_print` prints first, in UTF-8.
const GREETING: &str = "Grüße 日本\n";

#[test]
fn by_command_a_hang_names_the_thread_and_the_line_and_ends_with_3() {
    let image = build("wdm_limits", 0, "DriverEntry", &["ntoskrnl"]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_nt-host"));
    let output = command.arg("run").arg(&image).args(["--timeout", "2s", "--ioctl", "222010"]).output();
    let output = output.expect("the command");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{text}");
    let finding = text.lines().find(|line| line.contains("hang")).unwrap_or_default();
    assert!(finding.contains("DPC does not return (thread 2)"), "{text}");
    let source = include_str!("../../../../machine/nt-host/drivers/c/wdm_limits.c");
    let spins = (1..).zip(source.lines()).skip_while(|(_, line)| !line.contains("/* spin */")).take(2);
    let mut places = spins.map(|(number, _)| format!("wdm_limits.c:{number}"));
    assert!(places.any(|place| text.contains(&place)), "{text}");
}

/// A request that waits in a queue would otherwise be a hang of the driver.
#[test]
fn in_real_time_a_client_that_waits_longer_than_the_limit_is_refused() {
    let driver = build("wdm_cover", 0, "DriverEntry", &["ntoskrnl"]);
    let (code, text) = run(&driver, &["--real-time", "--cancel-after", "60s"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("canceled after 60s (--cancel-after)"), "{text}");
    assert!(text.contains("ends after 20s (--timeout)"), "{text}");
    let (code, text) = run(&driver, &["--real-time", "--cancel-after", "60s", "--timeout", "90s", "--advance", "0s"]);
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = run(&driver, &["--cancel-after", "60s"]);
    assert_eq!(code, Some(0), "waits are skipped: {text}");
}

#[test]
fn events_that_were_lost_make_a_run_incomplete() {
    let flags = ["-O1", "-DCOUNT=3", "-DSIZE=65500"];
    let image = build_with(&flags, "wdm_flood", 0, "DriverEntry", &["ntoskrnl"]);
    let (code, text) = run(&image, &[]);
    assert_eq!(code, Some(4), "{text}");
    assert!(text.contains("lost 3 events"), "{text}");
    assert!(text.contains("incomplete"), "{text}");
}

#[test]
fn dropped_debug_output_is_counted_in_every_report() {
    let flags = ["-O0", "-DLINK=0", "-DCOUNT=1000"];
    let image = build_with(&flags, "wdm_print", 0, "DriverEntry", &["ntoskrnl"]);
    let run = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nt-host"));
        let output = command.arg("run").arg(&image).args(["--debug-output-limit", "2KiB"]).args(more).output();
        let output = output.expect("a run");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let dropped = GREETING.len() + 1000 * 100 - 2048;
    let (code, text) = run(&[]);
    assert_eq!(code, Some(4), "{text}");
    assert!(text.contains("debug output\n  | Grüße 日本\n  | 000"), "{text}");
    let remark =
        format!("dropped {dropped} bytes of debug output after the first 2048; --debug-output-limit SIZE keeps more");
    assert!(text.contains(&remark), "{text}");
    assert!(text.contains(&format!("incomplete: lost {dropped} bytes of debug output (")), "{text}");
    let (code, text) = run(&["--json"]);
    assert_eq!(code, Some(4), "{text}");
    assert!(text.contains(&format!("\"output_dropped\":{dropped}}}")), "{text}");
    assert!(text.contains(&format!("\"outcome\":\"incomplete: lost {dropped} bytes of debug output\"")), "{text}");

    let mut matrix = Command::new(env!("CARGO_BIN_EXE_nt-host"));
    let matrix = matrix.arg("matrix").arg(&image).args(["--seed", "1", "--debug-output-limit", "1KiB"]);
    let output = matrix.output().expect("a matrix");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(4), "{text}");
    let dropped = GREETING.len() + 1000 * 100 - 1024;
    assert!(text.contains(&format!("seed 1: incomplete: lost {dropped} bytes of debug output\n")), "{text}");
}

/// A verdict that nobody can have read in full is not clean.
#[test]
fn a_closed_standard_output_is_an_error() {
    let driver = build("wdm_cover", 0, "DriverEntry", &["ntoskrnl"]);
    let run = |output: &str| {
        let program = env!("CARGO_BIN_EXE_nt-host");
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("\"$0\" run \"$1\" {output}"), program]).arg(&driver);
        let output = shell.stdout(Stdio::null()).output().expect("the shell");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, error) = run(">&-");
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("standard output is closed"), "{error}");
    let (code, error) = run("> /dev/full");
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("No space left on device"), "{error}");
    let (code, error) = run("> /dev/null");
    assert_eq!(code, Some(0), "{error}");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let unread = Command::new(env!("CARGO_BIN_EXE_nt-host")).arg("run").arg(&driver).stdout(writer).status();
    assert_eq!(unread.expect("the command").code(), Some(2), "the reader has closed the pipe");
}
