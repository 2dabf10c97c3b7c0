//! Output that only a terminal gets: colours, and the meter of the live view.
//!
//! `script` of util-linux gives the command a terminal. Without it, these tests print that they were skipped.

use std::process::{Command, Stdio};

use crate::common;
use crate::common::etwctl;
use etw_etl::{EventData, ExtendedItem, Writer, WriterOptions};
use etw_types::tracelogging::EventBuilder;
use etw_types::{Channel, EventDescriptor, Keyword, Level};

/// Runs the command on a terminal and returns everything that it wrote there. It must succeed.
fn on_terminal(line: &str, environment: &[(&str, &str)]) -> Option<String> {
    let (code, text) = with_code(line, environment)?;
    assert_eq!(code, Some(0), "{text}");
    Some(text)
}

/// Runs the command on a terminal and returns its exit code and everything that it wrote there.
fn with_code(line: &str, environment: &[(&str, &str)]) -> Option<(Option<i32>, String)> {
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
    Some((output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned()))
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
        assert!(!text.contains("\x1b[3"), "{text:?}");
        assert!(!text.contains("\x1b[2m"), "{text:?}");
        assert!(!text.contains("\x1b[0m"), "{text:?}");
        assert!(text.contains(CLEAR), "{text:?}");
        assert!(text.contains(" events printed, 0 events and 0 buffers lost, "), "{text:?}");
    }
    // An empty NO_COLOR counts as not set.
    let Some(text) = on_terminal("record --demo", &[("NO_COLOR", "")]) else { return };
    assert!(text.contains(GREEN), "{text:?}");
    assert!(text.contains(RED), "{text:?}");
}

/// Names and a text that would change a terminal: an escape sequence, line ends before lines that look like ours, a change of
/// direction. The second name is for CSV, which puts it into quotation marks.
const HOSTILE: &str = "\x1b]0;title\x07\r\nerror: fake\n\u{202e}\u{9b}2J";

#[test]
fn text_of_a_trace_is_harmless_in_every_format() {
    let folder = common::scratch("hostile\nerror: folder");
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("a.etl");
    let mut writer = Writer::create(&path, WriterOptions::default()).expect("a trace");
    let mut metadata = [0; 512];
    let mut payload = [0; 512];
    let name = format!("{HOSTILE},x");
    let event = EventBuilder::new(&mut metadata, &mut payload, &name, 0).str8(HOSTILE, HOSTILE);
    let (metadata, payload) = event.finish().expect("an event");
    let items = ExtendedItem::trace_logging(b"\x0b\x00MyDriver\x00", metadata);
    let descriptor = EventDescriptor::new(Level::Error, Keyword::NONE).with_channel(Channel::TraceLogging);
    let event = EventData { descriptor, items: &items, payload, ..EventData::default() };
    writer.write(0, &event).expect("written");
    writer.add_lost(1, 0);
    writer.close().expect("a trace");
    // The name of the file is hostile, too. A shell variable passes it on.
    for options in ["--table", "--text", "--csv", "--json", "--chrome", "--color=never", "--html"] {
        let environment = [("TRACE", path.to_str().expect("UTF-8"))];
        let Some((code, text)) = with_code(&format!("decode \"$TRACE\" {options}"), &environment) else { return };
        assert_eq!(code, Some(4), "{text:?}");
        assert_harmless(&text, options);
        assert!(text.contains("title"), "the event is shown: {text:?}");
        assert!(text.contains("hostile\\nerror: folder"), "the path is shown: {text:?}");
    }
    for line in ["stats", "stacks", "activities", "doctor MyDriver", "schema"] {
        let environment = [("TRACE", path.to_str().expect("UTF-8"))];
        let Some((_, text)) = with_code(&format!("{line} \"$TRACE\""), &environment) else { return };
        assert_harmless(&text, line);
    }
    std::fs::remove_dir_all(folder).expect("the folder");
}

/// A terminal shows line ends and colours, and executes nothing else.
fn assert_harmless(text: &str, what: &str) {
    let without_colours =
        text.split("\x1b[").map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';'));
    let colours = text.matches("\x1b[").count();
    assert_eq!(without_colours.skip(1).filter(|part| part.starts_with('m')).count(), colours, "{what}: {text:?}");
    assert_eq!(text.matches('\x1b').count(), colours, "{what}: {text:?}");
    let is_bad = |c: char| (c.is_control() && !"\x1b\r\n\t".contains(c)) || c == '\u{202e}';
    assert!(!text.contains(is_bad), "{what}: {text:?}");
    // The terminal itself adds the carriage returns before line ends.
    assert_eq!(text.matches('\r').count(), text.matches("\r\n").count(), "{what}: {text:?}");
    let fake =
        |line: &str| line.trim_start().starts_with("error: fake") || line.trim_start().starts_with("error: folder");
    assert!(!text.lines().any(fake), "{what}: {text:?}");
}

/// The rule of the libraries that write events and the rule of the programs are the same.
#[test]
fn the_same_characters_are_escaped_everywhere() {
    for character in '\0'..=char::MAX {
        let text = format!("a{character}");
        assert_eq!(command_line::escaped(&text), etw_etl::escaped(&text), "{character:?}");
    }
}

#[test]
fn a_pipe_gets_neither_colours_nor_a_meter() {
    let run = etwctl("record --demo");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(!run.out.contains('\x1b'), "{}{}", run.out, run.err);
    assert!(!run.err.contains('\x1b'), "{}{}", run.out, run.err);
    assert!(!run.err.contains('\r'), "{}{}", run.out, run.err);
}
