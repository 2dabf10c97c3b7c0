//! Events whose header has no process or thread get them from their payload and from the lives of the threads.

use crate::common::{folder, options};
use etw_etl::format::classic::{PERFINFO_SIZE, SYSTEM_SIZE, SystemHeader, TYPE_PERFINFO_64, TYPE_SYSTEM_64};
use etw_etl::{Buffer, Decoder, Reader, Writer};

type Record = (u64, Vec<u8>);

/// Returns a record without a process and a thread.
fn bare(hook_id: u16, version: u16, timestamp: u64, payload: &[u8]) -> Record {
    let size = u16::try_from(PERFINFO_SIZE + payload.len()).unwrap();
    let header =
        SystemHeader { version, header_type: TYPE_PERFINFO_64, size, hook_id, timestamp, ..SystemHeader::default() };
    (timestamp, [&header.to_perfinfo_bytes(), payload].concat())
}

/// Returns a record with a process and a thread.
fn owned(hook_id: u16, timestamp: u64, process: u32, thread: u32, payload: &[u8]) -> Record {
    let header = SystemHeader {
        version: 3,
        header_type: TYPE_SYSTEM_64,
        size: u16::try_from(SYSTEM_SIZE + payload.len()).unwrap(),
        hook_id,
        timestamp,
        process_id: Some(process),
        thread_id: Some(thread),
        ..SystemHeader::default()
    };
    (timestamp, [&header.to_bytes(), payload].concat())
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Returns a sample of a thread.
fn sample(stamp: u64, thread: u32) -> Record {
    bare(0x0F2E, 2, stamp, &words(&[0x1000, 0, thread, 0x0070_0001]))
}

fn trace(name: &str, records: &[Record]) -> std::path::PathBuf {
    let path = folder("owners").join(name);
    let mut writer = Writer::create(&path, options()).unwrap();
    let mut buffer = Buffer::new(1024, 0);
    for (stamp, record) in records {
        buffer.push_record(record, *stamp).unwrap();
    }
    writer.write_buffer(&mut buffer, 2_000_000).unwrap();
    writer.close().unwrap();
    path
}

/// Returns process and thread of the events with this hook id.
fn owners(path: &std::path::Path, hook: u16) -> Vec<(Option<u32>, Option<u32>)> {
    let events = Reader::open(path).unwrap().map(|event| event.header);
    let events = events.filter(|header| header.provider.is_none() && header.descriptor.id == hook);
    events.map(|header| (header.process_id, header.thread_id)).collect()
}

#[test]
fn a_sample_belongs_to_the_process_of_its_thread_at_that_time() {
    let start = 0x0501;
    let end = 0x0502;
    let rundown = 0x0504;
    let path = trace(
        "samples.etl",
        &[
            sample(1_000_010, 9),
            owned(end, 1_000_020, 4, 9, &words(&[4, 9])),
            // The id is used again. The creating thread belongs to another process.
            owned(start, 1_000_030, 7, 70, &words(&[5, 9])),
            sample(1_000_040, 9),
            sample(1_000_041, 10),
            sample(1_000_042, 11),
            owned(rundown, 1_000_900, 8, 80, &words(&[6, 10])),
        ],
    );
    assert_eq!(owners(&path, 0x0F2E), [(Some(4), Some(9)), (Some(5), Some(9)), (Some(6), Some(10)), (None, Some(11))]);
}

#[test]
fn the_payload_names_the_process_or_the_thread() {
    let life = owned(0x0503, 1_000_000, u32::MAX, u32::MAX, &words(&[4, 9]));
    for (hook, version, payload) in [
        (0x0F2E, 2, words(&[1, 1, 9, 1])),
        (0x0F2F, 2, words(&[1, 1, 9, 1])),
        // A context switch from thread 8 to thread 9.
        (0x0524, 4, words(&[9, 8, 0, 0, 0, 0])),
        (0x0220, 2, words(&[1, 1, 1, 1, 1, 1, 1, 1, 9, 1])),
        (0x010A, 3, words(&[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 9])),
        (0x010B, 3, words(&[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 9])),
        (0x010E, 3, words(&[1, 1, 1, 1, 1, 1, 9])),
        (0x1820, 0, words(&[1, 1, 4, 9, 1, 1])),
    ] {
        let path = trace("threads.etl", &[life.clone(), bare(hook, version, 1_000_100, &payload)]);
        assert_eq!(owners(&path, hook), [(Some(4), Some(9))], "{hook:#x}");
    }
    for (hook, version, payload) in [
        (0x0303, 3, words(&[1, 1, 4, 1])),
        (0x0320, 2, words(&[4, 1])),
        (0x0327, 5, words(&[1, 1, 4, 1])),
        (0x1403, 3, words(&[1, 1, 1, 1, 4, 1])),
        (0x060A, 2, words(&[4, 1])),
        (0x0616, 2, words(&[4, 1])),
        (0x061B, 2, words(&[4, 1])),
        (0x080B, 2, words(&[4, 1])),
    ] {
        let path = trace("processes.etl", &[life.clone(), bare(hook, version, 1_000_100, &payload)]);
        assert_eq!(owners(&path, hook), [(Some(4), None)], "{hook:#x}");
    }
    // A failed connection names no process, and a thread that becomes ready is not the one that made it ready.
    for hook in [0x0611, 0x0811, 0x0532] {
        let path = trace("nobody.etl", &[life.clone(), bare(hook, 2, 1_000_100, &words(&[9, 9]))]);
        assert_eq!(owners(&path, hook), [(None, None)], "{hook:#x}");
    }
}

#[test]
fn a_process_or_a_thread_of_minus_one_is_none() {
    let path = trace(
        "none.etl",
        &[
            owned(0x0503, 1_000_000, 3, 3, &words(&[4, 9])),
            owned(0x0640, 1_000_100, u32::MAX, u32::MAX, &[]),
            owned(0x0640, 1_000_101, u32::MAX, 9, &[]),
            owned(0x0640, 1_000_102, 5, 9, &[]),
        ],
    );
    assert_eq!(owners(&path, 0x0640), [(None, None), (Some(4), Some(9)), (Some(5), Some(9))]);
}

#[test]
fn a_sample_has_a_count_and_flags_of_two_bytes_each() {
    let mut reader = Reader::open(trace("count.etl", &[sample(1_000_100, 9)])).unwrap();
    let event = reader.find(|event| event.header.descriptor.id == 0x0F2E).unwrap();
    let decoded = Decoder::default().decode(&event.as_ref());
    let text = "PerfInfo/SampleProfile InstructionPointer=0x1000 ThreadId=9 Count=1 Flags=0x70";
    assert_eq!(decoded.to_string(), text);
}
