//! Reading a file while it is being written.

use std::fs;
use std::io::Cursor;

use crate::common::{folder, options, write};
use etw_etl::{Event, Reader, ReaderOptions, Writer};

fn names(reader: &mut Reader<Cursor<Vec<u8>>>) -> Vec<String> {
    reader.by_ref().filter(Event::is_trace_logging).filter_map(|event| event.decode().event).collect()
}

/// Returns a complete trace of several buffers.
fn whole(name: &str) -> Vec<u8> {
    let path = folder("growing").join(name);
    let mut writer = Writer::create(&path, options()).unwrap();
    for number in 0..40_u64 {
        write(&mut writer, 0, 2_000_000 + number, &format!("E{number}"), |builder| {
            builder.str8("text", &"x".repeat(100))
        });
    }
    writer.close().unwrap();
    fs::read(&path).unwrap()
}

#[test]
fn data_that_is_not_written_yet_is_not_lost_and_is_read_later() {
    let bytes = whole("cut.etl");
    let expected: Vec<String> = (0..40).map(|number| format!("E{number}")).collect();
    let grows = ReaderOptions { grows: true, ..ReaderOptions::default() };
    // At many offsets after the first buffer: within headers, within records and in the padding after them.
    for cut in (1024..bytes.len()).step_by(97) {
        let mut reader = Reader::new(Cursor::new(bytes[..cut].to_vec()), grows).unwrap();
        let mut found = names(&mut reader);
        assert!(reader.report().is_whole(), "{cut}: {}", reader.report());
        assert!(reader.refresh().unwrap().is_none(), "{cut}: nothing is new");
        assert_eq!(reader.next_time(), None);
        reader.get_mut().get_mut().extend_from_slice(&bytes[cut..]);
        let _ = reader.refresh().unwrap();
        found.extend(names(&mut reader));
        assert_eq!(found, expected, "{cut}");
        assert_eq!(reader.report().buffers, u64::try_from(bytes.len() / 1024).unwrap());
    }
}

#[test]
fn a_file_that_became_shorter_is_an_error() {
    let bytes = whole("short.etl");
    let mut reader =
        Reader::new(Cursor::new(bytes), ReaderOptions { grows: true, ..ReaderOptions::default() }).unwrap();
    reader.get_mut().get_mut().truncate(100);
    assert!(reader.refresh().unwrap_err().to_string().contains("became shorter"));
}

#[test]
fn a_growing_file_may_end_within_the_header_of_a_buffer() {
    let bytes = whole("header.etl");
    let grows = ReaderOptions { grows: true, ..ReaderOptions::default() };
    for (length, is_whole) in [(2048 + 0x47, true), (2048 + 0x48, true), (2048, true)] {
        let reader = Reader::new(Cursor::new(bytes[..length].to_vec()), grows).unwrap();
        assert_eq!(reader.report().is_whole(), is_whole, "{length}");
        assert_eq!(reader.report().buffers, 2, "{length}");
    }
    // A header that is damaged is a loss in a growing file, too.
    let mut damaged = bytes[..3 * 1024].to_vec();
    damaged[2048..2052].fill(0xFF);
    let reader = Reader::new(Cursor::new(damaged), grows).unwrap();
    assert_eq!(reader.report().losses.len(), 1);
    assert_eq!(reader.report().lost_bytes, 1024);
    // Space that is reserved is not written yet.
    let reserved = [&bytes[..2048], &[0; 4096]].concat();
    let mut reader = Reader::new(Cursor::new(reserved), grows).unwrap();
    assert_eq!(reader.report().unwritten_bytes, 0);
    assert_eq!(reader.report().buffers, 2);
    reader.get_mut().get_mut()[2048..3072].copy_from_slice(&bytes[2048..3072]);
    assert!(reader.refresh().unwrap().is_some());
    assert_eq!(reader.report().buffers, 3);
}

#[test]
fn a_reader_starts_again_and_tells_times_in_advance() {
    let mut reader = Reader::new(Cursor::new(whole("again.etl")), ReaderOptions::default()).unwrap();
    let first = names(&mut reader);
    reader.rewind();
    let mut again = Vec::new();
    while let Some(time) = reader.next_time() {
        let event = reader.next().unwrap();
        assert_eq!(event.header.time, time);
        again.extend(event.decode().event);
    }
    assert_eq!(again, first);
}

#[test]
fn what_a_session_loses_while_its_file_is_followed_is_counted() {
    let path = folder("growing").join("losing.etl");
    let mut writer = Writer::create(&path, options()).unwrap();
    let mut reader = Reader::open_with(&path, ReaderOptions { grows: true, ..ReaderOptions::default() }).unwrap();
    assert!(!reader.report().has_session_losses());
    writer.add_lost(3, 1);
    write(&mut writer, 0, 2_000_000, "E", |builder| builder);
    writer.flush().unwrap();
    assert!(reader.refresh().unwrap().is_some());
    assert_eq!(reader.report().events_lost, 3);
    assert_eq!(reader.report().buffers_lost, 1);
}
