//! Tests of a writer on a disk that fails.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Cursor};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::storage::{Opener, Storage};
use super::{BufferOutcome, FileMode, Writer, WriterOptions};
use crate::format::buffer::BufferHeader;
use crate::format::logfile::LogfileHeader;
use crate::testing::clock;
use crate::{
    Buffer, Clock, ClockKind, Error, EventData, ExtendedItem, ExtendedType, FileTime, Full, Kind, Reader, ReaderOptions,
};

/// A disk: its files and the number of free bytes.
#[derive(Default)]
struct Disk {
    files: BTreeMap<PathBuf, Vec<u8>>,
    room: usize,
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Disk>>);

impl Shared {
    fn with_room(room: usize) -> Self {
        let disk = Self::default();
        disk.0.lock().unwrap().room = room;
        disk
    }

    fn opener(&self) -> Opener {
        let disk = self.clone();
        Box::new(move |path| {
            disk.0.lock().unwrap().files.insert(path.to_owned(), Vec::new());
            Ok(Box::new(DiskFile { disk: disk.clone(), path: path.to_owned() }) as Box<dyn Storage>)
        })
    }

    fn file(&self, path: &str) -> Vec<u8> {
        self.0.lock().unwrap().files[Path::new(path)].clone()
    }

    fn writer(&self, path: &str, options: WriterOptions) -> Writer {
        Writer::with_opener(Path::new(path), options, self.opener()).unwrap()
    }
}

struct DiskFile {
    disk: Shared,
    path: PathBuf,
}

impl Storage for DiskFile {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut disk = self.disk.0.lock().unwrap();
        let room = disk.room;
        let file = disk.files.get_mut(&self.path).unwrap();
        let start = usize::try_from(offset).unwrap();
        let new = (start + bytes.len()).saturating_sub(file.len());
        // A full disk accepts as much as still fits.
        let taken = bytes.len() - new.saturating_sub(room);
        let end = start + taken;
        if end > file.len() {
            file.resize(end, 0);
        }
        file[start..end].copy_from_slice(&bytes[..taken]);
        disk.room -= new.min(room);
        if taken == bytes.len() { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let mut disk = self.disk.0.lock().unwrap();
        let file = disk.files.get_mut(&self.path).unwrap();
        let length = usize::try_from(length).unwrap();
        let freed = file.len().saturating_sub(length);
        file.truncate(length);
        disk.room += freed;
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn options(mode: FileMode) -> WriterOptions {
    WriterOptions { buffer_size: 1024, mode, clock: clock(), ..WriterOptions::default() }
}

fn event(timestamp: u64) -> EventData<'static> {
    EventData { timestamp, payload: &[0xAA; 300], ..EventData::default() }
}

/// Returns the time stamps of the manifest events of a file, which must have no losses.
fn stamps(bytes: Vec<u8>) -> Vec<u64> {
    let reader = Reader::new(Cursor::new(bytes), ReaderOptions::default()).unwrap();
    assert!(reader.report().is_whole(), "{}", reader.report());
    reader.filter(|event| event.kind() == Kind::Manifest).map(|event| event.header.stamp).collect()
}

#[test]
fn a_full_disk_is_an_error_with_the_path_and_what_was_written_stays_readable() {
    // The header, two buffers, and half of a third: two events fit into a buffer.
    let disk = Shared::with_room(3 * 1024 + 500);
    let mut writer = disk.writer("full.etl", options(FileMode::Sequential { max_bytes: None }));
    let mut failures = 0;
    for stamp in 0..9 {
        if let Err(error) = writer.write(0, &event(stamp)) {
            assert!(matches!(error, Error::Io { .. }), "{error}");
            assert!(error.to_string().starts_with("cannot write full.etl: "), "{error}");
            failures += 1;
        }
        assert!(stamps(disk.file("full.etl")).is_sorted());
        // The file shows the loss at once: the process may die.
        let reader = Reader::new(Cursor::new(disk.file("full.etl")), ReaderOptions::default()).unwrap();
        assert_eq!(u64::from(reader.report().events_lost), writer.summary().events_lost);
    }
    assert_eq!(failures, 2);
    assert_eq!(writer.summary().events, 4);
    assert_eq!(writer.summary().events_lost, 4);
    disk.0.lock().unwrap().room = 10_000;
    let summary = writer.close().unwrap();
    assert_eq!(summary.events, 5, "room again: the last event is written");
    assert_eq!(summary.events_lost, 4, "room again: the last event is written");
    assert_eq!(stamps(disk.file("full.etl")), [0, 1, 2, 3, 8]);
    let reader = Reader::new(Cursor::new(disk.file("full.etl")), ReaderOptions::default()).unwrap();
    assert_eq!(reader.report().events_lost, 4);
    assert_eq!(reader.report().buffers_lost, 2);
}

#[test]
fn a_full_disk_at_the_start_is_an_error_with_the_path() {
    let options = options(FileMode::Sequential { max_bytes: None });
    let error = Writer::with_opener(Path::new("no.etl"), options, Shared::with_room(10).opener()).unwrap_err();
    assert!(error.to_string().starts_with("cannot write no.etl: "), "{error}");
}

#[test]
fn a_sequential_file_ends_at_its_largest_size_and_counts_the_rest() {
    let disk = Shared::with_room(usize::MAX);
    let mut writer = disk.writer("s.etl", options(FileMode::Sequential { max_bytes: Some(3 * 1024) }));
    for stamp in 0..8 {
        writer.write(0, &event(stamp)).unwrap();
    }
    assert_eq!(writer.flush_cpu(0).unwrap(), BufferOutcome::FileFull);
    assert_eq!(writer.flush_cpu(0).unwrap(), BufferOutcome::Empty);
    let summary = writer.close().unwrap();
    assert_eq!(summary.events, 4);
    assert_eq!(summary.events_lost, 4);
    assert_eq!(stamps(disk.file("s.etl")), [0, 1, 2, 3]);
}

#[test]
fn a_circular_file_keeps_the_latest_buffers() {
    let disk = Shared::with_room(usize::MAX);
    let mut writer = disk.writer("c.etl", options(FileMode::Circular { max_bytes: 4 * 1024 }));
    for stamp in 0..20 {
        writer.write(0, &event(stamp)).unwrap();
        assert!(stamps(disk.file("c.etl")).is_sorted(), "readable at any time, in order");
    }
    writer.close().unwrap();
    assert_eq!(disk.file("c.etl").len(), 4 * 1024);
    assert_eq!(stamps(disk.file("c.etl")), [14, 15, 16, 17, 18, 19]);
}

#[test]
fn a_new_file_is_begun_when_one_is_full_and_each_is_whole() {
    let disk = Shared::with_room(usize::MAX);
    let mut writer = disk.writer("n%d.etl", options(FileMode::NewFile { max_bytes: 3 * 1024 }));
    for stamp in 0..10 {
        writer.write(0, &event(stamp)).unwrap();
    }
    let summary = writer.close().unwrap();
    assert_eq!(summary.files, 3);
    assert_eq!(summary.path, PathBuf::from("n3.etl"));
    assert_eq!(summary.events, 10);
    assert_eq!(stamps(disk.file("n1.etl")), [0, 1, 2, 3]);
    assert_eq!(stamps(disk.file("n2.etl")), [4, 5, 6, 7]);
    assert_eq!(stamps(disk.file("n3.etl")), [8, 9]);
    let header = Reader::new(Cursor::new(disk.file("n2.etl")), ReaderOptions::default()).unwrap().header().clone();
    assert_eq!(header.buffers_written, 3);
    assert_eq!(header.file_name.as_str(), "n2.etl");
}

#[test]
fn a_file_can_be_left_for_the_next_one_before_it_is_full() {
    let disk = Shared::with_room(usize::MAX);
    let mut writer = disk.writer("a%d.etl", options(FileMode::NewFile { max_bytes: 3 * 1024 }));
    writer.write(0, &event(1)).unwrap();
    writer.advance().unwrap();
    writer.write(0, &event(2)).unwrap();
    assert_eq!(writer.close().unwrap().files, 2);
    assert_eq!(stamps(disk.file("a1.etl")), vec![1]);
    assert_eq!(stamps(disk.file("a2.etl")), vec![2]);
    let mut writer = disk.writer("b.etl", options(FileMode::Sequential { max_bytes: None }));
    assert!(matches!(writer.advance(), Err(Error::Options(_))));
}

#[test]
fn a_reserved_file_is_as_large_as_it_may_get_until_it_is_closed() {
    for mode in [FileMode::Sequential { max_bytes: Some(5000) }, FileMode::Circular { max_bytes: 4096 }] {
        let disk = Shared::with_room(usize::MAX);
        let mut writer = disk.writer("r.etl", WriterOptions { preallocate: true, ..options(mode) });
        assert_eq!(disk.file("r.etl").len(), 4096);
        writer.write(0, &event(7)).unwrap();
        writer.flush().unwrap();
        assert_eq!(disk.file("r.etl").len(), 4096);
        assert_eq!(stamps(disk.file("r.etl")), vec![7]);
        let reader = Reader::new(Cursor::new(disk.file("r.etl")), ReaderOptions::default()).unwrap();
        assert_eq!(reader.report().unwritten_bytes, 2048);
        writer.close().unwrap();
        assert_eq!(disk.file("r.etl").len(), 2048);
        assert_eq!(stamps(disk.file("r.etl")), vec![7]);
    }
}

#[test]
fn space_that_cannot_be_reserved_is_an_error_at_the_start() {
    let options = WriterOptions { preallocate: true, ..options(FileMode::Sequential { max_bytes: Some(4096) }) };
    let disk = Shared::with_room(2000);
    let error = Writer::with_opener(Path::new("r.etl"), options.clone(), disk.opener()).unwrap_err();
    assert!(error.to_string().starts_with("cannot reserve r.etl: "), "{error}");
    assert_eq!(disk.file("r.etl").len(), 1024, "what was reserved is given back");
    let endless = WriterOptions { mode: FileMode::Sequential { max_bytes: None }, ..options };
    assert!(matches!(Writer::with_opener(Path::new("r"), endless, disk.opener()), Err(Error::Options(_))));
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let sequential = options(FileMode::Sequential { max_bytes: None });
    for (options, path) in [
        (WriterOptions { buffer_size: 512, ..sequential.clone() }, "a"),
        (WriterOptions { buffer_size: 1025, ..sequential.clone() }, "a"),
        (WriterOptions { buffer_size: 1 << 25, ..sequential.clone() }, "a"),
        (WriterOptions { cpu_mhz: 0, ..sequential.clone() }, "a"),
        (WriterOptions { session_name: "a\0".into(), ..sequential.clone() }, "a"),
        (WriterOptions { session_name: "n".repeat(600), ..sequential }, "a"),
        (options(FileMode::Circular { max_bytes: 1024 }), "a"),
        (options(FileMode::NewFile { max_bytes: 4096 }), "a"),
    ] {
        let result = Writer::with_opener(Path::new(path), options, Shared::with_room(usize::MAX).opener());
        assert!(matches!(result, Err(Error::Options(_))));
    }
}

#[test]
fn the_limits_of_options_are_allowed() {
    let sequential = options(FileMode::Sequential { max_bytes: None });
    for (options, path) in [
        (WriterOptions { buffer_size: 16 << 20, ..sequential.clone() }, "a"),
        (WriterOptions { buffer_size: 1032, ..sequential }, "a"),
        (options(FileMode::Circular { max_bytes: 2048 }), "a"),
        (options(FileMode::NewFile { max_bytes: 2048 }), "a%d"),
    ] {
        header_of(&options, path);
    }
}

/// Begins a trace. Returns its header.
fn header_of(options: &WriterOptions, path: &str) -> LogfileHeader {
    let disk = Shared::with_room(usize::MAX);
    let writer = disk.writer(path, options.clone());
    let bytes = disk.file(writer.summary().path.to_str().unwrap());
    Reader::new(Cursor::new(bytes), ReaderOptions::default()).unwrap().header().clone()
}

#[test]
fn names_with_a_nul_are_refused() {
    let name = |name: &str| WriterOptions {
        file_name: Some(name.into()),
        ..options(FileMode::Sequential { max_bytes: None })
    };
    assert_eq!(header_of(&name("b"), "a").file_name, "b");
    let result = Writer::with_opener(Path::new("a"), name("b\0"), Shared::with_room(usize::MAX).opener());
    assert!(matches!(result, Err(Error::Options(_))));
    let stopped = WriterOptions { clock: Clock { frequency: 0, ..clock() }, ..name("b") };
    let result = Writer::with_opener(Path::new("a"), stopped, Shared::with_room(usize::MAX).opener());
    assert!(matches!(result, Err(Error::Options(_))));
}

#[test]
fn a_header_has_the_mode_and_the_largest_size_of_its_file() {
    let of = |mode, preallocate| {
        let options = WriterOptions { preallocate, mode_bits: 0x100, processors: 0, ..options(mode) };
        let header = header_of(&options, "a%d");
        let start = options.clock.start.0;
        assert_eq!(header.processors, 1, "the file is not closed");
        assert_eq!(header.end_time, 0, "the file is not closed");
        assert_eq!(header.start_time, start, "the file is not closed");
        assert_eq!(header.boot_time, options.boot_time.0);
        assert_eq!(header.provider_version, 26_100);
        assert_eq!(header.cpu_mhz, 1000);
        (header.log_file_mode, header.maximum_file_size)
    };
    assert_eq!(of(FileMode::Sequential { max_bytes: None }, false), (0x101, 0));
    assert_eq!(of(FileMode::Sequential { max_bytes: Some(3 << 20) }, false), (0x101, 3));
    assert_eq!(of(FileMode::Circular { max_bytes: 2048 }, false), (0x2102, 2));
    assert_eq!(of(FileMode::NewFile { max_bytes: 3000 }, false), (0x2108, 3), "in KiB, rounded up");
    assert_eq!(of(FileMode::Circular { max_bytes: 2048 }, true), (0x2122, 2));
}

#[test]
fn a_record_has_the_room_that_is_left() {
    let mut buffer = Buffer::new(1024, 2);
    assert_eq!(buffer.push_record(&[1; 1024 - 0x48 + 1], 0), Err(Full));
    assert_eq!(buffer.push_record(&[1; 1024 - 0x48], 5), Ok(()), "all of it");
    assert_eq!(buffer.push_record(&[1], 0), Err(Full));
    assert_eq!(buffer.events(), 1);
    assert_eq!(buffer.last_stamp(), 5);
    buffer.clear();
    assert!(buffer.is_empty());
    assert_eq!(buffer.events(), 0);
    assert_eq!(buffer.last_stamp(), 0);
    assert_eq!(buffer.cpu(), 2);
    // Records are aligned to eight bytes, and the gaps are filled.
    buffer.push_record(&[1; 3], 9).unwrap();
    buffer.push_record(&[2; 8], 4).unwrap();
    assert_eq!(buffer.events(), 2);
    assert_eq!(buffer.last_stamp(), 9);
    let bytes = buffer.finish(0, 0, 0, 0, 0);
    assert_eq!(
        bytes[0x48..0x60],
        [1, 1, 1, 255, 255, 255, 255, 255, 2, 2, 2, 2, 2, 2, 2, 2, 255, 255, 255, 255, 255, 255, 255, 255]
    );
    assert_eq!(BufferHeader::parse(bytes).unwrap().filled, 0x58);
    assert_eq!(buffer.into_bytes().len(), 1024);
    assert_eq!(Full.to_string(), "the event does not fit into the buffer");
    let mut large = Buffer::new(0x2_0000, 0);
    assert_eq!(large.push_record(&vec![1; 0x1_0000], 0), Err(Full));
    assert_eq!(large.push_record(&vec![1; 0xFFFF], 0), Ok(()));
}

#[test]
fn records_in_memory_become_a_buffer_if_they_fit() {
    let of = |size, length, used| Buffer::from_records(size, 3, 7, vec![0; length], used).map(|buffer| buffer.events());
    assert_eq!(of(1024, 1024, 1024), Ok(7));
    assert_eq!(of(1024, 0x48, 0x48), Ok(7));
    assert_eq!(of(1024, 1024, 0x47), Err(Full));
    assert_eq!(of(1024, 2048, 1025), Err(Full));
    assert_eq!(of(1024, 1000, 1001), Err(Full));
}

#[test]
fn a_buffer_without_counted_events_is_not_lost() {
    let disk = Shared::with_room(1024);
    let mut writer = disk.writer("a.etl", options(FileMode::Sequential { max_bytes: None }));
    let mut buffer = Buffer::from_records(1024, 0, 0, vec![0; 1024], 0x58).unwrap();
    assert!(writer.write_buffer(&mut buffer, 0).is_err());
    assert_eq!(writer.summary().events_lost, 0);
    assert_eq!(writer.file.header.buffers_lost, 0);
    let text = format!("{writer:?}");
    assert!(text.starts_with("Writer {"), "{text}");
    assert!(text.contains("a.etl"), "{text}");
}

#[test]
fn an_event_fits_if_it_is_not_larger_than_its_record() {
    let items = [ExtendedItem { kind: ExtendedType::SID, data: &[1; 5] }; 2];
    let event = EventData { items: &items, payload: &[7; 3], flags: 1, ..EventData::default() };
    assert_eq!(event.encoded_len(), 0x50 + 2 * 16 + 3);
    let mut bytes = vec![0; event.encoded_len() + 5];
    assert_eq!(event.encode(&mut bytes[..event.encoded_len() - 1]), None);
    assert_eq!(event.encode(&mut bytes), Some(event.encoded_len()));
    // The size, the flag of the items, and whether another item follows.
    assert_eq!(bytes[0], 0x73);
    assert_eq!(bytes[4], 1);
    assert_eq!(bytes[0x54], 1);
    assert_eq!(bytes[0x64], 0);
    let payload = vec![0; 0x1_0000];
    for (length, fits) in [(0xFFFF - 0x50, true), (0x1_0000 - 0x50, false)] {
        let event = EventData { payload: &payload[..length], ..EventData::default() };
        assert_eq!(event.encode(&mut vec![0; 0x1_0000]).is_some(), fits);
    }
}

/// Options of files that can be continued.
fn continued(max_bytes: Option<u64>) -> WriterOptions {
    let clock = Clock { kind: ClockKind::SystemTime, start_stamp: 0, ..clock() };
    WriterOptions { clock, processors: 2, ..options(FileMode::Sequential { max_bytes }) }
}

#[test]
fn a_file_is_continued_where_it_ended() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.etl");
    let write = |stamps: std::ops::Range<u64>| {
        let mut writer = Writer::append(&path, continued(None)).unwrap();
        stamps.for_each(|stamp| writer.write(0, &event(stamp)).unwrap());
        writer.add_lost(2, 1);
        writer.close_at(FileTime(9)).unwrap()
    };
    assert_eq!(write(1..4).events, 3, "a new file");
    // What a process left that died while it wrote a buffer.
    let mut bytes = fs::read(&path).unwrap();
    assert_eq!(bytes.len(), 3 * 1024);
    bytes.extend([7; 500]);
    fs::write(&path, &bytes).unwrap();
    let summary = write(4..5);
    assert_eq!(summary.events, 1);
    assert_eq!(summary.events_lost, 4);
    assert_eq!(summary.files, 1);
    assert_eq!(summary.buffers, 1);
    assert_eq!(stamps(fs::read(&path).unwrap()), [1, 2, 3, 4]);
    let reader = Reader::open(&path).unwrap();
    assert_eq!(reader.header().buffers_written, 4);
    assert_eq!(reader.header().events_lost, 4);
    let sequence = |buffer: usize| BufferHeader::parse(&fs::read(&path).unwrap()[buffer * 1024..]).unwrap().sequence;
    assert_eq!([0, 1, 2, 3].map(sequence), [0, 1, 2, 3]);
}

#[test]
fn space_is_reserved_for_a_file_that_is_continued() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.etl");
    Writer::create(&path, continued(Some(4096))).unwrap().close().unwrap();
    let reserved = WriterOptions { preallocate: true, ..continued(Some(4096)) };
    let writer = Writer::append(&path, reserved).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), 4096);
    writer.close().unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), 1024);
    Writer::append(&path, continued(Some(4096))).unwrap().close().unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), 1024, "no space without the option");
}

#[test]
fn only_a_file_with_the_same_options_is_continued() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.etl");
    let same = continued(None);
    Writer::create(&path, same.clone()).unwrap().close().unwrap();
    let whole = fs::read(&path).unwrap();
    let error = |options| Writer::append(&path, options).unwrap_err();
    let ticks = Clock { kind: ClockKind::PerformanceCounter, ..same.clock };
    for options in [
        WriterOptions { processors: 3, ..same.clone() },
        WriterOptions { clock: ticks, ..same.clone() },
        WriterOptions { mode: FileMode::Circular { max_bytes: 4096 }, ..same.clone() },
        WriterOptions { cpu_mhz: 0, ..same.clone() },
    ] {
        assert!(matches!(error(options), Error::Options(_)));
    }
    assert!(matches!(error(WriterOptions { buffer_size: 2048, ..same.clone() }), Error::NotATrace { .. }));
    // The header of the file: pointer size, mode, clock, processors, buffer size; and the size of the first buffer.
    let body = 0x48 + 0x20;
    for (place, byte) in [
        (body + 0x2C, 5),
        (body + 0x20, 2),
        (body + 0x23, 4),
        (body + 0xF8 + 0x18, 1),
        (body + 0x0C, 9),
        (body, 8),
        (0, 8),
    ] {
        let mut bytes = whole.clone();
        bytes[place] = byte;
        fs::write(&path, &bytes).unwrap();
        assert!(matches!(error(same.clone()), Error::Options(_)), "{place:#x}");
    }
    let mut bytes = whole.clone();
    bytes[0x48 + 2] = 0;
    fs::write(&path, &bytes).unwrap();
    assert!(matches!(error(same.clone()), Error::NotATrace { .. }), "no logfile header");
    fs::write(&path, &whole).unwrap();
    Writer::append(&path, same).unwrap().close().unwrap();
}

#[test]
fn a_file_that_is_being_written_is_not_continued() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.etl");
    let writer = Writer::create(&path, continued(None)).unwrap();
    for result in [Writer::append(&path, continued(None)), Writer::create(&path, continued(None))] {
        assert!(result.unwrap_err().to_string().ends_with(": another recording writes to it"));
    }
    writer.close().unwrap();
    Writer::append(&path, continued(None)).unwrap().close().unwrap();
}

#[test]
fn a_writer_can_move_to_the_thread_that_flushes() {
    fn needs_send<T: Send>(value: T) -> T {
        value
    }
    let disk = Shared::with_room(usize::MAX);
    drop(needs_send(disk.writer("t.etl", options(FileMode::Sequential { max_bytes: None }))));
}
