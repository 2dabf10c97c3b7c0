//! Millions of events through a session to a file: every event is accounted for, and memory stays bounded.
//!
//! `ETW_STRESS_EVENTS` sets the number of events; by default the tests write 1,000,000 and 200,000.
#![cfg(test)]

#[path = "it/common/mod.rs"]
mod common;

use std::thread;

use common::{PROVIDER, TempFile, register, write};
use etw_engine::{Enable, Engine, EngineOptions, Overflow, Properties};
use etw_etl::Reader;
use etw_etl::format::record::Layout;
use etw_types::{Level, NtStatus};

const WRITERS: u64 = 4;

fn events(default: u64) -> u64 {
    let asked = std::env::var("ETW_STRESS_EVENTS").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(default)
}

/// Returns the peak resident memory of this process in bytes, if the system provides it.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

fn run(overflow: Overflow, name: &str, events: u64) {
    let file = TempFile::new(name);
    let engine = Engine::with_options(EngineOptions { record_calls: false, ..EngineOptions::default() });
    let (handle, _) = register(&engine, PROVIDER);
    let properties = Properties { maximum_buffers: 16, ..Properties::to_file(name, file.path()) };
    let session = engine.start_with(&properties, overflow).unwrap();
    session.enable(PROVIDER, Enable::default());

    let each = events / WRITERS;
    let started = std::time::Instant::now();
    let refused: u64 = thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let engine = &engine;
                scope.spawn(move || {
                    let refused = (0..each).filter(|count| {
                        let payload = (writer << 48 | count).to_le_bytes();
                        match write(engine, handle, Level::Informational, 1, &payload) {
                            NtStatus::Success => false,
                            NtStatus::NoMemory => true,
                            other => panic!("{other:?}"),
                        }
                    });
                    refused.count() as u64
                })
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    let written = started.elapsed();
    let status = session.finish().unwrap();
    let statistics = status.statistics;
    println!(
        "{name}: {} events in {written:?} ({} ns each), {} recorded, {} lost, peak memory {:?}",
        statistics.written,
        written.as_nanos() / u128::from((WRITERS * each).max(1)),
        statistics.recorded,
        statistics.lost,
        peak_memory()
    );
    assert_eq!(status.file_error, None);
    assert_eq!(statistics.written, WRITERS * each, "every event was wanted");
    assert_eq!(statistics.lost, refused, "what was lost was said to its writer");
    assert_eq!(statistics.written, statistics.recorded + statistics.lost);
    assert_eq!(statistics.pending, 0);
    assert_eq!(statistics.discarded, 0);
    assert!(status.status.number_of_buffers <= 16);
    if overflow == Overflow::Wait {
        assert_eq!(statistics.lost, 0);
    }

    let mut reader = Reader::open(file.path()).unwrap();
    assert!(reader.report().is_whole(), "{}", reader.report());
    assert_eq!(u64::from(reader.header().events_lost), statistics.lost);
    let mut sum = 0;
    let recorded = reader.by_ref().filter(|event| event.header.layout == Layout::Event).inspect(|event| {
        sum += u64::from_le_bytes(event.payload().try_into().unwrap()) & 0xFFFF_FFFF;
    });
    assert_eq!(recorded.count() as u64, statistics.recorded);
    if statistics.lost == 0 {
        assert_eq!(sum, WRITERS * (each * each.saturating_sub(1) / 2), "each number once");
    }
    // Sixteen buffers, the reader's own memory, and the test itself: much less than the size of the file.
    if let Some(peak) = peak_memory() {
        assert!(peak < 256 * 1024 * 1024, "{peak} bytes");
    }
}

#[test]
#[cfg_attr(miri, ignore = "files are slow in an interpreter")]
fn events_that_find_no_buffer_are_lost_and_counted() {
    run(Overflow::Lose, "lose", events(1_000_000));
}

#[test]
#[cfg_attr(miri, ignore = "files are slow in an interpreter")]
fn writers_that_wait_lose_nothing() {
    run(Overflow::Wait, "wait", events(200_000));
}
