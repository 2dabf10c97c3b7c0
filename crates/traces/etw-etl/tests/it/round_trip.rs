//! The reader reads what the writer wrote: all events, in order, with bounded memory, even if the file was never closed.

use std::fs;
use std::io::Cursor;

use crate::common;
use crate::common::{START, folder, options, write};
use etw_etl::{
    Buffer, BufferOutcome, Clock, ClockKind, Error, Event, EventData, FileMode, FileTime, Kind, LossReason, Reader,
    ReaderOptions, Writer, WriterOptions,
};

#[test]
fn a_closed_file_says_what_is_in_it() {
    let path = folder("closed").join("a.etl");
    common::write_simple(&path);
    let reader = Reader::open(&path).unwrap();
    let header = reader.header();
    assert_eq!(header.logger_name, "test session");
    assert_eq!(header.file_name, "C:\\trace.etl");
    assert_eq!(header.start_time, START.0);
    assert_eq!(header.end_time, START.0 + 10_000_000);
    assert_eq!(u64::from(header.buffers_written), reader.report().buffers);
    assert_eq!(header.processors, 4);
    assert_eq!(header.clock_type, 1);
    assert_eq!(header.perf_freq, 10_000_000);
    assert_eq!(reader.report().buffers * 1024, fs::metadata(&path).unwrap().len());
    assert!(reader.report().is_whole());
}

#[test]
fn a_file_without_another_name_is_called_by_its_path() {
    let path = folder("closed").join("b.etl");
    Writer::create(&path, WriterOptions { file_name: None, ..options() }).unwrap().close().unwrap();
    let reader = Reader::open(&path).unwrap();
    assert_eq!(reader.header().file_name, path.to_string_lossy());
    assert_eq!(reader.count(), 2, "nothing but the header");
}

#[test]
fn events_of_several_processors_come_in_the_order_of_time() {
    let path = folder("order").join("a.etl");
    let mut writer = Writer::create(&path, options()).unwrap();
    for number in 0..500_u32 {
        let cpu = u16::try_from(number * 7 % 5).unwrap();
        write(&mut writer, cpu, 1_000_000 + u64::from(number), "E", |builder| builder.u32("n", number));
    }
    writer.close().unwrap();
    let mut reader = Reader::open(&path).unwrap();
    let numbers: Vec<String> =
        reader.by_ref().filter(Event::is_trace_logging).map(|e| e.decode().to_string()).collect();
    let expected: Vec<String> = (0..500).map(|number| format!("Wdk.Etw.Etl/E n={number}")).collect();
    assert_eq!(numbers, expected);
    let cpus: Vec<u16> = Reader::open(&path).unwrap().skip(2).take(3).map(|event| event.header.cpu).collect();
    assert_eq!(cpus, [0, 2, 4]);
    assert_eq!(reader.header().processors, 5, "more than the options said");
    assert_eq!(reader.memory_held(), 0);
}

#[test]
fn order_holds_with_room_for_a_single_buffer_and_events_out_of_order() {
    let path = folder("little").join("a.etl");
    let mut writer = Writer::create(&path, options()).unwrap();
    // A permutation of all time stamps that is nowhere in order, so that every buffer overlaps every other.
    for number in 0..1000_u64 {
        let event = EventData { timestamp: 1_000_000 + number * 611 % 1000, ..EventData::default() };
        writer.write(u16::try_from(number % 2).unwrap(), &event).unwrap();
    }
    writer.close().unwrap();
    let mut reader = Reader::open_with(&path, ReaderOptions { memory: 0, grows: false }).unwrap();
    let mut most = 0;
    let mut stamps = Vec::new();
    while let Some(event) = reader.next() {
        most = most.max(reader.memory_held());
        stamps.push(event.header.stamp);
    }
    assert_eq!(stamps.len(), 1002);
    assert!(stamps.is_sorted());
    assert!(most < 4096, "{most}");
    let whole: Vec<u64> = Reader::open(&path).unwrap().map(|event| event.header.stamp).collect();
    assert_eq!(whole, stamps, "memory changes the time, not the result");
}

#[test]
fn buffers_are_kept_up_to_the_limit_of_memory() {
    let path = folder("limit").join("a.etl");
    let mut writer = Writer::create(&path, options()).unwrap();
    // Four processors in turn, so that three buffers always wait while one is current.
    for number in 0..400_u64 {
        let event = EventData { timestamp: 1_000_000 + number, ..EventData::default() };
        writer.write(u16::try_from(number % 4).unwrap(), &event).unwrap();
    }
    writer.close().unwrap();
    let most = |memory| {
        let mut reader = Reader::open_with(&path, ReaderOptions { memory, grows: false }).unwrap();
        let mut most = 0;
        let mut count = 0;
        while reader.next_ref().is_some() {
            count += 1;
            most = most.max(reader.memory_held());
        }
        assert_eq!(count, 402, "{memory}");
        assert_eq!(reader.memory_held(), 0, "{memory}");
        most
    };
    let all = most(usize::MAX);
    let one = most(0);
    assert!((1..2048).contains(&one), "one buffer is kept, even if it is larger than the limit: {one}");
    assert!(all > 2 * one, "the waiting buffers are kept: {all}, {one}");
    assert_eq!(most(all), all, "the limit itself is allowed");
    let less = most(all - 1);
    assert!((one + 1..all).contains(&less), "only what exceeds the limit is dropped: {less} of {all}");
}

#[test]
fn a_process_that_dies_leaves_what_was_flushed() {
    let path = folder("dies").join("a.etl");
    let mut writer = Writer::create(&path, options()).unwrap();
    for number in 0..50_u32 {
        write(&mut writer, 0, 1_000_000 + u64::from(number), "E", |builder| builder.u32("n", number));
    }
    let flushed = writer.summary().events;
    // A killed process does not flush, close or drop the writer.
    std::mem::forget(writer);
    let reader = Reader::open(&path).unwrap();
    assert!(reader.report().is_whole(), "{}", reader.report());
    let header = reader.header().clone();
    assert_eq!(u64::from(header.buffers_written), reader.report().buffers);
    assert!(reader.report().is_unclosed);
    assert_eq!(header.end_time, 0, "only closing the file writes the time of its end");
    assert!(flushed > 40);
    assert_eq!(Reader::open(&path).unwrap().filter(Event::is_trace_logging).count() as u64, flushed);
}

#[test]
fn a_writer_that_is_dropped_writes_everything() {
    let path = folder("dropped").join("a.etl");
    let mut writer = Writer::create(&path, options()).unwrap();
    write(&mut writer, 3, 1_000_005, "E", |builder| builder);
    drop(writer);
    assert_eq!(Reader::open(&path).unwrap().filter(Event::is_trace_logging).count(), 1);
}

#[test]
fn a_file_cut_anywhere_gives_the_events_before_the_cut() {
    let path = folder("cut").join("a.etl");
    common::write_simple(&path);
    let bytes = fs::read(&path).unwrap();
    let whole: Vec<Vec<u8>> = Reader::open(&path).unwrap().map(|event| event.record().to_vec()).collect();
    for length in (0..bytes.len()).step_by(24) {
        let Ok(reader) = Reader::new(Cursor::new(&bytes[..length]), ReaderOptions::default()) else {
            assert!(length < 0x48, "{length}");
            continue;
        };
        let report = reader.report().clone();
        let events: Vec<Event> = reader.collect();
        assert_eq!(events.len() as u64, report.events);
        assert!(events.iter().all(|event| whole.iter().any(|record| record == event.record())));
        // A buffer ends with padding, whose loss does not matter.
        let missing = whole.len() > events.len() && length % 1024 != 0;
        assert!(!missing || length % 1024 > 0x48 || !report.is_whole(), "{length}: {report}");
        let is_expected = |reason: &LossReason| match reason {
            LossReason::Truncated | LossReason::NoLogfileHeader => true,
            LossReason::MissingBuffers { written, .. } => *written == bytes.len() as u64 / 1024,
            _ => false,
        };
        assert!(report.losses.iter().all(|loss| is_expected(&loss.reason)), "{length}: {report}");
        // The last buffer ends with padding, too.
        let is_cut = (1024..bytes.len() - 1024).contains(&length);
        assert!(!is_cut || !report.is_whole(), "{length}: {report}");
    }
}

#[test]
fn a_damaged_buffer_costs_itself_and_no_other() {
    let path = folder("damaged").join("a.etl");
    common::write_simple(&path);
    let mut bytes = fs::read(&path).unwrap();
    let whole = Reader::open(&path).unwrap().count();
    let in_second = Reader::new(Cursor::new(&bytes[..2048]), ReaderOptions::default()).unwrap().count()
        - Reader::new(Cursor::new(&bytes[..1024]), ReaderOptions::default()).unwrap().count();
    // Corrupt the size of the second buffer.
    bytes[1024..1028].copy_from_slice(&[0xFF; 4]);
    let reader = Reader::new(Cursor::new(&bytes), ReaderOptions::default()).unwrap();
    assert_eq!(reader.report().losses.len(), 1);
    assert_eq!(reader.report().losses[0].reason, LossReason::BadBufferHeader);
    assert_eq!(reader.report().losses[0].offset, 1024);
    assert_eq!(reader.report().lost_bytes, 1024);
    assert_eq!(reader.count(), whole - in_second);
    // A buffer that was overwritten with zeros.
    bytes[1024..2048].fill(0);
    let reader = Reader::new(Cursor::new(&bytes), ReaderOptions::default()).unwrap();
    assert!(reader.report().losses.iter().any(|loss| loss.reason == LossReason::Zeros));
    assert_eq!(reader.report().unwritten_bytes, 1024);
    assert_eq!(reader.count(), whole - in_second);
}

#[test]
fn a_damaged_logfile_header_costs_the_times_and_nothing_else() {
    let path = folder("headless").join("a.etl");
    common::write_simple(&path);
    let mut bytes = fs::read(&path).unwrap();
    bytes[0x48..0x4C].fill(0);
    let reader = Reader::new(Cursor::new(&bytes), ReaderOptions::default()).unwrap();
    assert!(reader.report().losses.iter().any(|loss| loss.reason == LossReason::NoLogfileHeader));
    assert_eq!(reader.header().buffer_size, 1024, "of the first buffer");
    assert_eq!(reader.filter(Event::is_trace_logging).count(), 20);
}

#[test]
fn a_file_that_is_not_a_trace_is_an_error_with_the_path() {
    let path = folder("not").join("a.etl");
    for bytes in [&b""[..], b"MZ", &[0; 4096], &[0xFF; 4096]] {
        fs::write(&path, bytes).unwrap();
        let error = Reader::open(&path).unwrap_err();
        assert!(matches!(error, Error::NotATrace { .. }), "{error}");
        assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
    }
    let missing = folder("not").join("missing/a.etl");
    for error in
        [Reader::open(&missing).map(drop).unwrap_err(), Writer::create(&missing, options()).map(drop).unwrap_err()]
    {
        assert!(matches!(error, Error::Io { .. }));
        assert!(error.to_string().contains(&missing.display().to_string()), "{error}");
    }
}

#[test]
fn an_event_that_fits_no_buffer_is_refused_and_nothing_else_is_lost() {
    let path = folder("large").join("a.etl");
    let mut writer = Writer::create(&path, options()).unwrap();
    writer.write(0, &EventData { timestamp: 1, ..EventData::default() }).unwrap();
    let error = writer.write(0, &EventData { payload: &[0; 1000], ..EventData::default() }).unwrap_err();
    assert!(matches!(error, Error::EventTooLarge { size: 1080, limit: 952 }), "{error}");
    writer.write(0, &EventData { timestamp: 2, payload: &[0; 952 - 0x50], ..EventData::default() }).unwrap();
    writer.close().unwrap();
    assert_eq!(Reader::open(&path).unwrap().filter(|event| event.kind() == Kind::Manifest).count(), 2);
    let large = WriterOptions { buffer_size: 0x2_0000, ..options() };
    let mut writer = Writer::create(&path, large).unwrap();
    let payload = vec![1; 0xFFFF - 0x50];
    writer.write(0, &EventData { payload: &payload, ..EventData::default() }).unwrap();
    let payload = vec![1; 0x1_0000 - 0x50];
    assert!(writer.write(0, &EventData { payload: &payload, ..EventData::default() }).is_err());
    writer.close().unwrap();
    assert!(Reader::open(&path).unwrap().any(|event| event.payload().len() == 0xFFFF - 0x50));
}

#[test]
fn buffers_that_the_caller_filled_are_written_as_they_are() {
    let path = folder("filled").join("a.etl");
    let mut writer = Writer::create(&path, options()).unwrap();
    let mut buffer = Buffer::new(1024, 3);
    assert_eq!(writer.write_buffer(&mut buffer, 0).unwrap(), BufferOutcome::Empty);
    let mut pushed = 0;
    while buffer.push(&EventData { timestamp: 1_000_000 + pushed, ..EventData::default() }).is_ok() {
        pushed += 1;
    }
    assert_eq!(u64::from(buffer.events()), pushed);
    assert_eq!(buffer.last_stamp(), 999_999 + pushed);
    assert_eq!(writer.write_buffer(&mut buffer, 2_000_000).unwrap(), BufferOutcome::Written);
    assert!(buffer.is_empty());
    assert!(Buffer::new(2048, 0).push_record(&[0; 2048], 0).is_err());
    writer.add_lost(5, 1);
    let mut other = Buffer::new(2048, 0);
    other.push(&EventData::default()).unwrap();
    assert!(writer.write_buffer(&mut other, 0).is_err(), "another size");
    let summary = writer.close().unwrap();
    assert_eq!(summary.events, pushed);
    assert_eq!(summary.events_lost, 6);
    assert_eq!(summary.buffers, 1);
    let reader = Reader::open(&path).unwrap();
    assert_eq!(reader.report().events_lost, 6);
    assert_eq!(reader.report().buffers_lost, 2);
    assert!(reader.skip(2).all(|event| event.header.cpu == 3));
}

#[test]
fn times_follow_the_clock_of_the_session() {
    let path = folder("clocks").join("a.etl");
    for (kind, frequency, start_stamp, stamp, time) in [
        (ClockKind::PerformanceCounter, 3_000_000, 30, 60_000_030, START.0 + 200_000_000),
        (ClockKind::SystemTime, 10_000_000, START.0.cast_unsigned(), START.0.cast_unsigned() + 7, START.0 + 7),
        (ClockKind::Cycles, 2_000_000_000, 1000, 2_000_001_000, START.0 + 10_000_000),
    ] {
        let clock = Clock { kind, frequency, start: START, start_stamp };
        let mut writer = Writer::create(&path, WriterOptions { clock, cpu_mhz: 2000, ..options() }).unwrap();
        writer.write(0, &EventData { timestamp: stamp, ..EventData::default() }).unwrap();
        writer.close_at(FileTime(time)).unwrap();
        let reader = Reader::open(&path).unwrap();
        assert_eq!(*reader.clock(), clock);
        assert_eq!(reader.last().unwrap().header.time, FileTime(time), "{kind:?}");
    }
}

#[test]
fn memory_does_not_grow_with_the_file() {
    let path = folder("flat").join("a.etl");
    let mode = FileMode::Sequential { max_bytes: None };
    let mut writer = Writer::create(&path, WriterOptions { buffer_size: 0x4000, mode, ..options() }).unwrap();
    for number in 0..100_000_u64 {
        let event = EventData { timestamp: 1_000_000 + number, payload: &[0; 32], ..EventData::default() };
        writer.write(u16::try_from(number % 4).unwrap(), &event).unwrap();
    }
    assert_eq!(writer.close().unwrap().events, 100_000);
    let mut reader = Reader::open(&path).unwrap();
    let mut most = 0;
    let mut count = 0;
    while reader.next().is_some() {
        most = most.max(reader.memory_held());
        count += 1;
    }
    assert_eq!(count, 100_002);
    assert!(most < 8 * 2 * 0x4000, "a few buffers of each processor at most: {most}");
    fs::remove_file(&path).unwrap();
}

#[test]
fn a_path_that_cannot_be_written_is_an_error_with_the_path() {
    let path = std::env::temp_dir().join(format!("etw-etl-{}-no-such-folder/trace.etl", std::process::id()));
    for result in [Writer::create(&path, WriterOptions::default()), Writer::append(&path, WriterOptions::default())] {
        let text = result.unwrap_err().to_string();
        assert!(text.starts_with(&format!("cannot create {}: ", path.display())), "{text}");
    }
}
