//! Events have the names of their processes, threads, files and registry keys, from other events of the trace.

use std::path::{Path, PathBuf};

use crate::common::{folder, options};
use etw_etl::format::classic::{SYSTEM_SIZE, SystemHeader, TYPE_SYSTEM_64};
use etw_etl::{Buffer, Decoded, Decoder, EventData, Exporter, Format, Reader, Writer, WriterOptions};
use etw_types::{EventDescriptor, Guid};

fn record(hook_id: u16, version: u16, timestamp: u64, process: u32, thread: u32, payload: &[u8]) -> (u64, Vec<u8>) {
    let header = SystemHeader {
        version,
        header_type: TYPE_SYSTEM_64,
        size: u16::try_from(SYSTEM_SIZE + payload.len()).unwrap(),
        hook_id,
        timestamp,
        process_id: Some(process),
        thread_id: Some(thread),
        ..SystemHeader::default()
    };
    (timestamp, [&header.to_bytes(), payload].concat())
}

fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A process event of version 3: key, ids, session, status, directory, no SID, name, command line.
fn process(id: u32, name: &str, command_line: &str) -> Vec<u8> {
    let start = words(&[1, 0, id, 4, 1, 0, 0, 0, 0]);
    [start, name.as_bytes().to_vec(), vec![0], wide(command_line)].concat()
}

fn trace(name: &str, records: &[(u64, Vec<u8>)]) -> PathBuf {
    let path = folder("names").join(name);
    let mut writer = Writer::create(&path, WriterOptions { buffer_size: 8192, ..options() }).unwrap();
    let mut buffer = Buffer::new(8192, 0);
    for (stamp, record) in records {
        buffer.push_record(record, *stamp).unwrap();
    }
    writer.write_buffer(&mut buffer, 2_000_000).unwrap();
    writer.close().unwrap();
    path
}

/// Decodes the events with this hook id.
fn decoded(path: &Path, hook: u16) -> Vec<Decoded> {
    let mut reader = Reader::open(path).unwrap();
    let mut decoder = Decoder::from_reader(&reader, []);
    let events: Vec<_> = reader.by_ref().filter(|event| event.header.descriptor.id == hook).collect();
    events.iter().map(|event| decoder.decode(&event.as_ref())).collect()
}

const READ: u16 = 0x0443;
const SET_NAME: u16 = 0x0548;

fn sample(name: &str) -> PathBuf {
    let file = |object: u32, path: &str| [words(&[object, 0]), wide(path)].concat();
    // Offset, IRP, file object, file key, thread, size, flags.
    let read = |object: u32, key: u32| words(&[0, 0, 9, 0, object, 0, key, 0, 70, 512, 0, 0]);
    // Time, status, index, handle, name.
    let key = |handle: u32, name: &str| [words(&[0, 0, 0, 0, handle, 0]), wide(name)].concat();
    trace(
        name,
        &[
            record(0x0301, 3, 1_000_010, 4, 8, &process(500, "a.exe", "a.exe -x")),
            record(SET_NAME, 2, 1_000_011, 500, 70, &[words(&[500, 70]), wide("worker")].concat()),
            record(
                0x0440,
                3,
                1_000_012,
                500,
                70,
                &[words(&[9, 0, 0x77, 0, 70, 0, 0, 0]), wide("\\Device\\X\\b.txt")].concat(),
            ),
            record(READ, 3, 1_000_020, 500, 70, &read(0x77, 0)),
            record(0x0302, 3, 1_000_030, 500, 70, &process(500, "a.exe", "a.exe -x")),
            record(READ, 3, 1_000_031, 500, 70, &read(0x78, 0x55)),
            record(0x0301, 3, 1_000_040, 4, 8, &process(500, "c.exe", "")),
            record(READ, 3, 1_000_041, 500, 71, &read(0x79, 0)),
            record(0x090B, 2, 1_000_050, 500, 71, &key(0x99, "Sub")),
            record(0x0910, 2, 1_000_051, 500, 71, &key(0x99, "Value")),
            record(0x0919, 2, 1_000_800, 4, 8, &key(0x99, "\\REGISTRY\\MACHINE\\X")),
            record(0x0424, 0, 1_000_900, 4, 8, &file(0x55, "\\Device\\X\\key.txt")),
        ],
    )
}

#[test]
fn an_event_has_the_names_of_its_time_also_after_the_end_of_a_process() {
    let names: Vec<_> = decoded(&sample("lives.etl"), READ).into_iter().map(|decoded| decoded.names).collect();
    let process =
        |place: usize| names[place].process.as_ref().map(|process| (&*process.name, process.command_line.as_deref()));
    assert_eq!([0, 1].map(process), [Some(("a.exe", Some("a.exe -x"))); 2]);
    assert_eq!(process(2), Some(("c.exe", None)), "the id is used again");
    let first = names[0].process.as_ref().unwrap();
    assert_eq!(first.parent, Some(4));
    assert_eq!(first.session, Some(1));
    assert_eq!(first.start, Some(1_000_010));
    assert_eq!(first.end, Some(1_000_030));
    assert_eq!(
        names.iter().map(|names| names.thread.as_deref()).collect::<Vec<_>>(),
        [Some("worker"), Some("worker"), None]
    );
    let files: Vec<_> = names.iter().map(|names| names.file.as_deref()).collect();
    assert_eq!(files, [Some("\\Device\\X\\b.txt"), Some("\\Device\\X\\key.txt"), None], "by object, by key, unknown");
}

#[test]
fn a_registry_event_has_the_path_of_its_key() {
    let path = sample("registry.etl");
    let key = |hook| decoded(&path, hook)[0].names.key.clone();
    assert_eq!(key(0x090B).as_deref(), Some("\\REGISTRY\\MACHINE\\X\\Sub"), "an open of a key below it");
    assert_eq!(key(0x0910).as_deref(), Some("\\REGISTRY\\MACHINE\\X"), "a query of a value");
}

#[test]
fn every_export_has_the_names() {
    let path = sample("exports.etl");
    for (format, wanted) in [
        (Format::Text, "a.exe(500):70 cpu0 FileIo/Read"),
        (Format::Text, "thread=worker file=\\Device\\X\\b.txt"),
        (Format::Table, "a.exe(500)"),
        (Format::JsonLines, "\"process\":\"a.exe\",\"thread\":\"worker\",\"file\":\"\\\\Device\\\\X\\\\b.txt\""),
        (Format::JsonLines, "\"key\":\"\\\\REGISTRY\\\\MACHINE\\\\X\""),
        (Format::Csv, ",a.exe,worker,\\Device\\X\\b.txt,,"),
        (Format::Chrome, "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":500,\"args\":{\"name\":\"a.exe\"}}"),
        (Format::Chrome, "{\"name\":\"process_labels\",\"ph\":\"M\",\"pid\":500,\"args\":{\"labels\":\"a.exe -x\"}}"),
        (
            Format::Chrome,
            "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":500,\"tid\":70,\"args\":{\"name\":\"worker\"}}",
        ),
        (Format::Chrome, "\"names\":{\"file\":\"\\\\Device\\\\X\\\\b.txt\"}"),
        (Format::Html, "\"a.exe -x\""),
        (Format::Html, "\"\\\\Device\\\\X\\\\b.txt\""),
    ] {
        let mut reader = Reader::open(&path).unwrap();
        let mut exporter = Exporter::new(Vec::new(), format).unwrap().with_decoder(Decoder::from_reader(&reader, []));
        while let Some(event) = reader.next_ref() {
            exporter.event_ref(&event).unwrap();
        }
        let text = String::from_utf8(exporter.finish().unwrap()).unwrap();
        assert!(text.contains(wanted), "{format:?} has no {wanted}: {text}");
    }
}

#[test]
fn each_field_of_one_kind_of_event_has_a_column() {
    let path = sample("columns.etl");
    let mut exporter = Exporter::new(Vec::new(), Format::CsvFields).unwrap();
    let mut reader = Reader::open(&path).unwrap();
    let mut decoder = Decoder::from_reader(&reader, []);
    for event in reader.by_ref().filter(|event| [READ, SET_NAME].contains(&event.header.descriptor.id)) {
        exporter.decoded(&event.as_ref(), &decoder.decode(&event.as_ref())).unwrap();
    }
    let text = String::from_utf8(exporter.finish().unwrap()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].ends_with("file,key,message,ProcessId,ThreadId,ThreadName,more"), "{}", lines[0]);
    assert!(lines[1].ends_with(",500,70,worker,"), "{}", lines[1]);
    assert!(lines[2].contains(",,,,\"{\"\"Offset\"\":0,"), "fields without a column: {}", lines[2]);
}

#[test]
fn the_manifest_provider_of_the_kernel_names_processes_as_well() {
    let path = folder("names").join("manifest.etl");
    let mut writer = Writer::create(&path, options()).unwrap();
    let provider = Guid::parse("22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716").unwrap();
    let event = |id, version| EventDescriptor { id, version, ..EventDescriptor::default() };
    let start = [words(&[500, 0, 0, 4, 1, 0]), wide("\\Device\\X\\Long-Process-Name.exe")].concat();
    // Times, codes and counts, and the first 14 characters of the name.
    let stop = [words(&[500, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), b"Long-Process-N\0".to_vec()].concat();
    let other = EventData { provider: Guid::from_u128(7), process_id: 500, ..EventData::default() };
    for (timestamp, data) in [
        (1_000_010, EventData { provider, descriptor: event(1, 1), payload: &start, ..EventData::default() }),
        (1_000_020, other),
        (1_000_030, EventData { provider, descriptor: event(2, 0), payload: &stop, ..EventData::default() }),
        // A version that is not known, with other fields.
        (1_000_040, EventData { provider, descriptor: event(1, 9), payload: &start, ..EventData::default() }),
        (1_000_050, other),
    ] {
        writer.write(0, &EventData { timestamp, ..data }).unwrap();
    }
    writer.close().unwrap();
    let mut reader = Reader::open(&path).unwrap();
    let names = reader.names();
    let all: Vec<_> =
        names.processes().map(|process| (&*process.name, process.parent, process.start, process.end)).collect();
    assert_eq!(all, [("Long-Process-Name.exe", Some(4), Some(1_000_010), Some(1_000_030))]);
    let mut decoder = Decoder::from_reader(&reader, []);
    for event in reader.by_ref().filter(|event| event.header.provider == Some(Guid::from_u128(7))) {
        let process = decoder.decode(&event.as_ref()).names.process.unwrap();
        assert_eq!(&*process.name, "Long-Process-Name.exe");
    }
}
