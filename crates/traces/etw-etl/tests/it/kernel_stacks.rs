//! The stacks that the kernel writes after its events are attached to those events.

use std::io::{self, Read, Seek, SeekFrom};

use crate::common::{folder, options};
use etw_etl::format::classic::{PERFINFO_SIZE, SystemHeader, TYPE_PERFINFO_64};
use etw_etl::format::stack::{HOOK_DELETE, HOOK_RUNDOWN, push_definition};
use etw_etl::{Buffer, Decoder, Reader, ReaderOptions, Writer, WriterOptions};

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

/// Writes buffers of records, in this order.
fn buffers(name: &str, size: u32, buffers: &[Vec<(u64, Vec<u8>)>]) -> std::path::PathBuf {
    let path = folder("kernel-stacks").join(name);
    let mut writer = Writer::create(&path, WriterOptions { buffer_size: size, ..options() }).unwrap();
    for records in buffers {
        let mut buffer = Buffer::new(size, 0);
        for (stamp, record) in records {
            buffer.push_record(record, *stamp).unwrap();
        }
        writer.write_buffer(&mut buffer, 2_000_000).unwrap();
    }
    writer.close().unwrap();
    path
}

/// Returns a sample of thread 9 and its time stamp.
fn sample(stamp: u64) -> (u64, Vec<u8>) {
    (stamp, record(0x0F2E, stamp, &[KERNEL, 9 | 1 << 32]))
}

/// Returns a stack of thread 9 and its time stamp.
fn stack(stamp: u64, target: u64, frames: &[u64]) -> (u64, Vec<u8>) {
    (stamp, record(0x1820, stamp, &[&[target, owner(4, 9)], frames].concat()))
}

/// Reads the stacks of a trace twice, with little memory and with much, and checks that the results are equal. Returns
/// the stacks, and the peak memory of the reader that had much memory.
fn all_stacks(path: &std::path::Path) -> (Vec<(u64, Vec<u64>)>, usize) {
    let mut results = [0, 64 << 20].map(|memory| {
        let mut reader = Reader::open_with(path, ReaderOptions { memory, grows: false }).unwrap();
        let mut found = Vec::new();
        let mut most = 0;
        while let Some(event) = reader.next_ref() {
            found.extend(event.stack().map(|stack| (event.header.stamp, stack)));
            most = most.max(reader.memory_held());
        }
        assert_eq!(reader.report().stacks_dropped, 0);
        (found, most)
    });
    assert_eq!(results[0].0, results[1].0, "memory changes the time, not the result");
    std::mem::take(&mut results[1])
}

#[test]
fn parts_in_different_buffers_join_their_event() {
    let whole = vec![KERNEL, USER];
    let event = vec![sample(1_000_100)];
    let kernel = vec![stack(1_000_150, 1_000_100, &[KERNEL]), sample(1_000_160)];
    let user = vec![sample(1_000_170), stack(1_000_180, 1_000_100, &[USER])];
    for (name, order) in [("first.etl", [&event, &kernel, &user]), ("last.etl", [&user, &kernel, &event])] {
        let path = buffers(name, 1024, &order.map(Clone::clone));
        assert_eq!(all_stacks(&path).0, [(1_000_100, whole.clone())]);
    }
}

#[test]
fn a_stack_joins_its_event_however_late_it_comes() {
    let mut many: Vec<_> = (0..500)
        .map(|number| {
            let stamp = 1_000_100 + number * 10;
            vec![sample(stamp), stack(stamp + 1, stamp, &[KERNEL + number])]
        })
        .collect();
    many[0].pop();
    many[7].pop();
    many[499].extend([stack(1_009_000, 1_000_170, &[USER]), stack(1_009_001, 1_000_100, &[USER])]);
    let expected: Vec<_> = (0..500)
        .map(|number| (1_000_100 + number * 10, vec![if matches!(number, 0 | 7) { USER } else { KERNEL + number }]))
        .collect();
    assert_eq!(all_stacks(&buffers("late.etl", 1024, &many)).0, expected);
}

/// A file that counts how often it is read from another place.
struct Counted {
    file: std::fs::File,
    seeks: usize,
}

impl Read for Counted {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.file.read(bytes)
    }
}

impl Seek for Counted {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.seeks += 1;
        self.file.seek(to)
    }
}

#[test]
fn stacks_that_are_anywhere_join_their_events() {
    // Parts are spread over all buffers, before and after their events.
    let mut many = vec![Vec::new(); 40];
    let mut expected = Vec::new();
    for number in 0..400_u64 {
        let stamp = 1_000_100 + number * 10;
        let place = |factor: u64| usize::try_from((number * factor + factor) % 40).unwrap();
        many[place(7)].push(sample(stamp));
        many[place(11)].push(stack(1_000_000 + number * 3967 % 5000, stamp, &[USER + number, USER]));
        many[place(13)].push(stack(1_000_000 + number * 1871 % 5000, stamp, &[KERNEL + number]));
        expected.push((stamp, vec![KERNEL + number, USER + number, USER]));
    }
    let path = buffers("anywhere.etl", 8192, &many);
    assert_eq!(all_stacks(&path).0, expected);
    // With enough memory, a buffer is read once to find its time stamps and once for its events and stacks. Before that, the
    // length, the header and the first buffer are read.
    let file = Counted { file: std::fs::File::open(&path).unwrap(), seeks: 0 };
    let mut reader = Reader::new(file, ReaderOptions::default()).unwrap();
    reader.by_ref().for_each(drop);
    assert_eq!(reader.get_mut().seeks, 3 + 2 * 41);
    let mut reader = Reader::open(&path).unwrap();
    let first: Vec<_> = reader.by_ref().map(|event| event.stack()).collect();
    reader.rewind();
    assert_eq!(reader.map(|event| event.stack()).collect::<Vec<_>>(), first);
}

#[test]
fn memory_does_not_grow_with_the_number_of_stacks() {
    let most = |name, count: u64| {
        let size = 1024 * 128;
        let path = folder("kernel-stacks").join(name);
        let mut writer = Writer::create(&path, WriterOptions { buffer_size: size, ..options() }).unwrap();
        for number in 0..count {
            let stamp = 1_000_100 + number * 10;
            let mut buffer = Buffer::new(size, 0);
            // The stack of the last event of the previous buffer.
            if number > 0 {
                let (late, record) = stack(stamp, stamp - 5, &vec![USER; 8000]);
                buffer.push_record(&record, late).unwrap();
            }
            let (next, record) = sample(stamp + 1);
            buffer.push_record(&record, next).unwrap();
            let (after, record) = stack(stamp + 2, stamp + 1, &[KERNEL; 200]);
            buffer.push_record(&record, after).unwrap();
            let (last, record) = sample(stamp + 5);
            buffer.push_record(&record, last).unwrap();
            writer.write_buffer(&mut buffer, stamp + 6).unwrap();
        }
        writer.close().unwrap();
        let (found, most) = all_stacks(&path);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(found.len() as u64, 2 * count - 1);
        most
    };
    let few = most("few.etl", 10);
    // The file has 77 MB of stacks.
    assert_eq!(most("many.etl", 1200), few);
    assert!(few < 4 * 128 * 1024, "{few}");
}

#[test]
fn a_key_is_kept_once_for_any_number_of_events() {
    let size = 128 * 1024;
    let frames = vec![KERNEL; 8000];
    let mut definition = Vec::new();
    assert!(push_definition(&mut definition, HOOK_RUNDOWN, 1_900_000, 0xABC, &frames));
    let mut records = vec![(1_900_000, definition)];
    for stamp in (1_000_010..).step_by(10).take(800) {
        records.push(sample(stamp));
        records.push((stamp, record(0x1825, stamp + 1, &[stamp, owner(4, 9), 0xABC])));
    }
    let (found, most) = all_stacks(&buffers("many-keys.etl", size, &[records]));
    assert_eq!(found.len(), 800);
    assert!(found.iter().all(|(_, stack)| *stack == frames));
    assert!(most < 256 * 1024, "{most}");
}

/// Returns a record of any header type: the bytes of its header up to the hook id, and the rest.
fn other_record(header_type: u16, hook: u16, rest: &[&[u8]]) -> Vec<u8> {
    let rest = rest.concat();
    let size = u16::try_from(8 + rest.len()).unwrap();
    let start = [2, header_type, size, hook].map(u16::to_le_bytes).concat();
    [start, rest].concat()
}

#[test]
fn stacks_of_32_bit_systems_and_of_other_headers_are_read() {
    let stamp = 1_000_100_u64.to_le_bytes();
    let walk = |stamp: u64, data: &[u8]| [&stamp.to_le_bytes()[..], &owner(4, 9).to_le_bytes(), data].concat();
    let frames = [0x10_u32, 0x20, 0x30].map(u32::to_le_bytes).concat();
    // A 32-bit sample has its thread after an address of four bytes.
    let sample = other_record(0xC010, 0x0F2E, &[&stamp, &0x10_u32.to_le_bytes(), &9_u32.to_le_bytes(), &[0; 4]]);
    let stack = other_record(0xC010, 0x1820, &[&stamp, &walk(1_000_100, &frames)]);
    let path = trace("old.etl", &[(1_000_100, sample.clone()), (1_000_200, stack)]);
    assert_eq!(stacks(&path), [(0x0F2E, Some(4), vec![0x10, 0x20, 0x30])]);
    // A key of four bytes, and one that is cut off.
    let mut definition = Vec::new();
    assert!(push_definition(&mut definition, HOOK_RUNDOWN, 1_000_900, 0x20, &[0x77]));
    for (length, expected) in
        [(4, vec![(0x0F2E, Some(4), vec![0x77])]), (3, vec![]), (8, vec![(0x0F2E, Some(4), vec![0x77])])]
    {
        let key = [&0x20_u32.to_le_bytes()[..], &[9; 4]].concat();
        let key = other_record(0xC010, 0x1826, &[&stamp, &walk(1_000_100, &key[..length])]);
        let records = [(1_000_100, sample.clone()), (1_000_200, key), (1_000_900, definition.clone())];
        assert_eq!(stacks(&trace("old-key.etl", &records)), expected, "{length}");
    }
    // A system header and a compact one: thread, process and time stamp, and in the former two processor times.
    let ids = [&9_u32.to_le_bytes()[..], &4_u32.to_le_bytes(), &stamp].concat();
    for (header_type, times) in [(0xC002, &[0; 8][..]), (0xC004, &[])] {
        let event = other_record(header_type, 0x0501, &[&ids, times]);
        let data = walk(1_000_100, &KERNEL.to_le_bytes());
        let stack = other_record(header_type, 0x1820, &[&ids, times, &data]);
        let path = trace("system.etl", &[(1_000_100, event), (1_000_100, stack)]);
        assert_eq!(stacks(&path), [(0x0501, Some(4), vec![KERNEL])], "{header_type:#x}");
    }
}

#[test]
fn an_event_without_a_thread_takes_the_only_stack_of_its_moment() {
    let event = record(0x0524, 1_000_100, &[1]);
    let stack = |thread| record(0x1820, 1_000_200, &[1_000_100, owner(4, thread), KERNEL + thread]);
    let one = trace("only.etl", &[(1_000_100, event.clone()), (1_000_200, stack(9))]);
    assert_eq!(stacks(&one), [(0x0524, Some(4), vec![KERNEL + 9])]);
    let two = trace("two.etl", &[(1_000_100, event), (1_000_200, stack(9)), (1_000_200, stack(8))]);
    assert_eq!(stacks(&two), []);
    let mut reader = Reader::open(&two).unwrap();
    assert_eq!(reader.by_ref().count(), 5);
    assert_eq!(reader.report().stacks_dropped, 0);
}

#[test]
fn the_stacks_of_two_threads_of_one_moment_are_distinguished() {
    let sample = |thread: u64| (1_000_100, record(0x0F2E, 1_000_100, &[KERNEL, thread | 1 << 32]));
    let part = |thread, frame| (1_000_101, record(0x1820, 1_000_101, &[1_000_100, owner(thread + 1, thread), frame]));
    let records = [
        sample(9),
        sample(8),
        part(9, USER + 9),
        part(8, USER + 8),
        part(9, KERNEL + 9),
        part(8, KERNEL + 8),
        part(7, KERNEL),
    ];
    let expected =
        [9, 8].map(|thread| (0x0F2E, Some(u32::try_from(thread + 1).unwrap()), vec![KERNEL + thread, USER + thread]));
    assert_eq!(stacks(&trace("threads.etl", &records)), expected);
}

#[test]
fn a_key_without_a_definition_or_a_stack_of_the_past_joins_nothing() {
    let late = record(0x1820, 1_000_050, &[1_000_020, owner(4, 9), KERNEL]);
    let key = record(0x1825, 1_000_200, &[1_000_100, owner(4, 9), 0xABC]);
    let records = [
        (1_000_050, late),
        sample(1_000_100),
        (1_000_200, key),
        sample(1_000_300),
        stack(1_000_301, 1_000_300, &[USER]),
    ];
    let path = trace("undefined.etl", &records);
    assert_eq!(stacks(&path), [(0x0F2E, Some(4), vec![USER])]);
    assert_eq!(all_stacks(&path).0, [(1_000_300, vec![USER])]);
    let mut reader = Reader::open(&path).unwrap();
    for _ in 0..2 {
        reader.by_ref().for_each(drop);
        assert_eq!(reader.report().stacks_undefined, 1);
        reader.rewind();
    }
}

/// Returns a definition of a key and its time stamp.
fn define(hook: u16, stamp: u64, key: u64, frames: &[u64]) -> (u64, Vec<u8>) {
    let mut record = Vec::new();
    assert!(push_definition(&mut record, hook, stamp, key, frames));
    (stamp, record)
}

#[test]
fn a_key_that_is_used_again_has_the_stack_of_its_next_definition() {
    let key = |hook, stamp| (stamp + 1, record(hook, stamp + 1, &[stamp, owner(4, 9), 0xABC]));
    let kernel = 0x1825;
    let user = 0x1826;
    let early = vec![sample(1_000_100), key(user, 1_000_100), define(HOOK_DELETE, 1_000_200, 0xABC, &[USER + 1])];
    let middle = vec![
        sample(1_000_300),
        // The user stack and the kernel stack have the same key.
        key(user, 1_000_300),
        key(kernel, 1_000_300),
        define(HOOK_DELETE, 1_000_400, 0xABC, &[KERNEL]),
        sample(1_000_500),
        key(user, 1_000_500),
    ];
    let end = vec![define(HOOK_RUNDOWN, 1_000_600, 0xABC, &[USER + 2]), sample(1_000_700), key(user, 1_000_700)];
    let expected = [(1_000_100, vec![USER + 1]), (1_000_300, vec![KERNEL, USER + 2]), (1_000_500, vec![USER + 2])];
    // Buffers of several processors may be in any order.
    for (name, order) in [("reused.etl", [&early, &middle, &end]), ("reused-back.etl", [&end, &middle, &early])] {
        let path = buffers(name, 1024, &order.map(Clone::clone));
        assert_eq!(all_stacks(&path).0, expected);
        let mut reader = Reader::open(&path).unwrap();
        reader.by_ref().for_each(drop);
        assert_eq!(reader.report().stacks_undefined, 1, "the key is not defined again after the last reference");
    }
}

#[test]
fn the_sessions_of_a_merged_file_have_their_own_keys() {
    let key = (1_000_101, record(0x1826, 1_000_101, &[1_000_100, owner(4, 9), 0xABC]));
    let one = vec![sample(1_000_100), key, define(HOOK_DELETE, 1_000_300, 0xABC, &[USER + 1])];
    let other = vec![define(HOOK_DELETE, 1_000_200, 0xABC, &[USER + 2])];
    let path = buffers("sessions.etl", 1024, &[one, other]);
    assert_eq!(all_stacks(&path).0, [(1_000_100, vec![USER + 2])]);
    // The id of the session is at 0x2A of a buffer's header. The file has the logfile header and two buffers.
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[2 * 1024 + 0x2A] ^= 0x40;
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(all_stacks(&path).0, [(1_000_100, vec![USER + 1])]);
}

#[test]
fn more_stacks_of_one_moment_than_fit_into_memory_are_dropped() {
    // Each stack has 100 frames of eight bytes, and costs some bytes in addition: 1 MiB is enough for about 1250 stacks.
    let many: Vec<_> = (0..1500_u64)
        .map(|thread| {
            (1_000_101, record(0x1820, 1_000_101, &[&[1_000_100, owner(4, thread)][..], &[KERNEL; 100]].concat()))
        })
        .collect();
    let path = buffers("moment.etl", 0x20_0000, &[vec![sample(1_000_100)], many]);
    let mut reader = Reader::open_with(&path, ReaderOptions { memory: 0, grows: false }).unwrap();
    assert!(reader.by_ref().any(|event| event.stack().is_some_and(|stack| stack.len() == 100)));
    let dropped = reader.report().stacks_dropped;
    assert!((200..350).contains(&dropped), "{dropped}");
    let mut reader = Reader::open(&path).unwrap();
    reader.by_ref().for_each(drop);
    assert_eq!(reader.report().stacks_dropped, 0);
}

#[test]
fn a_third_part_is_dropped_and_counted_once() {
    let parts = [USER, KERNEL, USER + 1].map(|frame| stack(1_000_101, 1_000_100, &[frame]));
    let path = buffers("third.etl", 1024, &[[sample(1_000_100)].into_iter().chain(parts).collect()]);
    let mut reader = Reader::open(&path).unwrap();
    for _ in 0..2 {
        assert!(reader.by_ref().any(|event| event.stack() == Some(vec![KERNEL, USER])));
        assert_eq!(reader.report().stacks_dropped, 1);
        reader.rewind();
    }
}

#[test]
fn events_of_a_growing_file_find_stacks_that_were_written_before() {
    let path = folder("kernel-stacks").join("early.etl");
    let mut writer = Writer::create(&path, options()).unwrap();
    let mut add = |records: &[(u64, Vec<u8>)]| {
        let mut buffer = Buffer::new(1024, 0);
        for (stamp, record) in records {
            buffer.push_record(record, *stamp).unwrap();
        }
        writer.write_buffer(&mut buffer, 2_000_000).unwrap();
    };
    let key = |stamp| (stamp + 1, record(0x1825, stamp + 1, &[stamp, owner(4, 9), 0xABC]));
    // The event of the first stack is in a buffer that is written later, as it can be with several processors.
    let first = [stack(1_000_200, 1_000_100, &[KERNEL]), sample(1_000_300), stack(1_000_301, 1_000_300, &[KERNEL + 1])];
    add(&first);
    add(&[sample(1_000_310), key(1_000_310), define(HOOK_DELETE, 1_000_320, 0xABC, &[KERNEL + 3])]);
    let mut reader = Reader::open_with(&path, ReaderOptions { grows: true, ..ReaderOptions::default() }).unwrap();
    let found = |reader: &mut Reader<std::fs::File>| {
        reader.by_ref().filter_map(|event| Some((event.header.stamp, event.stack()?))).collect::<Vec<_>>()
    };
    assert_eq!(found(&mut reader), [(1_000_300, vec![KERNEL + 1]), (1_000_310, vec![KERNEL + 3])]);
    add(&[
        sample(1_000_100),
        sample(1_000_400),
        stack(1_000_401, 1_000_400, &[KERNEL + 2]),
        sample(1_000_500),
        key(1_000_500),
    ]);
    add(&[define(HOOK_RUNDOWN, 1_000_600, 0xABC, &[KERNEL + 4]), sample(1_000_700), key(1_000_700)]);
    assert!(reader.refresh().unwrap().is_some());
    let expected = [(1_000_100, vec![KERNEL]), (1_000_400, vec![KERNEL + 2]), (1_000_500, vec![KERNEL + 4])];
    assert_eq!(found(&mut reader), expected);
    assert_eq!(reader.report().stacks_undefined, 1, "the definition of the last reference is not written yet");
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
fn frames_are_named_by_the_image_that_was_loaded_at_the_time_of_the_event() {
    let change = |hook, stamp, name: [u8; 8]| {
        let words = [KERNEL - 0x1000, 0x4000, 0, 0, 0, 0, 0, u64::from_le_bytes(name), u64::from(b's')];
        (stamp, record(hook, stamp, &words))
    };
    let load = 0x140A;
    let unload = 0x1402;
    let records = [
        change(load, 1_000_100, *b"a\0.\0s\0y\0"),
        sample(1_000_200),
        stack(1_000_201, 1_000_200, &[KERNEL]),
        change(unload, 1_000_300, *b"a\0.\0s\0y\0"),
        sample(1_000_400),
        stack(1_000_401, 1_000_400, &[KERNEL]),
        change(load, 1_000_500, *b"b\0.\0s\0y\0"),
        sample(1_000_600),
        stack(1_000_601, 1_000_600, &[KERNEL]),
    ];
    let mut reader = Reader::open(buffers("lives.etl", 2048, &[records.to_vec()])).unwrap();
    let decoder = Decoder::from_reader(&reader, []).with_names(reader.images());
    let mut frames = Vec::new();
    while let Some(event) = reader.next_ref() {
        if event.stack().is_some() {
            frames.push(decoder.frames(&event).concat());
        }
    }
    assert_eq!(frames, ["a.sys+0x1000", "", "b.sys+0x1000"]);
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
