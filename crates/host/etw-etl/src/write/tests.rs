//! Tests of a writer on a disk that fails.

use std::collections::BTreeMap;
use std::io::{self, Cursor};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::storage::{Opener, Storage};
use super::{BufferOutcome, FileMode, Writer, WriterOptions};
use crate::testing::clock;
use crate::{Error, EventData, Kind, Reader, ReaderOptions};

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
    }
    assert_eq!((failures, writer.summary().events, writer.summary().events_lost), (2, 4, 4));
    disk.0.lock().unwrap().room = 10_000;
    let summary = writer.close().unwrap();
    assert_eq!((summary.events, summary.events_lost), (5, 4), "room again: the last event is written");
    assert_eq!(stamps(disk.file("full.etl")), [0, 1, 2, 3, 8]);
    let reader = Reader::new(Cursor::new(disk.file("full.etl")), ReaderOptions::default()).unwrap();
    assert_eq!((reader.report().events_lost, reader.report().buffers_lost), (4, 2));
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
    assert_eq!((summary.events, summary.events_lost), (4, 4));
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
    assert_eq!((summary.files, summary.path, summary.events), (3, PathBuf::from("n3.etl"), 10));
    assert_eq!(stamps(disk.file("n1.etl")), [0, 1, 2, 3]);
    assert_eq!(stamps(disk.file("n2.etl")), [4, 5, 6, 7]);
    assert_eq!(stamps(disk.file("n3.etl")), [8, 9]);
    let header = Reader::new(Cursor::new(disk.file("n2.etl")), ReaderOptions::default()).unwrap().header().clone();
    assert_eq!((header.buffers_written, header.file_name.as_str()), (3, "n2.etl"));
}

#[test]
fn a_file_can_be_left_for_the_next_one_before_it_is_full() {
    let disk = Shared::with_room(usize::MAX);
    let mut writer = disk.writer("a%d.etl", options(FileMode::NewFile { max_bytes: 3 * 1024 }));
    writer.write(0, &event(1)).unwrap();
    writer.advance().unwrap();
    writer.write(0, &event(2)).unwrap();
    assert_eq!(writer.close().unwrap().files, 2);
    assert_eq!((stamps(disk.file("a1.etl")), stamps(disk.file("a2.etl"))), (vec![1], vec![2]));
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
        assert_eq!((disk.file("r.etl").len(), stamps(disk.file("r.etl"))), (4096, vec![7]));
        let reader = Reader::new(Cursor::new(disk.file("r.etl")), ReaderOptions::default()).unwrap();
        assert_eq!(reader.report().unwritten_bytes, 2048);
        writer.close().unwrap();
        assert_eq!((disk.file("r.etl").len(), stamps(disk.file("r.etl"))), (2048, vec![7]));
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
fn a_writer_can_move_to_the_thread_that_flushes() {
    fn needs_send<T: Send>(value: T) -> T {
        value
    }
    let disk = Shared::with_room(usize::MAX);
    drop(needs_send(disk.writer("t.etl", options(FileMode::Sequential { max_bytes: None }))));
}
