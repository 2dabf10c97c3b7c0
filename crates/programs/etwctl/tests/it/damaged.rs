//! A trace that is not whole ends every command with exit code 4, after it has shown the rest, and a message says what is missing.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Run, etwctl, scratch};
use etw_etl::format::logfile::END_TIME_OFFSET;
use etw_etl::{Clock, EventData, ExtendedItem, FileTime, Writer, WriterOptions};
use etw_types::tracelogging::EventBuilder;
use etw_types::{Channel, EventDescriptor, Guid, Keyword, Level};

/// The size of the buffers.
const SIZE: usize = 1024;
/// Offset of the end time in a file.
const END_TIME: usize = 0x48 + 0x20 + END_TIME_OFFSET;

/// Every command that reads a trace; `{}` is the trace and `OUT` a path that does not exist. `compare` and `trim` read two.
const COMMANDS: &[&str] = &[
    "activities {}",
    "activities {} --tree",
    "compare {} WHOLE",
    "compare WHOLE {}",
    "dataset add OUT {}",
    "decode {}",
    "decode {} --chrome",
    "decode {} --count 1",
    "decode {} --csv",
    "decode {} --html",
    "decode {} --json",
    "decode {} --parquet OUT",
    "decode {} --pcapng --output OUT",
    "decode {} --table",
    "doctor MyDriver {}",
    "export {} --otlp OUT",
    "flame {}",
    "flame {} --folded",
    "processes {}",
    "profile {}",
    "profile {} --format pprof --output OUT",
    "stacks {}",
    "stats {}",
    "top {}",
    "top {} --by disk",
    "top {} --by gc",
    "trim {} --output OUT",
    "trim WHOLE {} --output OUT",
];

/// A closed trace of several buffers, written to a file of this name.
fn trace(name: &str) -> Vec<u8> {
    let path = scratch(&format!("damaged-source-{name}.etl"));
    let clock = Clock { start: FileTime(133_594_528_890_000_000), ..Clock::default() };
    let options = WriterOptions { clock, buffer_size: 1024, ..WriterOptions::default() };
    let mut writer = Writer::create(&path, options).unwrap();
    let descriptor =
        EventDescriptor::new(Level::Informational, Keyword::from_bits(1)).with_channel(Channel::TraceLogging);
    for timestamp in 0..40_u64 {
        let mut metadata = [0; 256];
        let mut payload = [0; 256];
        let text = "x".repeat(60);
        let (metadata, payload) =
            EventBuilder::new(&mut metadata, &mut payload, "E", 0).str8("text", &text).finish().unwrap();
        let items = ExtendedItem::trace_logging(b"\x0b\x00MyDriver\x00", metadata);
        let provider = Guid::from_name("MyDriver");
        let event = EventData { provider, descriptor, items: &items, payload, timestamp, ..EventData::default() };
        writer.write(0, &event).unwrap();
    }
    writer.close().unwrap();
    let bytes = fs::read(&path).unwrap();
    fs::remove_file(path).unwrap();
    bytes
}

/// Runs a command of the table with a trace, and one that is whole.
fn run(command: &str, trace: &Path, whole: &Path) -> Run {
    let out = trace.with_extension("out");
    let line = command.replace("{}", trace.to_str().unwrap()).replace("WHOLE", whole.to_str().unwrap());
    let run = etwctl(&line.replace("OUT", out.to_str().unwrap()));
    let _ = fs::remove_file(&out);
    let _ = fs::remove_dir_all(&out);
    run
}

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = scratch(&format!("damaged-{name}.etl"));
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn every_command_says_which_buffers_are_missing_and_ends_with_4() {
    let bytes = trace("missing");
    let count = bytes.len() / SIZE;
    assert!(count > 6, "{count}");
    let mut zeroed = bytes.clone();
    zeroed[3 * SIZE..4 * SIZE].fill(0);
    let doubled = [&bytes[..4 * SIZE], &bytes[3 * SIZE..]].concat();
    let removed = [&bytes[..3 * SIZE], &bytes[4 * SIZE..]].concat();
    let last = count - 1;
    let whole = file("whole", &bytes);
    for (name, bytes, expected) in [
        ("cut", &bytes[..last * SIZE], format!("1 of {count} buffers is missing: number {last}")),
        ("removed", &removed, format!("1 of {count} buffers is missing: number 3")),
        ("zeroed", &zeroed, "zeros instead of a buffer (1024 bytes at offset 0xc00)".to_owned()),
        ("doubled", &doubled, "buffer 3 is in the file again".to_owned()),
    ] {
        let damaged = file(name, bytes);
        for command in COMMANDS {
            let run = run(command, &damaged, &whole);
            assert_eq!(run.code, 4, "{name}: {command}: {}", run.err);
            assert!(run.err.contains(&expected), "{name}: {command}: {}", run.err);
        }
        fs::remove_file(damaged).unwrap();
    }
    fs::remove_file(whole).unwrap();
}

#[test]
fn no_command_objects_to_a_whole_trace() {
    let bytes = trace("same");
    let whole = file("same", &bytes);
    let other = file("other", &bytes);
    for command in COMMANDS {
        let run = run(command, &whole, &other);
        assert_eq!(run.code, 0, "{command}: {}", run.err);
    }
    fs::remove_file(whole).unwrap();
    fs::remove_file(other).unwrap();
}

#[test]
fn every_command_says_that_a_trace_was_not_closed() {
    let mut bytes = trace("unclosed");
    let whole = file("closed", &bytes);
    bytes[END_TIME..END_TIME + 8].fill(0);
    let unclosed = file("unclosed", &bytes);
    for command in COMMANDS {
        let run = run(command, &unclosed, &whole);
        assert_eq!(run.code, 0, "{command}: {}", run.err);
        assert!(
            run.err.contains("not closed by its recorder; its last events may be missing"),
            "{command}: {}",
            run.err
        );
    }
    let stats = etwctl(&format!("stats {} --json", unclosed.display()));
    assert!(stats.out.contains("\"closed\":false"), "{}", stats.out);
    // Windows writes the losses of a session when it closes the file.
    assert!(stats.out.contains("\"events_lost\":null,\"buffers_lost\":null"), "{}", stats.out);
    let closed = etwctl(&format!("stats {} --json", whole.display()));
    assert!(closed.out.contains("\"events_lost\":0,\"buffers_lost\":0"), "{}", closed.out);
    fs::remove_file(whole).unwrap();
    fs::remove_file(unclosed).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_dataset_in_a_small_address_space_is_made_or_refused_with_a_reason() {
    let file = file("limited", &trace("limited"));
    let out = file.with_extension("out");
    let add = |kib: u32| {
        let script = format!("ulimit -v {kib}; exec \"$0\" \"$@\"");
        let mut shell = std::process::Command::new("bash");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_etwctl"), "dataset", "add"]).arg(&out).arg(&file);
        Run::from(shell.args(["--jobs", "16"]).output().expect("the command runs"))
    };
    let refused = add(150_000);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("limited to 146 MiB, and a dataset needs 208 MiB"), "{}", refused.err);
    let added = add(250_000);
    assert_eq!(added.code, 0, "{}", added.err);
    fs::remove_file(file).unwrap();
    fs::remove_dir_all(out).unwrap();
}
