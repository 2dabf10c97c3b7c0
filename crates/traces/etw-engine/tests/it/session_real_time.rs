//! Real-time consumers: delivery, back-pressure, and a file at the same time.

use crate::common::{PROVIDER, TempFile, read_events, register, write};
use etw_engine::{Consumer, Enable, Engine, EngineOptions, Properties, Session};
use etw_types::session::mode;
use etw_types::{Level, NtStatus, Win32Error};

/// Starts a session with two buffers of 4 KiB, each with room for four of the events that `write_one` writes.
fn small(properties: Properties) -> (Engine, u64, Session) {
    let engine = Engine::with_options(EngineOptions { processors: 1, ..EngineOptions::default() });
    let (handle, _) = register(&engine, PROVIDER);
    let properties = Properties { buffer_kib: 4, maximum_buffers: 2, ..properties };
    let session = engine.start(&properties).unwrap();
    session.enable(PROVIDER, Enable::default());
    (engine, handle, session)
}

fn write_one(engine: &Engine, handle: u64) -> NtStatus {
    write(engine, handle, Level::Error, 0, &[7; 900])
}

fn rest(consumer: &Consumer) -> u64 {
    std::iter::from_fn(|| consumer.next_buffer()).map(|buffer| u64::from(buffer.events)).sum()
}

#[test]
fn a_consumer_gets_events_on_flush_and_the_rest_at_the_end() {
    let (engine, handle, session) = small(Properties::to_consumers("s"));
    let consumer = session.consume().unwrap();
    assert_eq!(consumer.try_next_buffer(), None);
    write_one(&engine, handle);
    session.flush().unwrap();
    let buffer = consumer.next_buffer().unwrap();
    let header = buffer.headers().next().unwrap();
    assert_eq!(buffer.events, 1);
    assert_eq!(header.provider, PROVIDER);
    assert_eq!(buffer.records().count(), 1);
    assert_eq!(buffer.records().next().unwrap().len(), 0x50 + 900);
    write_one(&engine, handle);
    let statistics = session.finish().unwrap().statistics;
    assert_eq!(rest(&consumer), 1);
    assert_eq!(consumer.next_buffer(), None, "again and again");
    assert_eq!(statistics.written, 2);
    assert_eq!(statistics.recorded, 2);
    assert_eq!(statistics.lost, 0);
}

#[test]
fn the_flush_timer_delivers_without_a_request() {
    let properties = Properties {
        mode: mode::REAL_TIME | mode::USE_MS_FLUSH_TIMER,
        flush_timer: 1,
        ..Properties::to_consumers("s")
    };
    let (engine, handle, session) = small(properties);
    let consumer = session.consume().unwrap();
    write_one(&engine, handle);
    assert_eq!(consumer.next_buffer().unwrap().events, 1);
}

#[test]
fn events_wait_for_a_consumer_and_then_for_its_pace() {
    let (engine, handle, session) = small(Properties { flush_timer: 1000, ..Properties::to_consumers("s") });
    let mut taken = 0;
    while write_one(&engine, handle) == NtStatus::Success {
        taken += 1;
    }
    assert_eq!(taken, 8, "without a consumer, both buffers stay full");
    assert_eq!(session.statistics().lost, 1);
    // The queue of a consumer is as long as the session has buffers. Both buffers go there, and two more can be filled.
    let consumer = session.consume().unwrap();
    session.flush().unwrap();
    while write_one(&engine, handle) == NtStatus::Success {
        taken += 1;
    }
    assert_eq!(taken, 16);
    let before = session.statistics();
    assert_eq!(before.recorded, 8);
    assert_eq!(before.pending, 8);
    assert_eq!(before.lost, 2);
    assert_eq!(consumer.next_buffer().unwrap().events, 4);
    let statistics = session.finish().unwrap().statistics;
    assert_eq!(statistics.written, 18);
    assert_eq!(statistics.recorded, 16);
    assert_eq!(statistics.lost, 2);
    assert_eq!(rest(&consumer), 12);
}

#[test]
fn without_a_consumer_the_end_loses_what_waits() {
    let (engine, handle, session) = small(Properties::to_consumers("s"));
    write_one(&engine, handle);
    let status = session.finish().unwrap();
    assert_eq!(status.statistics.lost, 1);
    assert_eq!(status.statistics.recorded, 0);
    assert_eq!(status.status.real_time_buffers_lost, 1);
}

#[test]
fn a_file_is_written_while_its_consumer_is_slow() {
    let file = TempFile::new("both");
    let both = Properties { mode: mode::SEQUENTIAL | mode::REAL_TIME, ..Properties::to_file("s", file.path()) };
    let (engine, handle, session) = small(Properties { flush_timer: 1000, ..both });
    let consumer = session.consume().unwrap();
    for _ in 0..5 {
        write_one(&engine, handle);
        session.flush().unwrap();
    }
    let status = session.finish().unwrap();
    assert_eq!(status.statistics.recorded, 5);
    assert_eq!(status.statistics.lost, 0);
    assert_eq!(read_events(file.path()).len(), 5);
    assert_eq!(consumer.buffers_lost(), 3, "two had room");
    assert_eq!(status.status.real_time_buffers_lost, 3, "two had room");
    assert_eq!(rest(&consumer), 2);
}

#[test]
fn every_consumer_gets_every_event_and_may_leave() {
    let (engine, handle, session) = small(Properties::to_consumers("s"));
    let consumers = [session.consume().unwrap(), session.consume().unwrap()];
    write_one(&engine, handle);
    session.flush().unwrap();
    assert!(consumers.iter().all(|consumer| consumer.next_buffer().is_some()));
    let [first, second] = consumers;
    drop(first);
    write_one(&engine, handle);
    session.finish().unwrap();
    assert_eq!(rest(&second), 1);
}

#[test]
fn only_sessions_in_real_time_are_consumed() {
    let (engine, _, session) = small(Properties::in_memory("s"));
    assert_eq!(session.consume().unwrap_err(), Win32Error::InvalidParameter);
    assert_eq!(engine.start_session("memory").consume().unwrap_err(), Win32Error::InvalidParameter);
}
