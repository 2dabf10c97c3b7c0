//! A trace whose events name things: processes, threads, images, methods, files, registry keys, drives, stacks.

use std::path::Path;

use etw_etl::format::classic::{PERFINFO_SIZE, SYSTEM_SIZE, SystemHeader, TYPE_PERFINFO_64, TYPE_SYSTEM_64};
use etw_etl::format::stack::{HOOK_RUNDOWN, push_definition};
use etw_etl::{Buffer, EventData, ExtendedItem, ExtendedType, FileTime, Writer, WriterOptions};
use etw_types::{EventDescriptor, Guid, Opcode};

use super::{START, options};

const BUFFER: u32 = 4096;
const KERNEL: u64 = 0xFFFF_F800_0000_1000;
const IMAGE: u64 = 0x7FF6_0000_0000;
const JITTED: u64 = 0x7FF0_0000_1000;
const KEY: u64 = 0xABC;
/// The runtime of .NET.
const RUNTIME: u128 = 0xe13c_0d23_ccbc_4e12_931b_d9cc_2eee_27e4;
/// The classes of images and of the system's configuration, and the kernel's manifest provider of processes.
const IMAGE_ID: u128 = 0xb3e6_75d7_2554_4f18_830b_2762_7325_60de;
const SYS_CONFIG: u128 = 0x9b79_ee91_b5fd_41c0_a243_4248_e266_e9d0;
const KERNEL_PROCESS: u128 = 0x22fb_2cd6_0e7b_422b_a0c7_2fad_1fd0_e716;
const CLASSIC: u16 = 0x100;

fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Two numbers of 32 bits as one word.
const fn pair(low: u64, high: u64) -> u64 {
    high << 32 | low
}

fn system(hook_id: u16, version: u16, timestamp: u64, payload: &[u8]) -> Vec<u8> {
    let size = u16::try_from(SYSTEM_SIZE + payload.len()).unwrap();
    let header_type = TYPE_SYSTEM_64;
    let process_id = Some(500);
    let thread_id = Some(70);
    let header = SystemHeader {
        version,
        header_type,
        size,
        hook_id,
        timestamp,
        process_id,
        thread_id,
        ..SystemHeader::default()
    };
    [&header.to_bytes(), payload].concat()
}

fn perfinfo(hook_id: u16, timestamp: u64, payload: &[u64]) -> Vec<u8> {
    let payload = words(payload);
    let size = u16::try_from(PERFINFO_SIZE + payload.len()).unwrap();
    let header_type = TYPE_PERFINFO_64;
    let header = SystemHeader { version: 2, header_type, size, hook_id, timestamp, ..SystemHeader::default() };
    [&header.to_perfinfo_bytes()[..], &payload].concat()
}

fn event(provider: u128, descriptor: EventDescriptor, data: &EventData<'_>) -> Vec<u8> {
    let mut record = vec![0; 1024];
    let data = EventData { provider: Guid::from_u128(provider), descriptor, process_id: 500, thread_id: 70, ..*data };
    let length = data.encode(&mut record).unwrap();
    record.truncate(length);
    record
}

/// Returns the records, in the order of time.
fn records() -> Vec<Vec<u8>> {
    let id = |id, version| EventDescriptor { id, version, ..EventDescriptor::default() };
    let opcode = |opcode| EventDescriptor { opcode: Opcode::from_int(opcode), ..EventDescriptor::default() };
    // Key, ids, session, status, directory, no SID, name, command line.
    let process = [&words(&[1, pair(500, 4), 1, 0])[..], &[0; 4], b"a.exe\0", &wide("a.exe -x")].concat();
    let thread = [&words(&[pair(500, 70), 0, 0, 0, 0, 0, 0, 0, 0])[..], &wide("worker")].concat();
    let image = [words(&[IMAGE, 0x8000, 500, 0x5678, 0, 0, 0]), wide("\\Device\\HarddiskVolume3\\a.exe")].concat();
    let file = [words(&[0x77]), wide("\\Device\\HarddiskVolume3\\b.txt")].concat();
    let read = words(&[0, 9, 0x77, 0, pair(70, 512), 0]);
    let key = [words(&[0, 0, 0x99]), wide("\\REGISTRY\\MACHINE\\X")].concat();
    let rsds = [&words(&[IMAGE])[..], &500_u32.to_le_bytes(), &[7; 16], &1_u32.to_le_bytes(), b"a.pdb\0"].concat();
    let drive = [wide("\\Device\\HarddiskVolume3\\"), wide("C:\\")].concat();
    let method = [
        &words(&[1, 2, JITTED])[..],
        &0x100_u32.to_le_bytes(),
        &[0; 8],
        &wide("N.C"),
        &wide("M"),
        &wide("()"),
        &[0; 2],
    ];
    let start = [&words(&[501, 4 << 32])[..], &wide("\\Device\\HarddiskVolume3\\c.exe")].concat();
    let stack_key = words(&[0, KEY]);
    let items = [ExtendedItem { kind: ExtendedType::STACK_KEY64, data: &stack_key }];
    let with_key = EventData { items: &items, timestamp: 1_000_060, ..EventData::default() };
    let payload = |timestamp, payload, flags| EventData { payload, timestamp, flags, ..EventData::default() };
    let mut definition = Vec::new();
    assert!(push_definition(&mut definition, HOOK_RUNDOWN, 1_000_900, KEY, &[KERNEL + 5, IMAGE + 0x20, JITTED + 8]));
    vec![
        system(0x0303, 3, 1_000_010, &process),
        system(0x0503, 3, 1_000_011, &thread),
        system(0x1403, 3, 1_000_012, &image),
        event(IMAGE_ID, opcode(36), &payload(1_000_013, &rsds, CLASSIC)),
        event(SYS_CONFIG, opcode(35), &payload(1_000_014, &drive, CLASSIC)),
        system(0x0420, 2, 1_000_015, &file),
        system(0x0916, 2, 1_000_016, &key),
        event(RUNTIME, id(143, 1), &payload(1_000_020, &method.concat(), 0)),
        perfinfo(0x0F2E, 1_000_030, &[KERNEL, pair(70, 1)]),
        perfinfo(0x1820, 1_000_031, &[1_000_030, pair(500, 70), KERNEL, KERNEL + 1]),
        perfinfo(0x1820, 1_000_032, &[1_000_030, pair(500, 70), IMAGE + 0x10, JITTED + 4]),
        perfinfo(0x0524, 1_000_040, &[pair(70, 71), 0, 0]),
        perfinfo(0x1826, 1_000_041, &[1_000_040, pair(500, 70), KEY]),
        system(0x0443, 3, 1_000_050, &read),
        event(RUNTIME, id(1, 1), &with_key),
        event(KERNEL_PROCESS, id(1, 1), &payload(1_000_070, &start, 0)),
        system(0x0302, 3, 1_000_080, &process),
        definition,
    ]
}

/// Writes the trace.
pub(crate) fn write_named(path: &Path) {
    let mut writer = Writer::create(path, WriterOptions { buffer_size: BUFFER, ..options() }).unwrap();
    let mut buffer = Buffer::new(BUFFER, 0);
    for (stamp, record) in (1_000_010..).zip(records()) {
        buffer.push_record(&record, stamp).unwrap();
    }
    writer.write_buffer(&mut buffer, 1_001_000).unwrap();
    writer.close_at(FileTime(START.0 + 10_000_000)).unwrap();
}
