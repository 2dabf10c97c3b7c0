//! What is different on Windows: paths, names of devices, lines that end with CR LF, read-only files, and the console.

use std::fs;
use std::path::{Path, PathBuf, absolute};
use std::process::{Command, Output};

use crate::common::Run;
use etw_etl::{EventData, ExtendedItem, Writer, WriterOptions};
use etw_types::tracelogging::EventBuilder;
use etw_types::{Channel, EventDescriptor, Guid, Keyword, Level};

/// A text that no code page of a console for western Europe has.
const TEXT: &str = "Grüße, Ωμέγα, 日本";

/// A new folder on a path with a drive, a space and letters beyond ASCII.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("etwctl {name} Ω"));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    absolute(path).unwrap()
}

/// Writes a trace with one event.
fn trace(path: &Path) {
    let mut metadata = [0; 64];
    let mut payload = [0; 64];
    let builder = EventBuilder::new(&mut metadata, &mut payload, "Greeting", 0).str8("Text", TEXT);
    let (metadata, payload) = builder.finish().unwrap();
    let items = ExtendedItem::trace_logging(b"\x0b\x00MyDriver\x00", metadata);
    let level = EventDescriptor::new(Level::Informational, Keyword::from_bits(1));
    let descriptor = level.with_channel(Channel::TraceLogging);
    let provider = Guid::from_name("MyDriver");
    let event = EventData { provider, descriptor, items: &items, payload, ..EventData::default() };
    let mut writer = Writer::create(path, WriterOptions::default()).unwrap();
    writer.write(0, &event).unwrap();
    writer.close().unwrap();
}

fn program(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_etwctl"));
    command.current_dir(dir);
    command
}

/// Decodes a trace. The path is an argument of its own, so that it may have spaces.
fn decode(dir: &Path, path: &str, options: &[&str]) -> Run {
    let output: Output = program(dir).args(["decode", path, "--json"]).args(options).output().unwrap();
    output.into()
}

fn assert_decoded(run: &Run, what: &str) {
    assert_eq!(run.code, 0, "{what}: {}", run.err);
    assert!(run.out.contains("\"Greeting\""), "{what}: {}", run.out);
    assert!(run.out.contains(TEXT), "{what}: {}", run.out);
}

/// Returns the names of the files in a folder.
fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}

#[test]
fn a_trace_has_every_kind_of_path() {
    let dir = folder("paths");
    trace(&dir.join("my trace.etl"));
    let path = dir.join("my trace.etl");
    let path = path.to_str().unwrap();
    let (drive, rest) = path.split_at(2);
    assert!(drive.ends_with(':'), "{path} has no drive");
    for given in [
        path.to_owned(),
        path.replace('\\', "/"),
        path.to_uppercase().replace("MY TRACE.ETL", "my trace.etl"),
        rest.to_owned(),
        format!("{drive}my trace.etl"),
        format!(r"\\?\{path}"),
        format!(r"\\.\{path}"),
        String::from("my trace.etl"),
        String::from(r".\my trace.etl"),
        String::from(r"..\etwctl paths Ω\my trace.etl"),
    ] {
        assert_decoded(&decode(&dir, &given, &[]), &given);
    }
}

#[test]
fn a_missing_path_is_named_as_it_was_given() {
    let dir = folder("missing");
    for given in [r"C:\no such folder\a.etl", r"missing folder\a.etl", r"\\?\C:\missing.etl", "C:missing.etl"] {
        let run = decode(&dir, given, &[]);
        assert_eq!(run.code, 2, "{given}: {}", run.err);
        assert!(run.err.contains(given), "{given}: {}", run.err);
    }
    assert_eq!(names(&dir), [""; 0]);
}

#[test]
fn a_path_longer_than_the_old_limit_is_read_and_written() {
    let dir = folder("long");
    let deep = dir.join("d".repeat(120)).join("e".repeat(120));
    fs::create_dir_all(&deep).unwrap();
    let path = deep.join("trace.etl");
    assert!(path.as_os_str().len() > 260);
    trace(&path);
    let path = path.to_str().unwrap();
    assert_decoded(&decode(&dir, path, &[]), path);
    let output = deep.join("events.jsonl");
    let run = decode(&dir, path, &["--output", output.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(fs::read_to_string(output).unwrap().contains(TEXT));
}

#[test]
fn the_null_device_takes_an_output_and_leaves_no_file() {
    let dir = folder("devices");
    trace(&dir.join("a.etl"));
    for device in ["nul", "NUL", r"\\.\NUL"] {
        let run = decode(&dir, "a.etl", &["--output", device]);
        assert_eq!(run.code, 0, "{device}: {}", run.err);
        assert_eq!(names(&dir), ["a.etl"], "{device}");
    }
}

#[test]
fn a_read_only_file_is_replaced_completely_or_not_at_all() {
    let dir = folder("read-only");
    trace(&dir.join("a.etl"));
    let target = dir.join("events.jsonl");
    fs::write(&target, "old").unwrap();
    let mut permissions = fs::metadata(&target).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&target, permissions).unwrap();
    let run = decode(&dir, "a.etl", &["--output", "events.jsonl"]);
    let content = fs::read_to_string(&target).unwrap();
    if run.code == 0 {
        assert!(content.contains(TEXT), "{content}");
    } else {
        assert_eq!(content, "old");
        assert!(run.err.contains("events.jsonl"), "{}", run.err);
    }
    assert_eq!(names(&dir), ["a.etl", "events.jsonl"]);
}

#[test]
fn an_output_is_recognised_as_the_input_in_any_case() {
    let dir = folder("same");
    trace(&dir.join("a.etl"));
    let before = fs::read(dir.join("a.etl")).unwrap();
    for given in ["A.ETL", r".\a.etl", r"..\etwctl same Ω\a.etl"] {
        let run = decode(&dir, "a.etl", &["--output", given]);
        assert_eq!(run.code, 2, "{given}: {}", run.err);
        assert_eq!(fs::read(dir.join("a.etl")).unwrap(), before, "{given}");
    }
}

#[test]
fn a_code_page_of_the_console_does_not_change_redirected_text() {
    let dir = folder("code-page");
    trace(&dir.join("a.etl"));
    for code_page in ["437", "850", "1252", "65001"] {
        let line = format!("chcp {code_page} >nul & \"{}\" decode a.etl --json", env!("CARGO_BIN_EXE_etwctl"));
        let mut cmd = Command::new("cmd.exe");
        std::os::windows::process::CommandExt::raw_arg(&mut cmd, format!("/d /s /c \"{line}\""));
        let run = Run::from(cmd.current_dir(&dir).output().unwrap());
        assert_decoded(&run, code_page);
    }
}

#[test]
fn a_manifest_with_lines_of_windows_is_the_same_manifest() {
    let dir = folder("lines");
    trace(&dir.join("a.etl"));
    let manifest = include_str!("../../../../../driver-sample/driver_sample.man").replace("\r\n", "\n");
    fs::write(dir.join("unix.man"), &manifest).unwrap();
    fs::write(dir.join("windows.man"), manifest.replace('\n', "\r\n")).unwrap();
    let unix = decode(&dir, "a.etl", &["--manifest", "unix.man"]);
    let windows = decode(&dir, "a.etl", &["--manifest", "windows.man"]);
    assert_decoded(&unix, "LF");
    assert_eq!(windows.out, unix.out);
    assert_eq!(windows.err, unix.err);
}
