//! The Parquet files in a folder have the content of the trace. They are read with the `parquet` crate and with
//! `DuckDB`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use etw_etl::format::classic::{SYSTEM_SIZE, SystemHeader, TYPE_SYSTEM_64};
use etw_etl::{Buffer, Clock, EventData, ExtendedItem, FileTime, Writer, WriterOptions};
use etw_types::tracelogging::EventBuilder;
use etw_types::{Channel, EventDescriptor, Guid, InType, Keyword, Level, OutType};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, RowAccessor};
use test_support::{python, run};

use crate::common::{Run, etwctl};

/// 2024-05-06T07:08:09Z, as a file time and in nanoseconds since 1970.
const START: FileTime = FileTime(133_594_528_890_000_000);
const START_NS: i64 = 1_714_979_289_000_000_000;

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("parquet").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn write(writer: &mut Writer, number: u64, name: &str, build: impl FnOnce(EventBuilder<'_>) -> EventBuilder<'_>) {
    let mut metadata = vec![0; 1024];
    let mut payload = vec![0; 1024];
    let (metadata, payload) = build(EventBuilder::new(&mut metadata, &mut payload, name, 0)).finish().unwrap();
    let items = ExtendedItem::trace_logging(b"\x0b\x00MyDriver\x00", metadata);
    let descriptor =
        EventDescriptor::new(Level::Verbose, Keyword::from_bits(1 << 63)).with_channel(Channel::TraceLogging);
    let provider = Guid::from_name("MyDriver");
    let event = EventData { provider, descriptor, items: &items, payload, timestamp: number, ..EventData::default() };
    writer.write(0, &event).unwrap();
}

/// Writes three `Read` events, one of which has text that is not UTF-8, and two `Write` events whose fields have
/// different types.
fn trace(path: &Path) {
    let clock = Clock { start: START, ..Clock::default() };
    let mut writer =
        Writer::create(path, WriterOptions { clock, buffer_size: 4096, ..WriterOptions::default() }).unwrap();
    for number in 0..3_u16 {
        let status = if number == 0 { 0_u32 } else { 0xC000_00BB };
        let text: &[u8] = if number == 2 { b"\xFF" } else { b"text" };
        write(&mut writer, number.into(), "Read", |builder| {
            builder
                .u64("Length", u64::MAX - u64::from(number))
                .field("Flags", InType::Hex32, OutType::Default, 0, &0xFFFF_FFF0_u32.to_le_bytes())
                .structure("Where", 1, 0)
                .i16("Line", -1)
                .array(
                    "Numbers",
                    InType::U16,
                    OutType::Default,
                    0,
                    number.into(),
                    &[[1, 0], [2, 0]].concat()[..usize::from(number) * 2],
                )
                .field("Status", InType::U32, OutType::NtStatus, 0, &status.to_le_bytes())
                .counted("Text", InType::Str8, OutType::Utf8, 0, text)
                .bool8("Ok", number == 0)
                .field("Time", InType::FileTime, OutType::Default, 0, &START.0.to_le_bytes())
        });
    }
    write(&mut writer, 5, "Write", |builder| builder.f64("Share", 0.5));
    write(&mut writer, 6, "Write", |builder| builder.str8("Share", "half"));
    writer.close().unwrap();
}

/// Exports a trace and returns the note about what was written.
fn export(file: &Path, out: &Path) -> Run {
    etwctl(&format!("decode {} --parquet {}", file.display(), out.display()))
}

#[test]
fn each_kind_of_event_has_a_file_with_typed_columns() {
    let folder = folder("types");
    let file = folder.join("a.etl");
    let out = folder.join("out");
    trace(&file);
    let run = export(&file, &out);
    // Two of the session, Read, and Write in two forms.
    assert!(run.err.contains("5 files with 7 events"), "{}", run.err);
    let mut names: Vec<String> =
        fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert!(names.contains(&"MyDriver.Read.parquet".to_owned()), "{names:?}");
    assert!(names.contains(&"MyDriver.Write.parquet".to_owned()));
    assert!(names.contains(&"MyDriver.Write~2.parquet".to_owned()));
    let reader = SerializedFileReader::new(fs::File::open(out.join("MyDriver.Read.parquet")).unwrap()).unwrap();
    let schema = reader.metadata().file_metadata().schema_descr();
    let columns: Vec<String> = schema.columns().iter().map(|column| column.path().string()).collect();
    assert_eq!(
        columns[26..],
        ["Length", "Flags", "Where.Line", "Numbers.list.element", "Status", "Text", "Ok", "Time_2"].map(str::to_owned)
    );
    let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 3);
    let place = |name: &str| rows[0].get_column_iter().position(|(column, _)| column == name).unwrap();
    assert_eq!(rows[1].get_ulong(place("Length")).unwrap(), u64::MAX - 1);
    assert_eq!(rows[0].get_uint(place("Flags")).unwrap(), 0xFFFF_FFF0);
    assert_eq!(rows[0].get_short(place("Where.Line")).unwrap(), -1);
    assert_eq!(rows[2].get_list(place("Numbers")).unwrap().len(), 2);
    assert_eq!(rows[0].get_list(place("Numbers")).unwrap().len(), 0);
    assert_eq!(rows[1].get_string(place("Status")).unwrap(), "0xC00000BB STATUS_NOT_SUPPORTED");
    assert!(rows[0].get_bytes(place("raw")).is_err(), "everything fits its column");
    assert!(rows[2].get_bytes(place("raw")).is_ok(), "a text is not valid");
    assert_eq!(rows[0].get_ulong(place("keyword")).unwrap(), 1 << 63);
}

#[test]
fn a_folder_is_complete_or_not_there_and_never_mixed_with_another() {
    let folder = folder("complete");
    let file = folder.join("a.etl");
    let out = folder.join("out");
    trace(&file);
    fs::create_dir(&out).unwrap();
    assert_eq!(export(&file, &out).code, 0, "an empty folder is taken");
    let again = export(&file, &out);
    assert_eq!(again.code, 2, "{}", again.err);
    assert!(again.err.contains("out: the folder is not empty"), "{}", again.err);
    let nowhere = export(&file, &folder.join("none/out"));
    assert!(nowhere.err.contains("cannot write "), "{}", nowhere.err);
    assert!(nowhere.err.contains("none"), "{}", nowhere.err);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "the trace and the folder");
}

/// The number of kinds of events, and of events of each kind.
#[cfg(unix)]
const KINDS: u64 = 300;
#[cfg(unix)]
const EACH: u64 = 3;

#[cfg(unix)]
#[test]
fn many_kinds_of_events_need_few_open_files() {
    let folder = folder("many");
    let mut writer = Writer::create(folder.join("a.etl"), WriterOptions::default()).unwrap();
    for number in 0..KINDS * EACH {
        write(&mut writer, number, &format!("Kind{}", number % KINDS), |builder| builder.u64("Number", number));
    }
    writer.close().unwrap();
    // A limit of open files that is far below the number of kinds.
    let run = Command::new("sh")
        .args(["-c", "ulimit -n 32; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_etwctl"), "decode"])
        .arg(folder.join("a.etl"))
        .arg("--parquet")
        .arg(folder.join("out"))
        .output()
        .unwrap();
    let run = Run::from(run);
    let written = format!("{} files with {} events", KINDS + 2, KINDS * EACH + 2);
    assert!(run.err.contains(&written), "{}", run.err);
    for kind in 0..KINDS {
        let file = fs::File::open(folder.join(format!("out/MyDriver.Kind{kind}.parquet"))).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let rows = reader.get_row_iter(None).unwrap().map(Result::unwrap);
        let numbers: Vec<u64> = rows.map(|row| row.get_ulong(26).unwrap()).collect();
        assert_eq!(numbers, (0..EACH).map(|turn| kind + turn * KINDS).collect::<Vec<_>>(), "Kind{kind}");
    }
}

#[test]
fn duckdb_reads_the_folder_with_its_types() {
    let folder = folder("duckdb");
    let file = folder.join("a.etl");
    let out = folder.join("out");
    trace(&file);
    assert_eq!(export(&file, &out).code, 0);
    let environment = Path::new(env!("CARGO_TARGET_TMPDIR")).join("parquet-witness");
    let python = match python(&environment, "duckdb", &["duckdb==1.4.2"], 60) {
        Ok(python) => python,
        Err(reason) => {
            println!("skipped: no Python with DuckDB: {reason}");
            return;
        }
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/witness/duckdb_reader.py");
    let run = Command::new(python).arg(script).arg(&out).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let result: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let types = &result["types"];
    for (column, kind) in [
        ("time", "TIMESTAMP WITH TIME ZONE"),
        ("keyword", "UBIGINT"),
        ("pid", "UINTEGER"),
        ("stack", "UBIGINT[]"),
        ("raw", "BLOB"),
        ("Length", "UBIGINT"),
        ("Flags", "UINTEGER"),
        ("Where.Line", "SMALLINT"),
        ("Numbers", "USMALLINT[]"),
        ("Status", "VARCHAR"),
        ("Ok", "BOOLEAN"),
        ("Time_2", "TIMESTAMP WITH TIME ZONE"),
    ] {
        assert!(types[column].as_str().unwrap_or_default().starts_with(kind), "{column}: {types}");
    }
    let last = &result["rows"][2];
    let status = "0xC00000BB STATUS_NOT_SUPPORTED";
    assert_eq!(last[0], u64::MAX - 2);
    assert_eq!(last[1], 0xFFFF_FFF0_u32);
    assert_eq!(last[2], -1);
    assert_eq!(&last[3], &serde_json::json!([1, 2]));
    assert_eq!(last[4], status);
    assert_eq!(last[5], "\u{FFFD}");
    assert_eq!(last[6], false);
    assert!((last[7].as_i64().unwrap() - START_NS).abs() < 1_000, "{last}");
    assert!(last[8].as_str().unwrap().starts_with("2024-05-06"), "{last}");
    let events = result["events"].as_array().unwrap();
    assert!(events.contains(&serde_json::json!(["Read", 3])), "{result}");
    assert!(events.contains(&serde_json::json!(["Write", 2])), "{result}");
}

#[test]
fn a_dataset_has_each_trace_once_and_an_interrupted_one_not_at_all() {
    let folder = folder("dataset");
    let one = folder.join("a.etl");
    let other = folder.join("b.etl");
    let out = folder.join("set");
    trace(&one);
    fs::copy(&one, folder.join("copy.etl")).unwrap();
    let mut writer = Writer::create(&other, WriterOptions::default()).unwrap();
    write(&mut writer, 1, "Read", |builder| builder.u64("Length", 7).u8("New", 1));
    writer.close().unwrap();
    let add = |files: &[&str]| {
        let files: Vec<String> = files.iter().map(|file| folder.join(file).display().to_string()).collect();
        let run = etwctl(&format!("dataset add {} {} --machine M --json", out.display(), files.join(" ")));
        let summary: serde_json::Value = serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{}", run.err));
        (run.code, summary["added"].clone(), summary["skipped"].clone(), summary["failed"].clone())
    };
    // What an interrupted run left behind.
    fs::create_dir_all(out.join("_partial/abc")).unwrap();
    assert_eq!(add(&["a.etl", "copy.etl"]), (0, 1.into(), 1.into(), 0.into()), "the same content");
    assert_eq!(add(&["a.etl", "b.etl"]), (0, 1.into(), 1.into(), 0.into()));
    assert_eq!(fs::read_dir(out.join("_traces")).unwrap().count(), 2);
    fs::write(folder.join("bad.etl"), "no trace").unwrap();
    assert_eq!(add(&["bad.etl", "b.etl"]), (4, 0.into(), 1.into(), 1.into()));
    let days = out.join("provider_key=MyDriver/event_key=Read");
    assert!(days.join("day=2024-05-06").is_dir(), "{:?}", fs::read_dir(&days).unwrap().collect::<Vec<_>>());
    let mut rows = 0;
    for day in fs::read_dir(days).unwrap() {
        for file in fs::read_dir(day.unwrap().path()).unwrap() {
            let reader = SerializedFileReader::new(fs::File::open(file.unwrap().path()).unwrap()).unwrap();
            for row in reader.get_row_iter(None).unwrap().map(Result::unwrap) {
                let text =
                    |name: &str| row.get_column_iter().find(|(column, _)| *column == name).unwrap().1.to_string();
                assert_eq!(text("machine"), "\"M\"");
                assert!(text("trace").len() > 16, "{}", text("trace"));
                rows += 1;
            }
        }
    }
    assert_eq!(rows, 4, "three of one trace, one of the other");
    columns_of_a_dataset(&out);
    ten_questions(&out);
}

/// The two traces have different fields of the same event, and one has an event in two forms.
fn columns_of_a_dataset(dataset: &Path) {
    let run = etwctl(&format!("dataset schemas {} --json", dataset.display()));
    let shown: serde_json::Value = serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{}", run.err));
    let rows = shown["rows"].as_array().unwrap().iter().filter(|row| row["provider"] == "MyDriver");
    let mut found: Vec<String> = rows
        .map(|row| {
            let text = |key: &str| row[key].as_str().unwrap().to_owned();
            format!("{} {}: {}, {} of {}", text("event"), text("column"), text("type"), row["traces"], row["of"])
        })
        .collect();
    found.sort();
    assert_eq!(
        found,
        [
            "Read Flags: u32, 1 of 2",
            "Read Length: u64, 2 of 2",
            "Read New: u8, 1 of 2",
            "Read Numbers: list of u16, 1 of 2",
            "Read Ok: bool, 1 of 2",
            "Read Status: text, 1 of 2",
            "Read Text: text, 1 of 2",
            "Read Time_2: time, 1 of 2",
            "Read Where.Line: i16, 1 of 2",
            "Write Share: f64, text, 1 of 1",
        ]
    );
    // What is not a dataset, and what is not an entry.
    let missing = dataset.with_file_name("missing");
    let run = etwctl(&format!("dataset schemas {}", missing.display()));
    assert_eq!(run.code, 2, "{}", run.err);
    assert!(run.err.contains(&format!("cannot read {}: this is not a dataset", missing.display())), "{}", run.err);
    fs::create_dir_all(missing.join("_traces")).unwrap();
    for (entry, why) in [("{", "EOF"), ("{\"files\": [1]}", "this is not the entry of a trace")] {
        fs::write(missing.join("_traces/a.json"), entry).unwrap();
        let run = etwctl(&format!("dataset schemas {}", missing.display()));
        assert_eq!(run.code, 2, "{}", run.err);
        assert!(run.err.contains("a.json: "), "{}", run.err);
        assert!(run.err.contains(why), "{}", run.err);
    }
}

/// Asks the dataset the same ten questions with `DuckDB`, Polars, pyarrow and Apache Spark.
fn ten_questions(dataset: &Path) {
    let wanted = serde_json::json!({
        "traces": [[2, 1]],
        "events": [["MyDriver", "Read", 4], ["MyDriver", "Write", 2]],
        "days": [[2]],
        "partition": [[3]],
        "longest": [[u64::MAX]],
        "failed": [[2]],
        "new": [[4, 1]],
        "first": [[START_NS]],
        "levels": [[5, 4]],
        "raw": [[1]],
    });
    let environment = Path::new(env!("CARGO_TARGET_TMPDIR")).join("parquet-witness");
    let installed = python(&environment, "duckdb", &["duckdb==1.4.2"], 60);
    // The others are large, so the test uses them only where they are: in the Python of this variable, or in the user's.
    let own = std::env::var_os("ETWCTL_PYTHON").map_or_else(|| PathBuf::from("python3"), PathBuf::from);
    let has = |module: &str| run(Command::new(&own).args(["-c", &format!("import {module}")])).map(|_| own.clone());
    let others = [("pyarrow", has("pyarrow")), ("polars", has("polars")), ("spark", has("pyspark"))];
    for (name, python) in [("duckdb", installed)].into_iter().chain(others) {
        let python = match python {
            Ok(python) => python,
            Err(reason) => {
                println!("skipped: no Python with {name}: {reason}");
                continue;
            }
        };
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/witness/{name}_dataset.py"));
        let output =
            run(Command::new(python).arg(script).arg(dataset)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let found: serde_json::Value = serde_json::from_str(&output).unwrap_or_else(|_| panic!("{name}: {output}"));
        assert_eq!(found, wanted, "{name}");
    }
}

/// Number of kernel events of a trace: more of each kind than wait for their columns together.
const KERNEL_EVENTS: u64 = 12_000;
/// The time stamp of the first event of 2024-05-07.
const MIDNIGHT: u64 = 7_000;

/// Writes kernel events whose fields are numbers at fixed places. Some payloads end early, some have more bytes than fields, and
/// some are of a 32-bit system, so neighbouring rows come to their columns in different ways. Processes, threads and stacks come and go,
/// and the day ends at `MIDNIGHT`. Returns the number of context switches on each day.
fn kernel_trace(path: &Path) -> [usize; 2] {
    const SIZE: u32 = 64 * 1024;
    let clock = Clock { start: FileTime(133_595_136_000_000_000 - MIDNIGHT.cast_signed()), ..Clock::default() };
    let options = WriterOptions { clock, buffer_size: SIZE, ..WriterOptions::default() };
    let mut writer = Writer::create(path, options).unwrap();
    let mut buffer = Buffer::new(SIZE, 0);
    let mut state = 1_u64;
    let mut switches = [0; 2];
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    for stamp in 1..=KERNEL_EVENTS {
        let ids = [random() % 3 * 4, random() % 5 * 4].map(|id| u32::try_from(id).unwrap().to_le_bytes());
        let numbers: Vec<u8> = (0..6).flat_map(|_| random().to_le_bytes()).collect();
        let (is_wide, pointer) = if random() % 16 == 0 { (false, 4) } else { (true, 8) };
        let (hook_id, version, payload) = match random() % 64 {
            // Context switches: with all fields, without the last one, and with a byte too many.
            0..24 => (0x0524, 2, [&ids[1][..], &numbers[..20]].concat()),
            24..28 => (0x0524, 2, [&ids[1][..], &numbers[..16]].concat()),
            28..32 => (0x0524, 2, [&ids[1][..], &numbers[..21]].concat()),
            32..48 => (0x0F2E, 2, [&numbers[..pointer], &ids[1], &numbers[8..12]].concat()),
            // A stack of the event before.
            48..60 => {
                let frames = &numbers[..usize::try_from(random() % 6).unwrap() * pointer];
                (0x1820, 2, [&(stamp - 1).to_le_bytes()[..], &ids[0], &ids[1], frames].concat())
            }
            60..62 => (0x0501, 3, [&ids[0][..], &ids[1], &numbers[..]].concat()),
            _ => {
                let name = [b"a.exe\0", b"b.exe\0"][usize::try_from(random() % 2).unwrap()];
                (0x0301, 3, [&numbers[..pointer], &ids[0], &[1; 12], &numbers[..pointer + 4], &[0; 4], name].concat())
            }
        };
        switches[usize::from(stamp >= MIDNIGHT)] += usize::from(hook_id == 0x0524);
        let header = SystemHeader {
            version,
            header_type: if is_wide { TYPE_SYSTEM_64 } else { TYPE_SYSTEM_64 - 1 },
            size: u16::try_from(SYSTEM_SIZE + payload.len()).unwrap(),
            hook_id,
            timestamp: stamp,
            // Some headers have no process and no thread.
            process_id: Some(if random() % 4 == 0 { u32::MAX } else { u32::from_le_bytes(ids[0]) }),
            thread_id: Some(if random() % 2 == 0 { u32::MAX } else { u32::from_le_bytes(ids[1]) }),
            ..SystemHeader::default()
        };
        let record = [&header.to_bytes()[..], &payload].concat();
        if buffer.push_record(&record, stamp).is_err() {
            writer.write_buffer(&mut buffer, stamp).unwrap();
            buffer = Buffer::new(SIZE, u16::try_from(stamp % 2).unwrap());
            buffer.push_record(&record, stamp).unwrap();
        }
    }
    writer.write_buffer(&mut buffer, KERNEL_EVENTS).unwrap();
    writer.close().unwrap();
    switches
}

/// A driver's events and the kernel's have the same rows whether they are decoded to trees, as for a selection, or not, as for a
/// dataset. The values of each column are compared as the `parquet` crate reads them.
#[test]
fn a_dataset_has_the_same_values_as_a_folder() {
    let folder = folder("same");
    let traces = [folder.join("own.etl"), folder.join("demo.etl"), folder.join("kernel.etl")];
    trace(&traces[0]);
    assert_eq!(etwctl(&format!("record --demo --etl {}", traces[1].display())).code, 0);
    let switches = kernel_trace(&traces[2]);
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/data/etl");
    let captured = fs::read_dir(&dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let captured: Vec<_> = captured.filter(|path| path.extension().is_some_and(|ending| ending == "etl")).collect();
    if captured.is_empty() {
        println!("skipped: there are no captured traces in {}", dir.display());
    }
    for (number, file) in traces.iter().chain(&captured).enumerate() {
        let flat = folder.join(format!("flat-{number}"));
        let set = folder.join(format!("set-{number}"));
        // Every event has a processor. The expression needs the fields, so all events are decoded to trees.
        let line = format!("decode {} --where cpu>=0 --parquet {}", file.display(), flat.display());
        let exported = etwctl(&line);
        assert!(exported.err.contains(" files with "), "{}", exported.err);
        let added = etwctl(&format!("dataset add {} {}", set.display(), file.display()));
        assert!(added.out.contains("added 1 trace"), "{} {}", added.out, added.err);
        let mut one = rows(&flat);
        let mut other = rows(&set);
        one.sort();
        other.sort();
        assert!(!one.is_empty());
        assert_eq!(one.len(), other.len(), "{}", file.display());
        for (one, other) in one.iter().zip(&other) {
            assert_eq!(one, other, "{}", file.display());
        }
    }
    let days = ["2024-05-06", "2024-05-07"]
        .map(|day| rows(&folder.join(format!("set-2/provider_key=Thread/event_key=CSwitch/day={day}"))).len());
    assert_eq!(days, switches);
}

/// All rows below a folder as text, without the columns that only datasets have. Like all readers of datasets, skips names that start
/// with an underscore.
fn rows(dir: &Path) -> Vec<String> {
    let mut rows = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('_')) {
            continue;
        }
        if path.is_dir() {
            rows.extend(self::rows(&path));
        } else if path.extension().is_some_and(|ending| ending == "parquet") {
            let reader = SerializedFileReader::new(fs::File::open(&path).unwrap()).unwrap();
            for row in reader.get_row_iter(None).unwrap().map(Result::unwrap) {
                let values = row.get_column_iter().filter(|(name, _)| !matches!(name.as_str(), "trace" | "machine"));
                rows.push(values.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" "));
            }
        }
    }
    rows
}

/// The number of small traces of a fleet.
#[cfg(unix)]
const FLEET: u64 = 60;

/// A fleet of traces needs few open files. A run that is killed is continued by the same command, and ends with the same content.
#[cfg(unix)]
#[test]
fn a_fleet_is_added_with_few_files_open_and_after_a_kill() {
    let folder = folder("fleet");
    let traces = folder.join("traces");
    fs::create_dir(&traces).unwrap();
    for number in 0..FLEET {
        let mut writer = Writer::create(traces.join(format!("{number:03}.etl")), WriterOptions::default()).unwrap();
        for kind in 0..8 {
            write(&mut writer, number, &format!("Kind{kind}"), |builder| builder.u64("Number", number));
        }
        writer.close().unwrap();
    }
    let set = folder.join("set");
    let command = |limit: u32| {
        let mut command = Command::new("sh");
        let script = format!("ulimit -n {limit}; exec \"$0\" dataset add \"$1\" \"$2\"/*.etl --json");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_etwctl")]).arg(&set).arg(&traces);
        command
    };
    let listed = || fs::read_dir(set.join("_traces")).map_or(0, |entries| entries.flatten().count());
    let mut child = command(64).stdout(std::process::Stdio::null()).spawn().unwrap();
    while listed() < 3 && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let summary = |run: std::process::Output| -> serde_json::Value {
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        serde_json::from_slice(&run.stdout).unwrap()
    };
    let second = summary(command(64).output().unwrap());
    assert_eq!(second["added"].as_u64().unwrap() + second["skipped"].as_u64().unwrap(), FLEET);
    let third = summary(command(64).output().unwrap());
    assert_eq!(third["added"], 0);
    assert_eq!(third["skipped"], FLEET);
    let numbers = rows(&set).into_iter().filter(|row| row.contains(" Number=")).count() as u64;
    assert_eq!(numbers, FLEET * 8, "each event once");
    assert!(!set.join("_partial").exists(), "what the kill left behind is gone");
}

#[test]
fn a_date_that_was_never_set_is_null() {
    let folder = folder("dates");
    let path = folder.join("dates.etl");
    let clock = Clock { start: START, ..Clock::default() };
    let options = WriterOptions { clock, buffer_size: 4096, ..WriterOptions::default() };
    let mut writer = Writer::create(&path, options).unwrap();
    // Further events of a kind are read in another way than the first one.
    let dates = [0, START.0, 0, 0, START.0];
    for (number, date) in (0..).zip(dates) {
        write(&mut writer, number, "Dates", |builder| {
            let date = date.to_le_bytes();
            let builder = builder.field("Date", InType::FileTime, OutType::Default, 0, &date);
            builder.field("Utc", InType::U64, OutType::DateTimeUtc, 0, &date)
        });
    }
    writer.close().unwrap();
    let out = folder.join("out");
    let run = export(&path, &out);
    assert_eq!(run.code, 0, "{}", run.err);
    let file = SerializedFileReader::new(fs::File::open(out.join("MyDriver.Dates.parquet")).unwrap()).unwrap();
    let expected = (START_NS / 1000).to_string();
    let mut rows = 0;
    for (row, date) in file.get_row_iter(None).unwrap().map(Result::unwrap).zip(dates) {
        let cell = |name: &str| row.get_column_iter().find(|(own, _)| *own == name).unwrap().1.clone();
        for name in ["Date", "Utc"] {
            match (cell(name), date) {
                (Field::Null, 0) => {}
                (Field::TimestampMicros(micros), 1..) => assert_eq!(micros.to_string(), expected, "{name}"),
                (other, date) => panic!("{name}: {other:?} for {date}"),
            }
        }
        assert_eq!(cell("raw"), Field::Null, "the columns have all of the event");
        rows += 1;
    }
    assert_eq!(rows, dates.len());
}
