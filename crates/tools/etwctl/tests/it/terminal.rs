//! Output that only a terminal gets: colours, and the meter of the live view.
//!
//! `script` of util-linux gives the command a terminal. Without it, these tests print that they were skipped.

use std::process::{Command, Stdio};

use crate::common::etwctl;

/// Runs the command on a terminal and returns everything that it wrote there.
fn on_terminal(line: &str, environment: &[(&str, &str)]) -> Option<String> {
    if Command::new("script").arg("--version").output().is_err() {
        eprintln!("skipped: there is no `script` (Debian: bsdutils)");
        return None;
    }
    let command = format!("{} {line}", env!("CARGO_BIN_EXE_etwctl"));
    let output = Command::new("script")
        .args(["--quiet", "--return", "--command", &command, "/dev/null"])
        .env_remove("NO_COLOR")
        .env("TERM", "xterm")
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .output()
        .expect("script runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    Some(text)
}

const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const CLEAR: &str = "\r\x1b[K";

#[test]
fn a_live_view_has_colours_and_a_meter() {
    let Some(text) = on_terminal("record --demo", &[]) else { return };
    assert!(text.contains(&format!("{CLEAR}{GREEN}")), "{text:?}");
    assert!(text.contains(" events printed, 0 events and 0 buffers lost, "), "{text:?}");
    assert!(text.contains("(Enter stops)"), "{text:?}");
    let error = text.lines().find(|line| line.contains("ReadFailed")).expect("an error among the events");
    assert!(error.contains(RED), "{error:?}");
    // The meter is cleared before anything else is printed: no event shares a line with it.
    let shares = |line: &str| {
        let visible = line.rsplit(CLEAR).next().unwrap_or_default();
        visible.contains("(Enter stops)") && visible.contains("Etwctl-Demo")
    };
    assert!(!text.lines().any(shares), "{text:?}");
}

#[test]
fn without_colours_the_meter_is_plain() {
    for (line, environment) in [("record --demo", &[("NO_COLOR", "1")][..]), ("record --demo --color never", &[][..])] {
        let Some(text) = on_terminal(line, environment) else { return };
        assert!(!text.contains("\x1b[3") && !text.contains("\x1b[2m") && !text.contains("\x1b[0m"), "{text:?}");
        assert!(text.contains(CLEAR) && text.contains(" events printed, 0 events and 0 buffers lost, "), "{text:?}");
    }
    // An empty NO_COLOR counts as not set.
    let Some(text) = on_terminal("record --demo", &[("NO_COLOR", "")]) else { return };
    assert!(text.contains(GREEN) && text.contains(RED), "{text:?}");
}

#[test]
fn a_pipe_gets_neither_colours_nor_a_meter() {
    let run = etwctl("record --demo");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(
        !run.out.contains('\x1b') && !run.err.contains('\x1b') && !run.err.contains('\r'),
        "{}{}",
        run.out,
        run.err
    );
}
