//! Eight writers while sessions start, stop, are enabled and disabled, and consumers connect and disconnect. Nothing
//! hangs, and no file has an event that was written after its session stopped.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use crate::common::{OTHER, PROVIDER, TempFile, read_events, register, write};
use etw_engine::{Enable, Engine, EngineOptions, Properties, Session, Statistics};
use etw_types::{Level, NtStatus};

const WRITERS: u64 = 8;
const ROUNDS: u64 = 12;

/// Encodes the writer's number in the upper bits and the number of its event in the lower bits.
fn payload(writer: u64, count: u64) -> [u8; 8] {
    (writer << 48 | count).to_le_bytes()
}

fn adds_up(statistics: Statistics) {
    let Statistics { written, recorded, lost, discarded, pending } = statistics;
    assert_eq!(written, recorded + lost + discarded + pending, "{statistics:?}");
    assert_eq!(pending, 0, "{statistics:?}");
}

/// Waits until every writer has completed an event that it began after `then`.
fn wait_for(next: &[AtomicU64], then: &[u64]) {
    while next.iter().zip(then).any(|(next, then)| next.load(Ordering::SeqCst) < then + 2) {
        thread::yield_now();
    }
}

/// Runs eight threads that write until `during` returns. Each stores the number of its next event before it writes the
/// event.
fn with_writers(engine: &Engine, handles: [u64; 2], during: impl FnOnce(&[AtomicU64])) {
    let next: Vec<AtomicU64> = (0..WRITERS).map(|_| AtomicU64::new(0)).collect();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for (writer, next) in (0..WRITERS).zip(&next) {
            let done = &done;
            scope.spawn(move || {
                for count in 0.. {
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                    next.store(count, Ordering::SeqCst);
                    let handle = handles[usize::from(count % 2 == 0)];
                    let status = write(engine, handle, Level::Error, 1, &payload(writer, count));
                    assert!([NtStatus::Success, NtStatus::NoMemory].contains(&status), "{status:?}");
                }
            });
        }
        during(&next);
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
#[cfg_attr(miri, ignore = "files are slow in an interpreter")]
fn no_event_of_a_stopped_session_is_in_its_file() {
    let engine = Engine::with_options(EngineOptions { processors: 4, record_calls: false, ..EngineOptions::default() });
    let (first, _) = register(&engine, PROVIDER);
    let (second, _) = register(&engine, OTHER);
    with_writers(&engine, [first, second], |next| {
        for round in 0..ROUNDS {
            let file = TempFile::new(&format!("storm-{round}"));
            let properties = Properties { buffer_kib: 4, ..Properties::to_file("storm", file.path()) };
            let session = engine.start(&properties).unwrap();
            session.enable(PROVIDER, Enable::default());
            session.enable(OTHER, Enable::default());
            let begun: Vec<u64> = next.iter().map(|next| next.load(Ordering::SeqCst)).collect();
            wait_for(next, &begun);
            let status = session.finish().unwrap();
            // Events that a writer had begun by now may be in the file; later events must not be.
            let limits: Vec<u64> = next.iter().map(|next| next.load(Ordering::SeqCst)).collect();
            adds_up(status.statistics);
            let numbers: Vec<u64> = read_events(file.path())
                .iter()
                .map(|event| u64::from_le_bytes(event.payload().try_into().unwrap()))
                .collect();
            assert_eq!(numbers.len() as u64, status.statistics.recorded);
            assert_eq!(numbers.iter().collect::<BTreeSet<_>>().len(), numbers.len(), "each event once");
            for number in numbers {
                let writer = (number >> 48) as usize;
                let count = number & 0xFFFF_FFFF_FFFF;
                assert!(count <= limits[writer], "event {count} of writer {writer} came after the end");
            }
            let file_then = std::fs::read(file.path()).unwrap();
            wait_for(next, &limits);
            assert!(std::fs::read(file.path()).unwrap() == file_then, "the file changed after the end");
        }
    });
    assert_eq!(engine.sessions().len(), 0);
}

#[test]
#[cfg_attr(miri, ignore = "files are slow in an interpreter")]
fn starting_stopping_enabling_and_consuming_at_once_ends() {
    let engine = Engine::with_options(EngineOptions { processors: 2, record_calls: false, ..EngineOptions::default() });
    let (first, _) = register(&engine, PROVIDER);
    let (second, _) = register(&engine, OTHER);
    let files: Vec<TempFile> = (0..2).map(|number| TempFile::new(&format!("mixed-{number}"))).collect();
    let ended = |session: &Session| {
        session.finish().unwrap();
        adds_up(session.statistics());
    };
    with_writers(&engine, [first, second], |_| {
        thread::scope(|scope| {
            for (number, file) in files.iter().enumerate() {
                let engine = &engine;
                let ended = &ended;
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        let name = format!("file-{number}");
                        let properties = Properties { buffer_kib: 4, ..Properties::to_file(&name, file.path()) };
                        let session = engine.start(&properties).unwrap();
                        session.enable(PROVIDER, Enable { any: round + 1, ..Enable::default() });
                        session.flush().unwrap();
                        session.disable(PROVIDER);
                        ended(&session);
                    }
                });
            }
            let engine = &engine;
            let ended = &ended;
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    let properties = Properties { buffer_kib: 4, ..Properties::to_consumers("live") };
                    let session = engine.start(&properties).unwrap();
                    session.enable(OTHER, Enable::default());
                    let consumer = session.consume().unwrap();
                    assert!(consumer.next_buffer().is_some_and(|buffer| buffer.headers().count() > 0));
                    ended(&session);
                    let rest = std::iter::from_fn(|| consumer.next_buffer()).count();
                    assert!(rest <= 64, "{rest}");
                }
            });
            scope.spawn(move || {
                let properties = Properties { buffer_kib: 4, ..Properties::in_memory("memory") };
                let session = engine.start(&properties).unwrap();
                for _ in 0..ROUNDS * 10 {
                    session.enable(PROVIDER, Enable::default());
                    session.capture_state(PROVIDER);
                    session.disable(PROVIDER);
                    engine.unregister(engine.register(PROVIDER, None, |_| {}).unwrap());
                }
                ended(&session);
            });
        });
    });
    assert_eq!(engine.findings(), []);
}
