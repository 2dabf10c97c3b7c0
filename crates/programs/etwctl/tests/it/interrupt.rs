//! An interrupt stops a recording cleanly: the session is stopped, and its file is complete.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::process::{Command, Stdio};

use crate::common;
use crate::common::{etwctl, scratch};
use etw_etl::Reader;
use etw_etl::format::buffer::FLAG_FLUSH_MARKER;

/// Offset of the flags in a buffer's header.
const FLAGS: usize = 0x34;

#[test]
fn an_interrupted_recording_stops_its_session_and_closes_its_file() {
    for signal in ["-INT", "-TERM"] {
        let path = scratch(&format!("interrupted{signal}.etl"));
        // Ten minutes, unless it is interrupted.
        let mut child = Command::new(env!("CARGO_BIN_EXE_etwctl"))
            .args(["record", "--demo", "--for", "10m", "--live", "--json", "--etl"])
            .arg(&path)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let mut out = BufReader::new(child.stdout.take().expect("its output is ours"));
        let mut printed = String::new();
        // The recording has begun when an event is printed.
        out.read_line(&mut printed).expect("an event");
        let kill = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(kill.expect("kill").success());
        out.read_to_string(&mut printed).expect("the rest");
        let run: common::Run = child.wait_with_output().expect("the command ends").into();
        assert_eq!(run.code, 0, "{signal}: {}", run.err);
        assert!(run.err.contains(" events printed, "), "{}", run.err);
        assert!(run.err.contains("0 events and 0 buffers lost"), "{}", run.err);

        let decoded = etwctl(&format!("decode {} --json --provider Etwctl-Demo", path.display()));
        assert_eq!(decoded.code, 0, "{signal}: {}", decoded.err);
        assert_eq!(decoded.out, printed, "{signal}: what was printed is in the file, and nothing else");
        let bytes = fs::read(&path).expect("the file");
        let header = Reader::open(&path).expect("a trace").header().clone();
        let size = header.buffer_size as usize;
        assert_eq!(bytes.len(), size * header.buffers_written as usize, "{signal}: the header knows all buffers");
        let flags = bytes.len() - size + FLAGS;
        let flags = u16::from_le_bytes([bytes[flags], bytes[flags + 1]]);
        assert_ne!(
            flags & FLAG_FLUSH_MARKER,
            0,
            "{signal}: the last buffer is marked, as a session does when it stops"
        );
        fs::remove_file(path).expect("the file was written");
    }
}

/// The command reads the trace from a pipe that stays open, so its output is never complete.
#[test]
fn an_interrupt_removes_an_incomplete_output() {
    let trace = common::demo_trace("partial.etl");
    let folder = scratch("partial");
    fs::create_dir(&folder).expect("a folder");
    let mut child = Command::new(env!("CARGO_BIN_EXE_etwctl"))
        .args(["export", "-", "--otlp"])
        .arg(folder.join("out.jsonl"))
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut pipe = child.stdin.take().expect("its input is ours");
    pipe.write_all(&fs::read(&trace).expect("the trace")).expect("the command reads");
    let names = || {
        let entries = fs::read_dir(&folder).expect("the folder");
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect::<Vec<_>>()
    };
    while names().is_empty() {
        assert!(child.try_wait().expect("its state").is_none(), "it has ended");
        std::thread::yield_now();
    }
    assert!(names()[0].ends_with(".partial"), "{:?}", names());
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.expect("kill").success());
    let code = child.wait().expect("its end").code();
    drop(pipe);
    assert_eq!(code, Some(130));
    assert!(names().is_empty(), "{:?}", names());
    fs::remove_file(trace).expect("the trace");
    fs::remove_dir(folder).expect("an empty folder");
}
