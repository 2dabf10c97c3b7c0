//! Mutated files: the reader, the decoder and every export terminate, use bounded memory and never panic.

use std::fs;
use std::io::Cursor;
use std::sync::LazyLock;

use crate::common;
use crate::common::exports::Exports;
use crate::common::{CORPUS, corpus_file};
use etw_etl::decode::Parts;
use etw_etl::{Reader, ReaderOptions};
use proptest::prelude::*;
use test_support::reencode;

/// Valid files: the corpus, and files captured on Windows if they are available.
static SEEDS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let mut seeds: Vec<Vec<u8>> = CORPUS.iter().map(|(name, _)| fs::read(corpus_file(name)).unwrap()).collect();
    if let Some(folder) = common::genuine() {
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let small = files.filter(|path| fs::metadata(path).unwrap().len() < 40_000);
        seeds.extend(
            small.filter(|path| path.extension().is_some_and(|ext| ext == "etl")).map(|path| fs::read(path).unwrap()),
        );
    }
    seeds
});

/// Reads everything and returns the number of events.
fn exhaust(bytes: &[u8]) -> u64 {
    let Ok(mut reader) = Reader::new(Cursor::new(bytes), ReaderOptions { memory: 100_000, grows: false }) else {
        return 0;
    };
    let mut exports = Exports::new(|exporter| exporter);
    let mut events = 0;
    let mut previous = 0;
    for event in reader.by_ref() {
        assert!(event.header.stamp >= previous, "out of order");
        previous = event.header.stamp;
        exports.event(&event);
        if let Some(parts) = Parts::from_event(&event) {
            let _ = reencode(parts.metadata, parts.payload);
        }
        events += 1;
    }
    exports.check(events);
    assert_eq!(events, reader.report().events);
    assert!(reader.report().to_string().contains("events in"));
    events
}

/// One modification of a file.
#[derive(Clone, Debug)]
enum Change {
    Byte(prop::sample::Index, u8),
    Word(prop::sample::Index, u16),
    Dword(prop::sample::Index, u32),
    Cut(prop::sample::Index),
    Repeat(prop::sample::Index, prop::sample::Index),
    Remove(prop::sample::Index, u8),
}

fn change() -> impl Strategy<Value = Change> {
    let index = any::<prop::sample::Index>;
    let sizes = prop_oneof![Just(0), Just(u32::MAX), Just(0x48), Just(0x1000_0000), any::<u32>()];
    prop_oneof![
        4 => (index(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        4 => (index(), any::<u16>()).prop_map(|(at, word)| Change::Word(at, word)),
        4 => (index(), sizes).prop_map(|(at, dword)| Change::Dword(at, dword)),
        1 => index().prop_map(Change::Cut),
        1 => (index(), index()).prop_map(|(from, to)| Change::Repeat(from, to)),
        1 => (index(), any::<u8>()).prop_map(|(at, count)| Change::Remove(at, count)),
    ]
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    for (place, byte) in bytes.iter_mut().skip(at).zip(value) {
        *place = *byte;
    }
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    if bytes.is_empty() {
        return;
    }
    let length = bytes.len();
    match change {
        Change::Byte(at, byte) => put(bytes, at.index(length), &[*byte]),
        Change::Word(at, word) => put(bytes, at.index(length), &word.to_le_bytes()),
        // Mostly in headers, where the sizes are.
        Change::Dword(at, dword) => put(bytes, at.index(length) / 1024 * 1024 + at.index(32) * 4, &dword.to_le_bytes()),
        Change::Cut(at) => bytes.truncate(at.index(length)),
        Change::Repeat(from, to) => {
            let from = from.index(length);
            let part = bytes[from..length.min(from + 1024)].to_vec();
            let to = to.index(length);
            bytes.splice(to..to, part);
        }
        Change::Remove(at, count) => {
            let at = at.index(length);
            bytes.drain(at..length.min(at + usize::from(*count)));
        }
    }
}

/// Returns a configuration with 400 cases, or the number in `PROPTEST_CASES`.
fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(400);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn mutated_files_are_read_as_far_as_possible(
        seed in any::<prop::sample::Index>(),
        changes in prop::collection::vec(change(), 1..12),
    ) {
        let mut bytes = SEEDS[seed.index(SEEDS.len())].clone();
        for change in &changes {
            apply(&mut bytes, change);
        }
        exhaust(&bytes);
    }

    #[test]
    fn any_bytes_after_a_valid_header_are_read_as_far_as_possible(
        body in prop::collection::vec(any::<u8>(), 0..3000),
    ) {
        let mut bytes = SEEDS[0][..1024].to_vec();
        bytes.extend(body);
        prop_assert!(exhaust(&bytes) >= 2);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        exhaust(&bytes);
    }
}

#[test]
fn the_seeds_themselves_read_whole() {
    for seed in SEEDS.iter() {
        assert!(exhaust(seed) > 2);
    }
}

#[test]
fn a_small_file_that_promises_much_costs_little() {
    // Compressed buffers of a few bytes that each claim to hold 16 MiB.
    let mut bytes = SEEDS[0][..1024].to_vec();
    for _ in 0..2000 {
        let mut header = [0; 0x50];
        put(&mut header, 0x00, &0x50_u32.to_le_bytes());
        put(&mut header, 0x30, &(16_u32 << 20).to_le_bytes());
        put(&mut header, 0x34, &0x40_u16.to_le_bytes());
        put(&mut header, 0x48, &[0xFF; 8]);
        bytes.extend(header);
    }
    let reader = Reader::new(Cursor::new(&bytes), ReaderOptions::default()).unwrap();
    assert_eq!(reader.report().losses.len(), 1000);
    assert_eq!(reader.report().more_losses, 1000 + 1, "the buffers, and that there are more than were written");
}
