//! Reading traces: ranges of time, standard input, several files, growing files, terminals.

use std::fs;
#[cfg(unix)]
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common;
use crate::common::scratch;
use etw_etl::format::stack::{HOOK_RUNDOWN, push_definition};
use etw_etl::{Buffer, Clock, EventData, ExtendedItem, ExtendedType, FileMode, FileTime, Writer, WriterOptions};
use etw_types::tracelogging::EventBuilder;
use etw_types::{Channel, EventDescriptor, Guid, Keyword, Level, Opcode};
use serde_json::Value;

/// 2024-05-06T07:08:09Z.
const START: FileTime = FileTime(133_594_528_890_000_000);

fn writer(path: &Path) -> Writer {
    let clock = Clock { start: START, ..Clock::default() };
    let mode = FileMode::Sequential { max_bytes: None };
    Writer::create(path, WriterOptions { clock, buffer_size: 1024, mode, ..WriterOptions::default() }).unwrap()
}

/// Writes an event this many milliseconds after the start.
fn write(writer: &mut Writer, milliseconds: u64, name: &str, level: Level, opcode: Opcode) {
    let mut metadata = [0; 256];
    let mut payload = [0; 256];
    let builder = EventBuilder::new(&mut metadata, &mut payload, name, 0).str8("text", &"x".repeat(60));
    let (metadata, payload) = builder.finish().unwrap();
    let items = ExtendedItem::trace_logging(b"\x0b\x00MyDriver\x00", metadata);
    let descriptor =
        EventDescriptor::new(level, Keyword::from_bits(1)).with_channel(Channel::TraceLogging).with_opcode(opcode);
    let event = EventData {
        provider: Guid::from_name("MyDriver"),
        descriptor,
        items: &items,
        payload,
        timestamp: milliseconds * 10_000,
        activity: Guid::from_u128(7),
        ..EventData::default()
    };
    writer.write(0, &event).unwrap();
}

fn trace(name: &str, events: &[(u64, &str)]) -> PathBuf {
    let path = scratch(name);
    let mut writer = writer(&path);
    for (milliseconds, name) in events {
        write(&mut writer, *milliseconds, name, Level::Informational, Opcode::Info);
    }
    writer.close().unwrap();
    path
}

fn names(out: &[u8]) -> Vec<String> {
    let line = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap();
        (event["kind"] == "tracelogging").then(|| event["event"].as_str().unwrap().to_owned())
    };
    str::from_utf8(out).unwrap().lines().filter_map(line).collect()
}

fn decode(arguments: &[&str]) -> (Vec<String>, String) {
    let run = Command::new(env!("CARGO_BIN_EXE_etwctl")).args(["decode", "--json"]).args(arguments).output().unwrap();
    let printed = String::from_utf8(run.stderr).unwrap();
    assert!(run.status.success(), "{printed}");
    (names(&run.stdout), printed)
}

#[test]
fn a_range_of_time_is_relative_to_the_trace_or_absolute() {
    let path = trace("range.etl", &[(0, "a"), (500, "b"), (1000, "c"), (2500, "d")]);
    let file = path.to_str().unwrap();
    for (range, expected) in [
        (&["--from", "+500ms"][..], &["b", "c", "d"][..]),
        (&["--from", "+500ms", "--to", "+1s"], &["b"]),
        (&["--to", "+1s"], &["a", "b"]),
        (&["--from", "2024-05-06T07:08:10Z"], &["c", "d"]),
        (&["--from", "2024-05-06 07:08:09.4", "--to", "+2s"], &["b", "c"]),
        (&["--from", "+1h"], &[]),
    ] {
        assert_eq!(decode(&[&[file], range].concat()).0, expected, "{range:?}");
    }
    let part = scratch("range-part.etl");
    for command in ["decode", "stacks", "flame", &format!("trim --output {}", part.display())] {
        let beyond = common::etwctl(&format!("{command} {file} --from +1h"));
        let expected = "nothing is selected: --from is after the last event, at +2.500s (2024-05-06T07:08:11.5000000Z)";
        assert!(beyond.err.contains(expected), "{command}: {}", beyond.err);
        let within = common::etwctl(&format!("{command} {file} --from +1s"));
        assert!(!within.err.contains("nothing is selected"), "{command}: {}", within.err);
    }
    fs::remove_file(part).unwrap();
    let bad = common::etwctl(&format!("decode {file} --from 2s"));
    assert_eq!(bad.code, 2);
    assert!(bad.err.contains("invalid value '2s' for '--from <MOMENT>'"), "{}", bad.err);
    assert!(bad.err.contains("+2s"), "{}", bad.err);
    fs::remove_file(path).unwrap();
}

#[test]
fn a_part_of_the_header_has_precedence_over_a_field_of_its_name() {
    let path = scratch("fields.etl");
    let mut writer = writer(&path);
    for (stamp, level, own, opcode) in [
        (0, Level::Informational, 9, Opcode::Start),
        (10, Level::Warning, 4, Opcode::Stop),
        (20, Level::Informational, 4, Opcode::Info),
    ] {
        let mut metadata = [0; 64];
        let mut payload = [0; 64];
        let builder = EventBuilder::new(&mut metadata, &mut payload, "E", 0).u8("Level", own).u32("pid", 77);
        let (metadata, payload) = builder.finish().unwrap();
        let descriptor = EventDescriptor::new(level, Keyword::from_bits(1)).with_opcode(opcode);
        let event = EventData {
            provider: Guid::from_name("MyDriver"),
            descriptor: descriptor.with_channel(Channel::TraceLogging),
            items: &ExtendedItem::trace_logging(b"\x0b\x00MyDriver\x00", metadata),
            payload,
            timestamp: stamp,
            process_id: 8,
            ..EventData::default()
        };
        writer.write(0, &event).unwrap();
    }
    writer.close().unwrap();
    for (condition, expected) in [
        ("level = info", 2),
        ("level = informational", 2),
        ("level = Information", 2),
        ("LEVEL = 4", 2),
        ("level ~ warn", 1),
        ("level <= warning", 1),
        ("field.level = 4", 2),
        ("Field.Level = 9", 1),
        ("pid = 77", 0),
        ("pid = 8", 3),
        ("field.pid = 77", 3),
        ("opcode = Start", 1),
        ("opcode = start or opcode = STOP", 2),
        ("opcode != info", 2),
    ] {
        let only = format!("provider = MyDriver and ({condition})");
        let (events, _) = decode(&[path.to_str().unwrap(), "--where", &only]);
        assert_eq!(events.len(), expected, "{condition}");
    }
    fs::remove_file(path).unwrap();
}

#[test]
fn several_files_are_merged_by_time() {
    let one = trace("one.etl", &[(10, "a"), (30, "c")]);
    let two = trace("two.etl", &[(20, "b"), (40, "d")]);
    let (found, printed) = decode(&[one.to_str().unwrap(), two.to_str().unwrap()]);
    assert_eq!(found, ["a", "b", "c", "d"]);
    assert!(printed.contains("one.etl: "), "{printed}");
    assert!(printed.contains("two.etl: "), "{printed}");
    assert!(printed.contains(" events printed"), "{printed}");
    let same = common::etwctl(&format!("decode {0} {0} --output {0}", one.display()));
    assert_eq!(same.code, 2, "{}", same.err);
    // One file is damaged: the other is read to its end, and the error names the damaged one.
    let bytes = fs::read(&two).unwrap();
    fs::write(&two, &bytes[..bytes.len() - 1000]).unwrap();
    let damaged = common::etwctl(&format!("decode {} {}", one.display(), two.display()));
    assert_eq!(damaged.code, 4);
    assert!(damaged.out.contains("MyDriver/c"), "{}", damaged.err);
    assert!(damaged.err.contains("two.etl: "), "{}", damaged.err);
    fs::remove_file(one).unwrap();
    fs::remove_file(two).unwrap();
}

#[test]
fn standard_input_is_a_trace() {
    let path = trace("stdin.etl", &[(10, "a"), (30, "c")]);
    for command in ["decode - --json", "stats - --json", "activities -", "stacks -"] {
        // A pipe, which cannot seek.
        let mut child = Command::new(env!("CARGO_BIN_EXE_etwctl"))
            .args(command.split(' '))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let bytes = fs::read(&path).unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), &bytes).unwrap();
        let run = child.wait_with_output().unwrap();
        assert!(run.status.success(), "{command}: {}", String::from_utf8_lossy(&run.stderr));
        if command.starts_with("decode") {
            assert_eq!(names(&run.stdout), ["a", "c"]);
        }
    }
    let nothing = common::etwctl("decode -");
    assert_eq!(nothing.code, 2);
    assert!(nothing.err.contains("(standard input) is not an .etl trace"), "{}", nothing.err);
    fs::remove_file(path).unwrap();
}

#[cfg(unix)]
#[test]
fn a_growing_file_is_followed_until_an_interrupt() {
    let path = scratch("follow.etl");
    let mut writer = writer(&path);
    let fill = |writer: &mut Writer, from: u64| {
        for number in from..from + 10 {
            write(writer, number, &format!("E{number}"), Level::Informational, Opcode::Info);
        }
        writer.flush().unwrap();
    };
    fill(&mut writer, 0);
    let mut child = Command::new(env!("CARGO_BIN_EXE_etwctl"))
        .args(["decode", "--follow", "--json", "--where", "provider=MyDriver"])
        .arg(&path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut printed = String::new();
    let mut next = |count: usize| (0..count).for_each(|_| assert!(out.read_line(&mut printed).unwrap() > 0));
    next(10);
    // The command has read all events of the file, and waits.
    fill(&mut writer, 10);
    next(10);
    fill(&mut writer, 20);
    next(10);
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    out.read_to_string(&mut printed).unwrap();
    let run = child.wait_with_output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!(names(printed.as_bytes()), (0..30).map(|number| format!("E{number}")).collect::<Vec<_>>());
    assert_eq!(common::etwctl(&format!("decode --follow {0} {0}", path.display())).code, 2);
    fs::remove_file(path).unwrap();
}

/// `script` of util-linux gives the command a terminal, and `stty` sets its width.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_gets_a_table_of_its_width() {
    let path = scratch("table.etl");
    let mut writer = writer(&path);
    write(&mut writer, 1, "Read", Level::Informational, Opcode::Start);
    write(&mut writer, 3, "Failed", Level::Error, Opcode::Info);
    write(&mut writer, 4, "Read", Level::Informational, Opcode::Stop);
    writer.close().unwrap();
    for width in [80, 120] {
        let command = format!(
            "stty rows 40 cols {width}; {} decode {} --provider MyDriver",
            env!("CARGO_BIN_EXE_etwctl"),
            path.display()
        );
        let Ok(run) = Command::new("script")
            .args(["--quiet", "--return", "--command", &command, "/dev/null"])
            .env_remove("NO_COLOR")
            .stdin(Stdio::null())
            .output()
        else {
            eprintln!("skipped: there is no `script` (Debian: bsdutils)");
            return;
        };
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        assert!(run.status.success(), "{text}");
        for part in ["┌ 1", "│ 1", "└ 1", "1.0000", "2.0000", "\x1b[31m"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        let plain = text.replace("\x1b[31m", "").replace("\x1b[0m", "");
        let table = plain.lines().filter(|line| line.starts_with(' '));
        let longest = table.map(|line| line.trim_end().chars().count()).max().unwrap();
        assert!(longest <= width, "{longest} of {width}: {text}");
        assert!(longest > width - 30, "{longest} of {width}: {text}");
    }
    fs::remove_file(path).unwrap();
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_and_pcapng_are_written_or_the_reason_is_given() {
    let path = trace("tables.etl", &[(0, "a"), (500, "b"), (1000, "b")]);
    let file = path.to_str().unwrap();
    let out = scratch("tables");
    let run = common::etwctl(&format!("decode {file} --parquet {}", out.display()));
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("note: 4 files with 5 events"), "{}", run.err);
    assert!(out.join("MyDriver.b.parquet").is_file());
    let again = common::etwctl(&format!("decode {file} --parquet {}", out.display()));
    assert_eq!(again.code, 2);
    assert!(again.err.contains("the folder is not empty"), "{}", again.err);
    let none = common::etwctl(&format!("decode {file} --pcapng --output {}", scratch("none.pcapng").display()));
    assert_eq!(none.code, 0, "{}", none.err);
    assert!(none.err.contains("note: 0 packets: only events of ndiscap"), "{}", none.err);
    for both in ["--json --pcapng", "--csv --pcapng", "--parquet x --output y", "--parquet x --table"] {
        assert_eq!(common::etwctl(&format!("decode {file} {both}")).code, 2, "{both}");
    }
    fs::remove_dir_all(out).unwrap();
    fs::remove_file(scratch("none.pcapng")).unwrap();
    fs::remove_file(path).unwrap();
}

#[test]
fn a_note_counts_the_references_to_stacks_that_the_trace_does_not_define() {
    let key = [0_u64, 0xABC].map(u64::to_le_bytes).concat();
    let items = [ExtendedItem { kind: ExtendedType::STACK_KEY64, data: &key }];
    for (name, defined, is_noted) in [("defined.etl", 300, false), ("undefined.etl", 50, true)] {
        let path = scratch(name);
        let mut writer = writer(&path);
        for timestamp in [100, 200] {
            writer.write(0, &EventData { items: &items, timestamp, ..EventData::default() }).unwrap();
        }
        // A definition comes after the events that refer to it.
        let mut record = Vec::new();
        let mut buffer = Buffer::new(1024, 0);
        assert!(push_definition(&mut record, HOOK_RUNDOWN, defined, 0xABC, &[0x1234]));
        buffer.push_record(&record, defined).unwrap();
        writer.write_buffer(&mut buffer, 400).unwrap();
        writer.close().unwrap();
        let run = common::etwctl(&format!("stacks {}", path.display()));
        assert_eq!(run.code, 0, "{}", run.err);
        assert_eq!(run.out.contains("0x1234"), !is_noted, "{}", run.err);
        let note = "2 references to call stacks without a definition; they are left out";
        assert_eq!(run.err.contains(note), is_noted, "{}", run.err);
    }
}
