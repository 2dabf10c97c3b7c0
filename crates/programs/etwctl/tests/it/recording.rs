//! Recording the demonstration provider, live and to a file, and decoding what was written.

use std::ffi::OsStr;
use std::fs;
use std::process::{Child, Command, Stdio};

use crate::common::{demo_trace, etwctl, etwctl_limited, scratch};
use serde_json::Value;

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

#[test]
fn a_recording_is_live_and_in_a_file_with_the_same_events() {
    let path = scratch("both.etl");
    let live = etwctl(&format!("record --demo --live --json --etl {}", path.display()));
    assert_eq!(live.code, 0, "{}", live.err);
    assert!(live.err.contains("0 events and 0 buffers lost"), "{}", live.err);
    let decoded = etwctl(&format!("decode {} --json --provider Etwctl-Demo", path.display()));
    assert_eq!(decoded.code, 0, "{}", decoded.err);
    let live_events = lines(&live.out);
    assert_eq!(live_events.len(), 43);
    assert_eq!(live_events, lines(&decoded.out), "times included");
    assert_eq!(live_events[0]["event"], "DriverEntry");
    fs::remove_file(path).unwrap();
}

#[test]
fn level_and_keywords_come_from_the_provider() {
    let run = etwctl("record --demo --level error --any 0x1 --json");
    let events = lines(&run.out);
    assert_eq!(events.len(), 2);
    assert!(events.iter().all(|event| event["event"] == "ReadFailed"), "{}", run.out);
    let few = etwctl("record --demo --count 3 --json");
    assert_eq!(lines(&few.out).len(), 3);
}

#[test]
fn a_recording_ends_after_its_time() {
    let run = etwctl("record Nobody --for 200ms");
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(run.out.as_str(), "", "{}", run.err);
    assert!(run.err.contains("0 events printed"), "{}", run.err);
    assert!(run.err.contains("is computed from the name 'Nobody'"), "{}", run.err);
    assert!(!etwctl("record *Nobody --for 1ms").err.contains("computed"), "the star asks for it");
    assert!(!etwctl("record Microsoft-Windows-Kernel-Process --for 1ms").err.contains("computed"), "a well-known name");
}

#[test]
fn a_recording_without_a_driver_does_not_wait_for_events_that_cannot_come() {
    let run = etwctl("record Nobody");
    assert_eq!(run.code, 5, "{}", run.err);
    assert!(run.err.contains("no event can come: "), "{}", run.err);
    assert!(run.err.contains("--driver DRIVER.sys"), "{}", run.err);
}

#[test]
fn a_recording_has_the_buffers_the_ring_and_the_kernel_groups_of_a_session() {
    let path = scratch("ring.etl");
    let ring = etwctl(&format!("record --demo --etl {} --circular 1MiB --buffer 16KiB", path.display()));
    assert_eq!(ring.code, 0, "{}", ring.err);
    let doctor = etwctl(&format!("doctor {}", path.display()));
    assert!(doctor.out.contains("modes: circular "), "{}", doctor.out);
    assert!(doctor.out.contains("the oldest events"), "{}", doctor.out);
    let header = fs::read(&path).unwrap();
    assert_eq!(header[..4], (16 * 1024_u32).to_le_bytes(), "the size of a buffer");
    fs::remove_file(path).unwrap();
    let conflict = etwctl("record --demo --circular 1MiB --sequential 1MiB --etl x.etl");
    assert!(conflict.code == 1, "{}", conflict.err);
    assert!(conflict.err.contains("a sequential file cannot be circular"), "{}", conflict.err);
    let nothing = etwctl("record --for 1ms");
    assert!(nothing.code == 2, "{}", nothing.err);
    assert!(nothing.err.contains("--system"), "{}", nothing.err);
    let system = etwctl("record --system process,thread");
    assert!(system.code == 5, "{}", system.err);
    assert!(system.err.contains("no event can come"), "{}", system.err);
    let group = etwctl("record --system perf-profile --for 1ms");
    assert!(group.code == 2, "{}", group.err);
    assert!(group.err.contains("info set system-flags"), "{}", group.err);
}

#[test]
fn decoding_selects_by_provider_level_and_conditions() {
    let path = demo_trace("select.etl");
    let count = |options: &str| {
        let run = etwctl(&format!("decode {} --json {options}", path.display()));
        assert_eq!(run.code, 0, "{}", run.err);
        run.out.lines().count()
    };
    assert_eq!(count("--provider Etwctl-Demo"), 43);
    assert_eq!(count("--provider 68e2f24c-992e-5847-1628-07020d862419 --level error"), 2);
    assert_eq!(count("--provider Nobody"), 0);
    assert_eq!(count("--where event=Read --where opcode=start"), 12);
    assert_eq!(count("--where event=Read --where opcode=1"), 12);
    assert_eq!(count("--where event=read --where Length>=5120"), 6);
    assert_eq!(count("--where File~odd --where event=Transfer"), 6);
    assert_eq!(count("--event read --event transfer"), 36);
    assert_eq!(count("--where keyword=0x2"), 2);
    assert_eq!(count("--count 5"), 5);
    let notes = |options: &str| etwctl(&format!("decode {} --json {options}", path.display())).err;
    for (options, note) in [
        ("--provider Etwctl-Dmo", "note: no event is from provider 'Etwctl-Dmo'; did you mean 'Etwctl-Demo'?"),
        ("--provider Nobody", "note: no event is from provider 'Nobody'; the trace has Etwctl-Demo"),
        ("--event Raed", "note: no event has the name 'Raed'; did you mean 'Read'?"),
    ] {
        assert!(notes(options).contains(note), "{options}: {}", notes(options));
    }
    for (options, error) in [
        ("--where Lenth>5", "error: --where: no event has 'Lenth'; did you mean 'Length'?"),
        ("--where opcod=1", "error: --where: no event has 'opcod'; did you mean 'opcode'?"),
        ("--where File>5", "error: --where: 'File' is not a number: > compares numbers, = and ~ compare text"),
        ("--where Length>=5Kb", "'5Kb' is not a number"),
        ("--where level=waring", "'waring' is not a level: expected critical, error, warning, "),
        ("--where level=waring", "; did you mean 'warning'?"),
        ("--where opcode!=startd", "'startd' is not an opcode: expected info, start, stop, "),
        ("--where opcode!=startd", "; did you mean 'start'?"),
        ("--where pid=abc", "'pid' is a number, and 'abc' is not"),
        ("--where field.Lenth=1", "error: --where: no event has 'field.Lenth'; did you mean 'Length'?"),
    ] {
        let run = etwctl(&format!("decode {} --json {options}", path.display()));
        assert_eq!(run.code, 2, "{options}");
        assert_eq!(run.out.as_str(), "", "{options}");
        assert!(run.err.contains(error), "{options}: {}", run.err);
    }
    assert!(!notes("--where Length>1000000").contains("note:"), "the name is right, only nothing is that long");
    fs::remove_file(path).unwrap();
}

#[test]
fn every_format_is_written_and_colours_only_on_request() {
    let path = demo_trace("formats.etl");
    let run = |options: &str| etwctl(&format!("decode {} {options}", path.display()));
    let csv = run("--csv").out;
    assert_eq!(csv.lines().count(), 46, "a line of names, 43 events and two of the session");
    let chrome: Value = serde_json::from_str(&run("--chrome").out).unwrap();
    let spans = chrome["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X");
    assert_eq!(spans.count(), 12, "starts and stops are spans");
    let page = run("--html").out;
    assert!(page.to_lowercase().starts_with("<!doctype html>"));
    assert!(page.contains("formats.etl"));
    assert!(page.contains("ReadFailed"));
    let table = run("--table").out;
    assert!(table.starts_with("  provider Etwctl-Demo\n"), "{table}");
    assert!(table.contains(" ReadFailed "), "{table}");
    assert!(table.contains(" start "), "{table}");
    assert!(!table.contains("Etwctl-Demo/"), "{table}");
    let text = run("--text");
    assert!(text.out.contains("Etwctl-Demo/ReadFailed Request=5"));
    assert!(!text.out.contains('\x1b'));
    assert!(run("--color always").out.contains("\x1b[31m"));
    assert_eq!(run("--csv --chrome").code, 2);
    let copy = scratch("copy.jsonl");
    assert_eq!(run(&format!("--json --output {}", copy.display())).out, "");
    assert_eq!(lines(&fs::read_to_string(&copy).unwrap()).len(), 45);
    fs::remove_file(copy).unwrap();
    fs::remove_file(path).unwrap();
}

#[test]
fn statistics_count_what_is_there() {
    let path = demo_trace("stats.etl");
    let run = etwctl(&format!("stats {} --json", path.display()));
    let stats: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(stats["events"], 45);
    assert_eq!(stats["events_lost"], 0);
    assert_eq!(stats["by_event"][0]["event"], "Read");
    assert_eq!(stats["by_event"][0]["events"], 24);
    let names: Vec<&Value> = stats["by_event"].as_array().unwrap().iter().map(|row| &row["event"]).collect();
    assert!(names.contains(&&"Header".into()), "{names:?}");
    assert!(names.contains(&&"Unload".into()), "{names:?}");
    assert!(etwctl(&format!("stats {}", path.display())).out.contains("PROVIDER"));
    fs::remove_file(path).unwrap();
}

#[test]
fn a_damaged_trace_is_decoded_as_far_as_possible_and_has_exit_code_4() {
    let path = demo_trace("damaged.etl");
    let bytes = fs::read(&path).unwrap();
    // The file ends inside the first record of the last buffer, 40 bytes after the buffer's header.
    let end = bytes.len() - 65536 + 0x48 + 40;
    fs::write(&path, &bytes[..end]).unwrap();
    let run = etwctl(&format!("decode {} --json", path.display()));
    assert_eq!(run.code, 4, "{}", run.err);
    assert!(run.err.contains("the trace is damaged"), "{}", run.err);
    assert!(!lines(&run.out).is_empty());
    assert_eq!(etwctl(&format!("stats {}", path.display())).code, 4);
    fs::remove_file(path).unwrap();
}

/// Every command that reads a trace, in the form that only needs the file.
/// Each command that reads a trace. `COPY` is a copy of it, `OUT` a new file or folder.
const READERS: &[&str] = &[
    "decode",
    "stats",
    "top",
    "processes",
    "activities",
    "stacks",
    "flame --folded",
    "profile",
    "doctor Etwctl-Demo",
    "compare COPY",
    "export --otlp OUT",
    "trim --output OUT",
    #[cfg(feature = "parquet")]
    "dataset add OUT",
];

#[test]
fn what_a_full_disk_lost_is_reported_by_the_recording_and_by_every_reader() {
    // Room for the header only, and for one more buffer.
    for buffers in [1, 2] {
        let path = scratch(&format!("full-{buffers}.etl"));
        let run = etwctl_limited(&format!("record --demo --quiet --etl {}", path.display()), buffers);
        assert_eq!(run.code, 4, "{}", run.err);
        let lost = run.err.split(", ").find_map(|part| part.split_once(" events and ")).expect(&run.err).0;
        assert!(run.err.contains("error: the recording is incomplete: "), "{}", run.err);
        assert!(run.err.contains(&format!("cannot write {}: ", path.display())), "the cause: {}", run.err);
        for reader in READERS {
            let copy = scratch("full-copy.etl");
            let out = scratch("full-out");
            fs::copy(&path, &copy).unwrap();
            let line = reader.replace("COPY", &copy.display().to_string()).replace("OUT", &out.display().to_string());
            let read = etwctl(&format!("{line} {}", path.display()));
            assert_eq!(read.code, 4, "{reader}: {}", read.err);
            let _ = fs::remove_file(&out).or_else(|_| fs::remove_dir_all(&out));
            fs::remove_file(&copy).unwrap();
            let expected = format!("the session that wrote it lost {lost} events and ");
            assert!(read.err.contains("error: the trace is incomplete: "), "{reader}: {}", read.err);
            assert!(read.err.contains(&expected), "{reader}: {}", read.err);
        }
        let stats: Value = serde_json::from_str(&etwctl(&format!("stats --json {}", path.display())).out).unwrap();
        let kept = stats["events"].as_u64().unwrap() - 2;
        assert_eq!(stats["events_lost"].to_string(), lost);
        assert_eq!(kept + stats["events_lost"].as_u64().unwrap(), 43, "every event is in the file or counted");
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_live_view_shows_what_the_file_lacks() {
    let path = scratch("live.etl");
    let run = etwctl_limited(&format!("record --demo --live --etl {}", path.display()), 1);
    assert_eq!(run.code, 4, "{}", run.err);
    assert_eq!(run.out.lines().count(), 43, "{}", run.err);
    fs::remove_file(path).unwrap();
}

#[test]
fn a_file_in_a_missing_folder_is_refused_by_name() {
    for line in ["record --demo --etl no/such/a.etl", "start S --etl no/such/a.etl"] {
        let run = etwctl(line);
        assert_eq!(run.code, 2, "{line}: {}", run.err);
        assert!(run.err.contains("--etl no/such/a.etl: there is no folder no/such; create it first"), "{}", run.err);
    }
}

#[test]
fn a_recording_that_does_not_begin_leaves_no_file() {
    let path = scratch("none.etl");
    let run = etwctl_limited(&format!("record --demo --etl {}", path.display()), 0);
    assert_eq!(run.code, 2, "{}", run.err);
    assert!(run.err.contains("DISK_FULL"), "{}", run.err);
    assert!(!path.exists(), "{}", run.err);
}

/// Runs the command with a closed standard output; returns its exit code and standard error.
fn unread(words: &[&OsStr]) -> (Option<i32>, String) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let child = Command::new(env!("CARGO_BIN_EXE_etwctl")).args(words).stdout(writer).stderr(Stdio::piped()).spawn();
    let output = child.and_then(Child::wait_with_output).unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn without_a_reader_the_file_of_a_recording_is_whole() {
    let path = scratch("unread.etl");
    let words = ["record", "--demo", "--live", "--json", "--etl"].map(OsStr::new);
    let (code, said) = unread(&[&words[..], &[path.as_os_str()]].concat());
    // The events that it should also print were not read.
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("0 events and 0 buffers lost"), "{said}");
    let decoded = etwctl(&format!("decode {} --json --provider Etwctl-Demo", path.display()));
    assert_eq!(lines(&decoded.out).len(), 43);
    assert_eq!(
        unread(&["decode", "--json"].map(OsStr::new).into_iter().chain([path.as_os_str()]).collect::<Vec<_>>()).0,
        Some(0)
    );
    assert_eq!(unread(&[OsStr::new("--help")]), (Some(0), String::new()));
    fs::remove_file(path).unwrap();
}

#[cfg(unix)]
#[test]
fn a_name_that_is_not_valid_utf_8_is_a_name_of_a_file() {
    let odd: &OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"odd\xFF.etl");
    let (code, said) = unread(&[OsStr::new("decode"), odd]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("cannot open "), "{said}");
    assert!(said.contains("odd"), "{said}");
    let path = scratch("named.etl").with_file_name(odd);
    fs::rename(demo_trace("named.etl"), &path).unwrap();
    let words = [OsStr::new("decode"), path.as_os_str()];
    let run = Command::new(env!("CARGO_BIN_EXE_etwctl")).args(words).output().unwrap();
    assert!(run.status.success());
    assert!(String::from_utf8_lossy(&run.stdout).contains("ReadFailed"));
    fs::remove_file(path).unwrap();
}
