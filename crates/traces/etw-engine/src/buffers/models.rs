//! Models of the session's buffers: every record is read exactly once and complete, even if another thread flushes,
//! stops or overwrites at the same time.
//!
//! Loom runs each model under every order in which the operations of its threads can be observed. A buffer has room for
//! two records of one word, so that every model reserves, closes, hands over and reopens buffers.

use loom::model::Builder;
use loom::sync::Arc;
use loom::thread;

use super::{Encoded, Pool, PoolOptions};

const OPTIONS: PoolOptions = PoolOptions { room: 16, minimum: 2, maximum: 2, streams: 1, overwrite: false };

/// Runs a model with at most `preemptions` preemptions. This covers every known way to lose or tear a record, and takes
/// at most a minute.
fn model(preemptions: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(body);
}

/// Writes a record of one word on the first stream. Returns whether it was taken.
fn write(pool: &Pool, number: u64) -> bool {
    write_on(pool, 0, number)
}

fn write_on(pool: &Pool, stream: u16, number: u64) -> bool {
    let record = number.to_le_bytes();
    pool.write(stream, &Encoded::event(&record)).is_ok()
}

/// Reads and releases all full buffers.
fn drain(pool: &Pool) -> Vec<u64> {
    drain_streams(pool).into_iter().map(|(_, number)| number).collect()
}

/// Reads and releases all full buffers. Returns each record with its stream.
fn drain_streams(pool: &Pool) -> Vec<(u16, u64)> {
    let mut numbers = Vec::new();
    let mut bytes = [0; 16];
    while let Some(index) = pool.take_full() {
        let read = pool.read(index, &mut bytes);
        let words = bytes[..read.bytes].as_chunks::<8>().0;
        assert_eq!(words.len(), usize::try_from(read.events).unwrap(), "as many events as records");
        numbers.extend(words.iter().map(|word| (read.stream, u64::from_le_bytes(*word))));
        pool.release(index);
    }
    numbers
}

#[test]
fn two_writers_and_a_stop_lose_nothing_and_take_nothing_afterwards() {
    model(2, || {
        let pool = Arc::new(Pool::new(OPTIONS));
        let writer = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || write(&pool, 1))
        };
        let mine = write(&pool, 2);
        pool.stop();
        let mut found = drain(&pool);
        assert!(!write(&pool, 3), "stopped");
        let other = writer.join().unwrap();
        assert_eq!(drain(&pool), [], "nothing comes after the end");
        found.sort_unstable();
        let expected: Vec<u64> =
            [(other, 1), (mine, 2)].iter().filter(|(taken, _)| *taken).map(|(_, number)| *number).collect();
        assert_eq!(found, expected);
        assert_eq!(pool.accepted(), expected.len() as u64);
    });
}

#[test]
fn a_flush_beside_a_writer_that_fills_a_buffer_hands_everything_over_once() {
    model(2, || {
        let pool = Arc::new(Pool::new(OPTIONS));
        let writer = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || (1..=3).filter(|number| write(&pool, *number)).collect::<Vec<_>>())
        };
        pool.flush();
        let mut found = drain(&pool);
        let taken = writer.join().unwrap();
        pool.stop();
        found.extend(drain(&pool));
        assert_eq!(found, taken, "in the order of writing, as one thread wrote");
        assert_eq!(taken.len(), 3, "there was always a free buffer");
        assert_eq!(pool.free(), pool.allocated(), "no buffer went astray");
    });
}

#[test]
fn two_writers_that_switch_buffers_keep_every_record() {
    model(2, || {
        // One buffer more than needed: a writer that is about to open the last free buffer briefly keeps it from the
        // other writer.
        let pool = Arc::new(Pool::new(PoolOptions { minimum: 3, maximum: 3, ..OPTIONS }));
        let writer = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || [1, 2].map(|number| write(&pool, number)))
        };
        let mine = [3, 4].map(|number| write(&pool, number));
        let other = writer.join().unwrap();
        assert_eq!(mine, [true; 2], "there is room for all four");
        assert_eq!(other, [true; 2], "there is room for all four");
        pool.stop();
        let mut found = drain(&pool);
        found.sort_unstable();
        assert_eq!(found, [1, 2, 3, 4]);
    });
}

#[test]
fn overwriting_never_tears_a_record_that_is_read() {
    model(2, || {
        let pool = Arc::new(Pool::new(PoolOptions { overwrite: true, room: 8, ..OPTIONS }));
        let writer = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || (1..=3).filter(|number| write(&pool, *number)).count() as u64)
        };
        let found = drain(&pool);
        let taken = writer.join().unwrap();
        pool.stop();
        let rest = drain(&pool);
        let all: Vec<u64> = [found, rest].concat();
        assert!(all.iter().all(|number| (1..=3).contains(number)), "{all:?}");
        assert!(all.is_sorted_by(|one, other| one < other), "the oldest first, each once: {all:?}");
        assert_eq!(all.len() as u64 + pool.overwritten(), taken);
    });
}

#[test]
fn a_writer_that_was_interrupted_does_not_end_up_in_another_streams_buffer() {
    model(2, || {
        let pool = Arc::new(Pool::new(PoolOptions { minimum: 1, maximum: 1, streams: 2, ..OPTIONS }));
        assert!(write_on(&pool, 0, 1), "the buffer is the first stream's");
        let writer = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || write_on(&pool, 0, 2))
        };
        pool.flush();
        let mut found = drain_streams(&pool);
        let mine = write_on(&pool, 1, 3);
        let other = writer.join().unwrap();
        pool.stop();
        found.extend(drain_streams(&pool));
        found.sort_unstable_by_key(|(_, number)| *number);
        let expected = [(true, (0, 1)), (other, (0, 2)), (mine, (1, 3))];
        assert_eq!(found, expected.into_iter().filter(|(taken, _)| *taken).map(|(_, found)| found).collect::<Vec<_>>());
    });
}
