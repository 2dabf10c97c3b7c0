//! Runs the demo as a user does, on the sample driver that `cargo xtask build` made.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use etw_etl::{Event, Reader};
use serde_json::Value;

/// The release that the demo emulates by default.
const NEWEST: &str = "win11-24h2";

pub(crate) fn image() -> PathBuf {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).expect("the repository");
    let path = repository.join("target/driver/x64/driver_sample.sys");
    assert!(path.is_file(), "{} is not there: run `cargo xtask build` first", path.display());
    path
}

/// Returns a command that runs the demo.
pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_nt-host-demo"))
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("demo").join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn run(image: &Path, output: &Path, release: &str) -> Output {
    program().args([image, output, release.as_ref()]).output().expect("the demo")
}

/// Returns the words of the line of standard output whose first word is `start`.
fn line<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines.into_iter().find(|words| words.first() == Some(&start)).unwrap_or_else(|| panic!("no {start} in\n{text}"))
}

#[test]
fn the_statuses_the_events_and_the_files_are_there() {
    let folder = folder("newest");
    let output = run(&image(), &folder, NEWEST);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for name in
        ["Register", "SetTraits", "UseDescriptorType", "TrackBinary", "AdminRegister", "AdminTrackBinary", "Status"]
    {
        assert_eq!(line(&text, name)[1..3], ["0x00000000", "STATUS_SUCCESS"], "{name}");
    }
    for status in ["STATUS_BUFFER_TOO_SMALL", "STATUS_INVALID_PARAMETER", "STATUS_INVALID_DEVICE_REQUEST"] {
        assert!(text.lines().any(|line| line.contains("0x0022") && line.contains(status)), "{status}\n{text}");
    }
    assert!(text.contains("kept every rule"), "{text}");
    assert!(text.contains(" 0 lost"), "{text}");

    let reader = Reader::open(folder.join("demo.etl")).expect("a trace");
    assert!(reader.report().is_whole());
    let names: Vec<String> = reader.filter(Event::is_trace_logging).filter_map(|event| event.decode().event).collect();
    assert_eq!(names.first().map(String::as_str), Some("Enable"));
    assert_eq!(names.last().map(String::as_str), Some("DriverUnload"));
    for (name, least) in [("DriverEntry", 1), ("Request", 16), ("RequestRefused", 3), ("DeviceState", 1)] {
        assert!(names.iter().filter(|found| *found == name).count() >= least, "{name}: {names:?}");
    }
    assert!(text.contains(&format!("{0} events in", names.len())), "the summary counts others than {}", names.len());
    assert!(text.contains(&format!("{} of them came live", names.len())), "{text}");

    let json = fs::read_to_string(folder.join("demo.json")).expect("JSON Lines");
    let events: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let shown: Vec<&str> = events.iter().filter_map(|event| event["event"].as_str()).collect();
    assert_eq!(shown, names);
    let names_a_line = |frame: &Value| frame.as_str().is_some_and(|frame| frame.contains("queue.rs:"));
    assert!(
        events.iter().any(|event| event["frames"].as_array().is_some_and(|frames| frames.iter().any(names_a_line)))
    );
    let html = fs::read_to_string(folder.join("demo.html")).expect("a page");
    assert!(html.starts_with("<!doctype html>"));
    assert!(html.trim_end().ends_with("</html>"));
    assert!(html.contains("\"RequestRefused\""));
    let mut left: Vec<_> =
        fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("a file").file_name()).collect();
    left.sort();
    assert_eq!(left, ["demo.etl", "demo.html", "demo.json"], "and nothing else");
}

#[test]
fn the_oldest_windows_that_loads_the_sample_shows_the_same() {
    let output = run(&image(), &folder("win10-1803"), "win10-1803");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("run by nt-host as on win10-1803"), "{text}");
    for name in ["Register", "SetTraits", "Status"] {
        assert_eq!(line(&text, name)[1..3], ["0x00000000", "STATUS_SUCCESS"], "{name}");
    }
    assert!(text.contains("DriverUnload"), "{text}");
    assert!(text.contains("kept every rule"), "{text}");
}

#[test]
fn a_windows_that_does_not_load_the_sample_is_named_with_the_reason() {
    let output = run(&image(), &folder("win7"), "win7");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("needs KMDF 1.25 or later, win7 has KMDF 1.9"), "{text}");
}

#[test]
fn wrong_paths_and_an_unknown_release_are_errors() {
    let file = folder("file");
    fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    fs::write(&file, "not a folder").expect("a file");
    let output = run(&image(), &file, NEWEST);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: cannot write to"), "{output:?}");

    let output = run(Path::new("nothing.sys"), &folder("nothing"), NEWEST);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing.sys"), "{output:?}");

    let output = run(&image(), &folder("vista"), "vista");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("unknown Windows release `vista`"), "{output:?}");

    let output = program().arg(image()).output().expect("the demo");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("FILE.sys, FOLDER and RELEASE"), "{output:?}");
}

#[test]
fn a_full_disk_has_the_exit_code_of_files_that_cannot_be_written() {
    let folder = folder("full");
    // No file can have any content, which the engine reports like a full disk.
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\""]).arg(program().get_program());
    let output = shell.arg(image()).arg(&folder).arg(NEWEST).output().expect("the demo");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("DISK_FULL"), "{text}");
}

#[test]
fn output_that_is_lost_is_an_error() {
    let full = fs::File::options().write(true).open("/dev/full").expect("/dev/full");
    let mut command = program();
    let demo = command.arg(image()).arg(folder("unshown")).arg(NEWEST).stdout(full).stderr(Stdio::piped()).spawn();
    let output = demo.and_then(Child::wait_with_output).expect("the demo");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.starts_with("error: cannot write to standard output: No space left on device"), "{text}");
}

#[test]
fn without_a_reader_the_files_are_written() {
    let folder = folder("unread");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = program();
    let demo = command.arg(image()).arg(&folder).arg(NEWEST).stdout(writer).stderr(Stdio::piped()).spawn();
    let output = demo.and_then(Child::wait_with_output).expect("the demo");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr).as_ref(), "");
    assert!(Reader::open(folder.join("demo.etl")).expect("a trace").report().is_whole());
    assert!(folder.join("demo.json").is_file());
    assert!(folder.join("demo.html").is_file());
}

#[test]
fn names_that_are_not_valid_utf_8_work_for_drivers_and_are_rejected_for_traces() {
    let folder = folder("odd");
    fs::create_dir_all(&folder).expect("a folder");
    let odd: &OsStr = OsStrExt::from_bytes(b"odd\xFF");
    fs::copy(image(), folder.join(odd)).expect("a copy of the driver");
    let output = run(&folder.join(odd), &folder, NEWEST);
    assert!(output.status.success(), "{output:?}");
    let output = run(&image(), &folder.join(OsStr::from_bytes(b"out\xFF")), NEWEST);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains(r"out\xff/demo.etl`: the name of a session's file must be valid UTF-8"), "{text}");
}
