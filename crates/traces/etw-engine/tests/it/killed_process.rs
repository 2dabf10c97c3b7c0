//! A process that is killed leaves a file that decodes up to its last flushed buffer.
//!
//! The test starts itself as a child process that writes, flushes, writes again and aborts.

use std::process::Command;

use crate::common::{PROVIDER, TempFile, read_events, register, write};
use etw_engine::{Enable, Engine, Properties};
use etw_types::{Level, NtStatus};

const CHILD: &str = "ETW_ENGINE_KILLED_CHILD";
const FLUSHED: u64 = 1000;

/// The code of the child process. It does not return.
fn write_and_abort(path: &str) -> ! {
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    let session = engine.start(&Properties { buffer_kib: 4, ..Properties::to_file("killed", path) }).unwrap();
    session.enable(PROVIDER, Enable::default());
    let written = (0..FLUSHED).filter(|number: &u64| {
        let status = write(&engine, handle, Level::Error, 0, &number.to_le_bytes());
        // The session's thread may be slow. A flush makes room.
        if status == NtStatus::NoMemory {
            session.flush().unwrap();
        }
        status == NtStatus::Success
    });
    let written = written.count();
    session.flush().unwrap();
    println!("flushed {written}");
    for _ in 0..10 {
        write(&engine, handle, Level::Error, 0, b"never flushed");
    }
    std::process::abort();
}

#[test]
#[cfg_attr(miri, ignore = "no processes in an interpreter")]
fn a_killed_process_leaves_a_readable_file() {
    if let Ok(path) = std::env::var(CHILD) {
        write_and_abort(&path);
    }
    let file = TempFile::new("killed");
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed_process::a_killed_process_leaves_a_readable_file", "--nocapture"])
        .env(CHILD, file.path())
        .output()
        .unwrap();
    assert!(!child.status.success(), "the child was to abort");
    let said = String::from_utf8(child.stdout).unwrap();
    let flushed = said.lines().find_map(|line| line.split_once("flushed ")?.1.parse::<usize>().ok()).unwrap();
    let events = read_events(file.path());
    let numbers = events.iter().filter_map(|event| event.payload().try_into().ok().map(u64::from_le_bytes));
    assert_eq!(numbers.count(), flushed);
    assert_eq!(events.len(), flushed, "nothing that was not flushed");
}
