//! The buffers of a file are compared with its header: what is missing, repeated or zeroed is damage.

use std::fs;
use std::io::Cursor;

use crate::common::{corpus_file, folder, genuine, options, write, write_circular};
use etw_etl::format::logfile::END_TIME_OFFSET;
use etw_etl::{FileMode, LossReason, Reader, ReaderOptions, Report, Writer, WriterOptions};

/// The size of the buffers of these files.
const SIZE: usize = 1024;
/// Offset of the logfile header's body in a file.
const BODY: usize = 0x48 + 0x20;

fn report(bytes: &[u8]) -> Report {
    Reader::new(Cursor::new(bytes), ReaderOptions::default()).unwrap().report().clone()
}

/// A file of seven buffers, which have the numbers 0 to 6.
fn simple() -> Vec<u8> {
    fs::read(corpus_file("simple.etl")).unwrap()
}

/// The file without one buffer.
fn without(bytes: &[u8], place: usize) -> Vec<u8> {
    [&bytes[..place * SIZE], &bytes[(place + 1) * SIZE..]].concat()
}

/// The file with the buffer at `place` once more.
fn doubled(bytes: &[u8], place: usize) -> Vec<u8> {
    [&bytes[..(place + 1) * SIZE], &bytes[place * SIZE..]].concat()
}

fn missing(missing: u64, written: u64, numbers: &[u64]) -> LossReason {
    LossReason::MissingBuffers { missing, written, numbers: numbers.to_vec() }
}

/// Makes a file look like one whose session runs.
fn unclosed(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes[BODY + END_TIME_OFFSET..BODY + END_TIME_OFFSET + 8].fill(0);
    bytes
}

#[test]
fn what_a_closed_file_does_not_have_is_named() {
    let plain = simple();
    assert!(report(&plain).is_whole());
    let mut zeroed = plain.clone();
    zeroed[2 * SIZE..3 * SIZE].fill(0);
    let mut replaced = plain.clone();
    replaced.copy_within(SIZE..2 * SIZE, 2 * SIZE);
    let mut foreign = plain.clone();
    foreign[2 * SIZE + 0x18] = 200;
    let two = [&plain[..], &plain[..SIZE]].concat();
    for (name, bytes, expected) in [
        ("cut", plain[..4 * SIZE].to_vec(), vec![missing(3, 7, &[4, 5, 6])]),
        ("removed", without(&plain, 2), vec![missing(1, 7, &[2])]),
        ("zeroed", zeroed, vec![missing(1, 7, &[2]), LossReason::Zeros]),
        ("doubled", doubled(&plain, 2), vec![LossReason::RepeatedBuffer { number: 2 }]),
        ("replaced", replaced, vec![LossReason::RepeatedBuffer { number: 1 }, missing(1, 7, &[2])]),
        ("foreign", foreign, vec![LossReason::UnexpectedBuffer { number: 200, written: 7 }, missing(1, 7, &[2])]),
        ("the first buffer at the end", two, vec![LossReason::RepeatedBuffer { number: 0 }]),
    ] {
        let report = report(&bytes);
        let reasons: Vec<_> = report.losses.iter().map(|loss| loss.reason.clone()).collect();
        assert_eq!(reasons, expected, "{name}");
        assert!(!report.is_unclosed, "{name}");
        assert!(report.damage().is_some_and(|text| text.contains(&expected[0].to_string())), "{name}: {report}");
    }
    let text = report(&without(&without(&plain, 2), 2)).damage().unwrap();
    assert_eq!(text, "2 of 7 buffers are missing: numbers 2, 3");
}

#[test]
fn a_file_that_was_not_closed_says_so_and_is_not_damaged() {
    let plain = unclosed(simple());
    for (name, bytes) in [("as it was left", plain.clone()), ("before that", plain[..4 * SIZE].to_vec())] {
        let report = report(&bytes);
        assert!(report.is_unclosed, "{name}");
        assert!(report.is_whole(), "{name}: {report}");
        assert!(report.to_string().contains("not closed by its recorder"), "{name}: {report}");
    }
    let copied = report(&doubled(&plain, 2));
    assert_eq!(copied.losses[0].reason, LossReason::RepeatedBuffer { number: 2 });
    let mut zeroed = plain.clone();
    zeroed[2 * SIZE..3 * SIZE].fill(0);
    assert_eq!(report(&zeroed).losses[0].reason, LossReason::Zeros);
    // Space that was reserved.
    let reserved = [&plain[..], &[0; 4 * SIZE]].concat();
    assert!(report(&reserved).is_whole());
}

#[test]
fn a_circular_file_has_only_the_last_numbers() {
    let path = folder("inventory").join("circular.etl");
    write_circular(&path);
    let mut bytes = fs::read(&path).unwrap();
    assert!(report(&bytes).is_whole());
    assert_eq!(report(&without(&bytes, 2)).losses[0].reason, missing(1, 4, &[]));
    // The documentation of the structure: "total number of buffers written during the event tracing session".
    bytes[BODY + 0x24] = 60;
    assert!(report(&bytes).is_whole(), "{}", report(&bytes));
    assert!(!report(&without(&without(&bytes, 2), 2)).is_whole());
    assert!(!report(&doubled(&bytes, 2)).is_whole());
}

#[test]
fn the_later_files_of_a_sequence_continue_the_numbers() {
    let pattern = folder("inventory").join("n%d.etl");
    let mode = FileMode::NewFile { max_bytes: 4096 };
    let mut writer = Writer::create(&pattern, WriterOptions { mode, ..options() }).unwrap();
    for number in 0..60_u32 {
        write(&mut writer, 0, 1_000_000 + u64::from(number), "E", |builder| builder.u32("n", number));
    }
    writer.close().unwrap();
    let bytes = fs::read(folder("inventory").join("n2.etl")).unwrap();
    assert!(report(&bytes).is_whole(), "{}", report(&bytes));
    assert_eq!(report(&without(&bytes, 1)).losses[0].reason, missing(1, 4, &[]));
    assert_eq!(report(&doubled(&bytes, 1)).losses[0].reason, LossReason::RepeatedBuffer { number: 4 });
}

#[test]
fn captured_traces_are_whole_and_their_parts_are_not() {
    let Some(folder) = genuine() else { return };
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "etl") {
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let whole = report(&bytes);
        assert!(whole.is_whole(), "{}: {whole}", path.display());
        assert!(!whole.is_unclosed, "{}", path.display());
        let last = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
        let cut = report(&bytes[..last.min(bytes.len())]);
        assert!(!cut.is_whole(), "{}: {cut}", path.display());
        count += 1;
    }
    assert!(count > 0);
}
