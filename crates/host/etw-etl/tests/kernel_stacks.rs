//! The stacks that the kernel writes after its events are attached to those events.
#![cfg(test)]

mod common;

use common::{folder, options};
use etw_etl::format::classic::{PERFINFO_SIZE, SystemHeader, TYPE_PERFINFO_64};
use etw_etl::format::stack::{HOOK_RUNDOWN, push_definition};
use etw_etl::{Buffer, Reader, ReaderOptions, Writer, WriterOptions};

const KERNEL: u64 = 0xFFFF_F800_0000_1000;
const USER: u64 = 0x7FF0_0000_2000;

fn record(hook_id: u16, timestamp: u64, words: &[u64]) -> Vec<u8> {
    let size = u16::try_from(PERFINFO_SIZE + 8 * words.len()).unwrap();
    let header =
        SystemHeader { version: 2, header_type: TYPE_PERFINFO_64, size, hook_id, timestamp, ..SystemHeader::default() };
    let words = words.iter().flat_map(|word| word.to_le_bytes());
    header.to_perfinfo_bytes().into_iter().chain(words).collect()
}

/// Returns a process and a thread as one word.
const fn owner(process: u64, thread: u64) -> u64 {
    thread << 32 | process
}

fn trace(name: &str, records: &[(u64, Vec<u8>)]) -> std::path::PathBuf {
    let path = folder("kernel-stacks").join(name);
    let mut writer = Writer::create(&path, options()).unwrap();
    let mut buffer = Buffer::new(1024, 0);
    for (stamp, record) in records {
        buffer.push_record(record, *stamp).unwrap();
    }
    writer.write_buffer(&mut buffer, 2_000_000).unwrap();
    writer.close().unwrap();
    path
}

/// Returns hook id, process and stack of every event that has a stack.
fn stacks(path: &std::path::Path) -> Vec<(u16, Option<u32>, Vec<u64>)> {
    let mut reader = Reader::open(path).unwrap();
    let mut found = Vec::new();
    while let Some(event) = reader.next_ref() {
        if let Some(stack) = event.stack() {
            found.push((event.header.descriptor.id, event.stack_process(), stack));
        }
    }
    found
}

#[test]
fn both_parts_of_a_stack_join_their_event_in_any_order() {
    let sample = |thread: u64| record(0x0F2E, 1_000_100, &[KERNEL, thread | 1 << 32]);
    let user = record(0x1820, 1_000_300, &[1_000_100, owner(4, 9), USER, USER + 1]);
    let kernel = record(0x1820, 1_000_200, &[1_000_100, owner(4, 9), KERNEL, KERNEL + 1]);
    let whole = vec![(0x0F2E, Some(4), vec![KERNEL, KERNEL + 1, USER, USER + 1])];
    for parts in [[user.clone(), kernel.clone()], [kernel, user]] {
        let [first, second] = parts;
        let path = trace("parts.etl", &[(1_000_100, sample(9)), (1_000_200, first), (1_000_300, second)]);
        assert_eq!(stacks(&path), whole);
    }
}

#[test]
fn a_stack_of_another_thread_or_moment_joins_nothing() {
    let sample = record(0x0F2E, 1_000_100, &[KERNEL, 9 | 1 << 32]);
    let thread = record(0x1820, 1_000_200, &[1_000_100, owner(4, 8), KERNEL]);
    let moment = record(0x1820, 1_000_200, &[1_000_101, owner(4, 9), KERNEL]);
    for other in [thread, moment] {
        let path = trace("others.etl", &[(1_000_100, sample.clone()), (1_000_200, other)]);
        assert_eq!(stacks(&path), vec![]);
    }
}

#[test]
fn keys_of_stacks_are_looked_up_where_the_trace_defines_them() {
    let sample = record(0x0F2E, 1_000_100, &[KERNEL, 9 | 1 << 32]);
    let mut definition = Vec::new();
    assert!(push_definition(&mut definition, HOOK_RUNDOWN, 1_000_900, 0xABC, &[KERNEL + 5]));
    let key = record(0x1825, 1_000_200, &[1_000_100, owner(4, 9), 0xABC]);
    let path = trace("keys.etl", &[(1_000_100, sample), (1_000_200, key), (1_000_900, definition)]);
    assert_eq!(stacks(&path), vec![(0x0F2E, Some(4), vec![KERNEL + 5])]);
}

#[test]
fn stacks_by_key_count_against_the_memory_limit() {
    let path = folder("kernel-stacks").join("many-keys.etl");
    let size = 128 * 1024;
    let mut writer = Writer::create(&path, WriterOptions { buffer_size: size, ..options() }).unwrap();
    let mut buffer = Buffer::new(size, 0);
    let mut definition = Vec::new();
    assert!(push_definition(&mut definition, HOOK_RUNDOWN, 1_000_000, 0xABC, &[KERNEL; 8000]));
    buffer.push_record(&definition, 1_000_000).unwrap();
    for number in 1..=1200 {
        let key = record(0x1825, 1_000_000 + number, &[1_000_000 + number, owner(4, 9), 0xABC]);
        buffer.push_record(&key, 1_000_000 + number).unwrap();
    }
    writer.write_buffer(&mut buffer, 2_000_000).unwrap();
    writer.close().unwrap();
    let dropped = Reader::open(&path).unwrap().report().stacks_dropped;
    assert!((100..300).contains(&dropped), "{dropped}");
}

/// Returns an image event of a rundown. `name` is the first eight bytes of the UTF-16 file name.
fn image(stamp: u64, base: u64, name: [u8; 8]) -> Vec<u8> {
    record(0x1403, stamp, &[base, 0x4000, 0, 0, 0, 0, 0, u64::from_le_bytes(name), u64::from(b's')])
}

#[test]
fn frames_are_named_by_the_image_events_of_the_trace() {
    let path = trace("images.etl", &[(1_000_100, image(1_000_100, KERNEL - 0x1000, *b"a\0.\0s\0y\0"))]);
    let reader = Reader::open(&path).unwrap();
    assert_eq!(reader.images().name(7, KERNEL).as_deref(), Some("a.sys+0x1000"));
}

#[test]
fn images_of_a_growing_file_name_frames_when_they_come() {
    let path = folder("kernel-stacks").join("growing.etl");
    let mut writer = Writer::create(&path, options()).unwrap();
    let mut add = |stamp: u64, image: &[u8]| {
        let mut buffer = Buffer::new(1024, 0);
        buffer.push_record(image, stamp).unwrap();
        writer.write_buffer(&mut buffer, stamp).unwrap();
    };
    add(1_000_100, &image(1_000_100, KERNEL - 0x1000, *b"a\0.\0s\0y\0"));
    let mut reader = Reader::open_with(&path, ReaderOptions { grows: true, ..ReaderOptions::default() }).unwrap();
    let names =
        |reader: &Reader<std::fs::File>| [KERNEL, KERNEL + 0x10_0000].map(|address| reader.images().name(7, address));
    assert_eq!(names(&reader), [Some("a.sys+0x1000".to_owned()), None]);
    add(1_000_200, &image(1_000_200, KERNEL + 0x10_0000, *b"b\0.\0s\0y\0"));
    assert!(reader.refresh().unwrap().is_some());
    assert_eq!(names(&reader), [Some("a.sys+0x1000".to_owned()), Some("b.sys+0x0".to_owned())]);
}
