//! Tests of the pool alone: every record that is written is read once, and complete.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use super::index_set::IndexSet;
use super::{Encoded, Pool, PoolOptions, Record, Refusal, Words};

const OPTIONS: PoolOptions = PoolOptions { room: 64, minimum: 2, maximum: 4, streams: 2, overwrite: false };
const TAKEN: Result<bool, Refusal> = Ok(false);

#[test]
fn a_set_holds_numbers_of_several_words() {
    let numbers = [0, 1, 63, 64, 127, 129];
    let set = IndexSet::new(130);
    for number in numbers {
        assert!(!set.contains(number), "{number}");
        assert!(!set.remove(number), "{number}");
        set.insert(number);
    }
    assert_eq!(set.iter().collect::<Vec<_>>(), numbers.to_vec());
    assert_eq!(set.len(), numbers.len());
    assert!((0..200).all(|number| set.contains(number) == numbers.contains(&number)));
    assert!(set.remove(64));
    assert!(!set.remove(64));
    assert!(!set.contains(64));
    set.insert(192);
    assert_eq!(std::iter::from_fn(|| set.take()).collect::<Vec<_>>(), [0, 1, 63, 127, 129], "192 is too large");
    assert_eq!(set.len(), 0);
}

fn drain(pool: &Pool) -> Vec<u8> {
    let mut all = Vec::new();
    let mut bytes = vec![0; pool.room()];
    while let Some(index) = pool.take_full() {
        let read = pool.read(index, &mut bytes);
        all.extend_from_slice(&bytes[..read.bytes]);
        pool.release(index);
    }
    all
}

#[test]
fn records_come_out_in_order_and_filled_up_to_words() {
    let pool = Pool::new(OPTIONS);
    assert_eq!(pool.write(0, &Encoded::event(b"0123456789")), TAKEN);
    assert_eq!(pool.write(0, &Encoded::event(b"abcdefgh")), TAKEN);
    assert_eq!(pool.take_full(), None, "a buffer that is being filled is not taken");
    pool.flush();
    assert_eq!(drain(&pool), b"0123456789\xFF\xFF\xFF\xFF\xFF\xFFabcdefgh");
    assert_eq!(pool.free(), 2);
    assert_eq!(pool.accepted(), 2);
}

/// A record that consists of words, bytes that fill whole words, an item and a payload.
struct Parts<'a> {
    header: u64,
    item: &'a [u8],
    payload: &'a [&'a [u8]],
}

impl Record for Parts<'_> {
    fn len(&self) -> usize {
        let payload: usize = self.payload.iter().map(|piece| piece.len()).sum();
        32 + self.item.len().next_multiple_of(8) + payload
    }

    fn store(&self, mut words: Words<'_>) {
        words.words([7; 2]);
        words.bytes(&[8; 8]);
        words.words([self.header]);
        words.bytes(self.item);
        words.end(self.payload);
    }
}

#[test]
fn pieces_are_joined_whatever_their_lengths() {
    let bytes: Vec<u8> = (1..=40).collect();
    let header = 0xAAAA_AAAA_AAAA_AAAA_u64;
    for first in 0..12 {
        for second in 0..12 {
            for third in 0..12 {
                let lengths = [first, second, third];
                let payload: Vec<&[u8]> = lengths
                    .iter()
                    .scan(0, |start, length| {
                        *start += length;
                        Some(&bytes[*start - length..*start])
                    })
                    .collect();
                let record = Parts { header, item: &bytes[..first], payload: &payload };
                let pool = Pool::new(PoolOptions { room: 128, ..OPTIONS });
                assert_eq!(pool.write(0, &record), TAKEN);
                pool.flush();
                let head = 7_u64.to_le_bytes().repeat(2);
                let mut expected = [&head[..], &[8; 8], &header.to_le_bytes(), &bytes[..first]].concat();
                expected.resize(expected.len().next_multiple_of(8), 0);
                expected.extend_from_slice(&bytes[..first + second + third]);
                assert_eq!(record.len(), expected.len());
                expected.resize(expected.len().next_multiple_of(8), 0xFF);
                assert_eq!(drain(&pool), expected, "{lengths:?}");
            }
        }
    }
}

#[test]
fn a_full_pool_takes_nothing_until_a_buffer_is_free_again() {
    let pool = Pool::new(OPTIONS);
    let record = [7; 64];
    for _ in 0..4 {
        assert!(pool.write(0, &Encoded::event(&record)).is_ok());
    }
    assert_eq!(pool.write(0, &Encoded::event(&record)), Err(Refusal::NoBuffer));
    assert_eq!(pool.write(1, &Encoded::event(&record)), Err(Refusal::NoBuffer), "the other stream needs one too");
    assert_eq!(pool.write(0, &Encoded::event(&[0; 65])), Err(Refusal::TooLarge));
    assert_eq!(drain(&pool).len(), 4 * 64, "the last one was closed by the record that did not fit");
    assert!(pool.write(0, &Encoded::event(&record)).is_ok(), "and nothing of it stays behind");
}

#[test]
fn overwriting_keeps_the_newest() {
    let pool = Pool::new(PoolOptions { overwrite: true, streams: 1, ..OPTIONS });
    for number in 0..10_u8 {
        assert!(pool.write(0, &Encoded::event(&[number; 64])).is_ok());
    }
    pool.flush();
    let numbers: Vec<u8> = drain(&pool).chunks(64).map(|record| record[0]).collect();
    assert_eq!(numbers, [6, 7, 8, 9]);
    assert_eq!(pool.overwritten(), 6);
}

#[test]
fn a_stopped_pool_takes_nothing_and_gives_everything() {
    let pool = Pool::new(OPTIONS);
    assert_eq!(pool.write(1, &Encoded::event(b"12345678")), TAKEN);
    pool.stop();
    assert_eq!(pool.write(0, &Encoded::event(b"12345678")), Err(Refusal::Stopped));
    assert_eq!(pool.write(1, &Encoded::event(b"12345678")), Err(Refusal::Stopped));
    assert_eq!(drain(&pool), b"12345678");
    pool.stop();
    pool.flush();
    assert_eq!(drain(&pool), Vec::new());
    assert_eq!(pool.free(), 2);
}

#[test]
fn an_empty_buffer_stays_open_in_a_flush_and_is_free_at_the_end() {
    let pool = Pool::new(OPTIONS);
    // A record without bytes opens a buffer and needs no room in it.
    assert_eq!(pool.write(0, &Encoded::silent(b"")), TAKEN);
    pool.flush();
    assert_eq!(pool.take_full(), None);
    assert_eq!(pool.free(), 1);
    assert_eq!(pool.write(1, &Encoded::event(b"12345678")), TAKEN);
    pool.stop();
    assert_eq!(drain(&pool), b"12345678".to_vec());
    assert_eq!(pool.free(), 2);
    assert_eq!(pool.accepted(), 1);
    assert_eq!(pool.retired(), 1);
}

#[test]
fn every_record_that_was_taken_comes_out_exactly_once() {
    const WRITERS: u64 = 4;
    const EACH: u64 = if cfg!(miri) { 50 } else { 20_000 };
    let pool = Pool::new(PoolOptions { room: 128, minimum: 2, maximum: 8, streams: 2, overwrite: false });
    let (taken, found) = thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let pool = &pool;
                scope.spawn(move || {
                    (0..EACH)
                        .map(|count| writer << 32 | count)
                        .filter(|number| {
                            let record = number.to_le_bytes().repeat(2);
                            // Two writers share a stream.
                            pool.write((writer % 2) as u16, &Encoded::event(&record)).is_ok()
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        let mut bytes = Vec::new();
        while !writers.iter().all(thread::ScopedJoinHandle::is_finished) {
            pool.flush();
            bytes.extend(drain(&pool));
        }
        pool.stop();
        bytes.extend(drain(&pool));
        let taken: Vec<u64> = writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect();
        (taken, bytes)
    });
    let (pairs, rest) = found.as_chunks::<16>();
    assert_eq!(rest, []);
    let numbers: Vec<u64> = pairs
        .iter()
        .map(|pair| {
            let (first, second) = pair.split_at(8);
            assert_eq!(first, second, "a record is whole");
            u64::from_le_bytes(first.try_into().unwrap())
        })
        .collect();
    assert_eq!(numbers.len(), taken.len());
    assert_eq!(pool.accepted(), taken.len() as u64);
    assert_eq!(numbers.into_iter().collect::<BTreeSet<_>>(), taken.into_iter().collect());
    assert_eq!(pool.free(), pool.allocated(), "no buffer went astray");
}

/// Returns the wall time in nanoseconds per record, with `threads` threads writing.
fn cost(threads: u16, write: impl Fn(u16, &[u8]) + Sync) -> u128 {
    const EACH: u32 = 1_000_000;
    let record = [7; 96];
    let started = Instant::now();
    thread::scope(|scope| {
        for thread in 0..threads {
            let write = &write;
            scope.spawn(move || (0..EACH).for_each(|_| write(thread, &record)));
        }
    });
    started.elapsed().as_nanos() / (u128::from(threads) * u128::from(EACH))
}

/// Compares the cost of reserving space in the pool with the cost of a short lock around a copy. Run with
/// `--release -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement, not a test"]
fn cost_beside_a_lock() {
    const ROOM: usize = 0xFFB8;
    for (threads, streams) in [(1, 1), (2, 2), (2, 1), (4, 1)] {
        let pool = Pool::new(PoolOptions { room: ROOM, minimum: 8, maximum: 8, streams, overwrite: true });
        let lock_free = cost(threads, |thread, record| {
            let _ = pool.write(thread, &Encoded::event(record));
        });
        let locks: Vec<Mutex<Vec<u8>>> = (0..streams).map(|_| Mutex::new(Vec::with_capacity(ROOM))).collect();
        let locked = cost(threads, |thread, record| {
            let mut buffer = locks[usize::from(thread % streams)].lock().unwrap();
            if buffer.len() + record.len() > ROOM {
                buffer.clear();
            }
            buffer.extend_from_slice(record);
        });
        println!("{threads} threads on {streams} streams: {lock_free} ns lock-free, {locked} ns with a lock");
    }
}
