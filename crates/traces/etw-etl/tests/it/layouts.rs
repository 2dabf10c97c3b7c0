//! Layouts that our writer does not produce: files of 32-bit systems, compressed files, records of other types.

use std::fs;
use std::io::Cursor;

use crate::common::{START, corpus_file, folder, options, provider};
use etw_etl::format::buffer::{self, BufferHeader};
use etw_etl::format::classic::SystemHeader;
use etw_etl::format::logfile::LogfileHeader;
use etw_etl::format::record::Layout;
use etw_etl::{Buffer, Event, EventData, Kind, Loss, LossReason, Reader, ReaderOptions, Writer};

fn read(bytes: &[u8]) -> Reader<Cursor<&[u8]>> {
    Reader::new(Cursor::new(bytes), ReaderOptions::default()).unwrap()
}

/// Returns a buffer with these records, as written by systems that did not have the processor index yet.
fn old_buffer(records: &[Vec<u8>], processor: u16, kind: u16) -> Vec<u8> {
    let mut body = Vec::new();
    for record in records {
        body.extend(record);
        body.resize(body.len().next_multiple_of(8), 0xFF);
    }
    let filled = u32::try_from(buffer::SIZE + body.len()).unwrap();
    let header = BufferHeader { size: 1024, filled, processor, kind, state: 3, ..BufferHeader::default() };
    let mut bytes = header.to_bytes().to_vec();
    bytes.extend(body);
    bytes.resize(1024, 0xFF);
    bytes
}

#[test]
fn a_file_of_an_old_32_bit_system_is_read() {
    let header = LogfileHeader {
        buffer_size: 1024,
        pointer_size: 4,
        start_time: START.0,
        perf_freq: 3_579_545,
        clock_type: 1,
        logger_name: "old".into(),
        ..LogfileHeader::default()
    };
    let body = header.to_bytes();
    let size = u16::try_from(0x20 + body.len()).unwrap();
    let prefix = SystemHeader { version: 2, header_type: 0xC001, size, timestamp: 100, ..SystemHeader::default() };
    let first = [&prefix.to_bytes()[..], &body].concat();
    let mut event = vec![0; 0x50];
    EventData { provider: provider(), timestamp: 100 + 3_579_545, is_32_bit: true, ..EventData::default() }
        .encode(&mut event)
        .unwrap();
    // The upper byte of the processor is an alignment.
    let bytes = [old_buffer(&[first], 0, 4), old_buffer(&[event], 0x0802, 0)].concat();
    let mut reader = read(&bytes);
    assert!(reader.report().is_whole(), "{}", reader.report());
    assert_eq!(reader.header().logger_name.as_str(), "old");
    assert_eq!(reader.header().pointer_size, 4);
    assert!(reader.next().unwrap().header.is_32_bit);
    let event = reader.next().unwrap();
    assert_eq!(event.header.cpu, 2);
    assert!(event.header.is_32_bit);
    assert_eq!(event.header.time.0, START.0 + 10_000_000);
}

/// Encodes bytes as plain LZ77 with literals only.
fn pack(bytes: &[u8]) -> Vec<u8> {
    bytes.chunks(32).flat_map(|chunk| [&[0; 4], chunk].concat()).collect()
}

/// Returns a file in which all buffers but the first are compressed.
fn compressed(plain: &[u8], format: u32) -> Vec<u8> {
    let mut bytes = plain[..1024].to_vec();
    let set_state = |bytes: &mut [u8]| bytes[0x2C..0x30].copy_from_slice(&format.to_le_bytes());
    set_state(&mut bytes);
    // `LogFileMode` in the logfile header.
    bytes[0x48 + 0x20 + 0x23] |= 0x04;
    for buffer in plain[1024..].chunks(1024) {
        let mut header = BufferHeader::parse(buffer).unwrap();
        let packed = pack(&buffer[buffer::SIZE..usize::try_from(header.filled).unwrap()]);
        header.size = u32::try_from(buffer::SIZE + packed.len()).unwrap();
        header.flags |= buffer::FLAG_COMPRESSED;
        bytes.extend(header.to_bytes());
        bytes.extend(packed);
    }
    bytes
}

#[test]
fn a_compressed_file_gives_the_events_of_the_plain_one() {
    let plain = fs::read(corpus_file("simple.etl")).unwrap();
    let packed = compressed(&plain, 3);
    assert!(read(&packed).report().is_whole());
    let records = |bytes| -> Vec<Vec<u8>> { read(bytes).skip(1).map(|event| event.record().to_vec()).collect() };
    assert_eq!(records(&packed), records(&plain));
    // If the file is cut off within the last buffer, everything decompressed before that point is available.
    let cut = read(&packed[..packed.len() - 100]);
    assert_eq!(cut.report().losses[0].reason, LossReason::Truncated);
    let all = read(&packed).count();
    assert!((all - 3..all).contains(&cut.count()));
}

#[test]
fn an_unknown_compression_is_named_and_costs_the_buffers_only() {
    let plain = fs::read(corpus_file("simple.etl")).unwrap();
    let reader = read(&compressed(&plain, 9)).report().clone();
    assert!(reader.losses.iter().all(|loss| loss.reason == LossReason::UnknownCompression(9)));
    assert_eq!(reader.events, 2);
    assert_eq!(reader.buffers, 7);
}

/// Returns the used bytes of a buffer, and the offset of its second record.
fn filled(buffer: &[u8]) -> (usize, usize) {
    let first = usize::from(u16::from_le_bytes([buffer[buffer::SIZE], buffer[buffer::SIZE + 1]]));
    let used = usize::try_from(BufferHeader::parse(buffer).unwrap().filled).unwrap();
    (used, buffer::SIZE + first.next_multiple_of(8))
}

/// Returns the parts of a file that cannot be read. The buffers that a shortened file does not have are not among them.
fn losses(bytes: &[u8]) -> Vec<Loss> {
    let mut losses = read(bytes).report().losses.clone();
    losses.retain(|loss| !matches!(loss.reason, LossReason::MissingBuffers { .. }));
    losses
}

/// Returns the offset, the size and the reason of the only part of a file that cannot be read.
fn loss(bytes: &[u8]) -> (usize, usize, LossReason) {
    let report = read(bytes).report().clone();
    let [loss] = &losses(bytes)[..] else { panic!("{report}") };
    assert_eq!(report.lost_bytes, loss.bytes);
    (loss.offset.try_into().unwrap(), loss.bytes.try_into().unwrap(), loss.reason.clone())
}

#[test]
fn a_loss_has_the_offset_and_the_bytes_of_what_cannot_be_read() {
    let plain = fs::read(corpus_file("simple.etl")).unwrap();
    let (used, second) = filled(&plain[1024..]);
    let mut bad = plain.clone();
    bad[1024 + second + 3] = 0;
    assert_eq!(loss(&bad), (1024 + second, used - second, LossReason::BadRecord));
    let all = read(&plain).report().events;
    assert_eq!(losses(&plain[..1024 + used]), [], "only padding is missing");
    assert_eq!(loss(&plain[..1024 + used - 1]).2, LossReason::Truncated);
    // Between two records, and within the second one.
    assert_eq!(loss(&plain[..1024 + second]), (1024 + second, used - second, LossReason::Truncated));
    assert_eq!(loss(&plain[..1024 + second + 9]), (1024 + second, used - second, LossReason::Truncated));
    assert_eq!(read(&plain[..1024 + second + 9]).report().events, 3);
    // Within the header of a buffer.
    assert_eq!(loss(&plain[..1024 + 0x47]), (1024, 0x47, LossReason::Truncated));
    let mut last = plain.clone();
    let end = plain.len() - 1024;
    last[end..end + 4].fill(0xFF);
    assert_eq!(loss(&last), (end, 1024, LossReason::BadBufferHeader));
    assert_eq!(loss(&last[..end + 0x48]), (end, 0x48, LossReason::BadBufferHeader));
    assert!(read(&last).report().events < all);
}

#[test]
fn the_sizes_of_a_buffer_are_checked() {
    let plain = fs::read(corpus_file("simple.etl")).unwrap();
    let with = |place: usize, number: u32| {
        let mut bytes = plain.clone();
        bytes[1024 + place..1028 + place].copy_from_slice(&number.to_le_bytes());
        losses(&bytes).first().map(|loss| (loss.offset, loss.bytes, loss.reason.clone()))
    };
    let bad = Some((1024, 1024, LossReason::BadBufferHeader));
    // The size, and the bytes used: two fields have them, at 0x04 and 0x30.
    assert_eq!(with(0, 0x47), bad.clone());
    assert_eq!(with(0, (16 << 20) + 1), bad);
    assert_eq!(with(0, 16 << 20), None, "the last buffer, as far as it is there");
    assert_eq!(with(0x30, 1025), None, "the other field is used");
    assert_eq!(with(0x30, 0x48), None, "no record");
}

#[test]
fn a_loss_in_a_compressed_buffer_is_at_its_start() {
    let plain = fs::read(corpus_file("simple.etl")).unwrap();
    let (used, second) = filled(&plain[1024..]);
    // A record that is not one.
    let mut bad = plain[..2048].to_vec();
    bad[1024 + second + 3] = 0;
    assert_eq!(loss(&compressed(&bad, 3)), (1024, used - second, LossReason::BadRecord));
    // The file ends within the second record: the part that unpacks, whole groups of 32 bytes and their flags, is lost too.
    let packed = compressed(&plain[..2048], 3);
    let unpacked = second - buffer::SIZE + 9;
    let cut = 1024 + buffer::SIZE + unpacked + 4 * unpacked.div_ceil(32);
    assert_eq!(loss(&packed[..cut]), (1024, used - second, LossReason::Truncated));
    assert_eq!(read(&packed[..cut]).report().events, 3);
    // Nothing unpacks.
    let size = packed.len() - 1024;
    let left = |length: usize| loss(&packed[..1024 + length]);
    assert_eq!(left(buffer::SIZE), (1024, buffer::SIZE, LossReason::BadCompression));
    let promises = |number: u32| {
        let mut bytes = packed.clone();
        bytes[1024 + 0x30..1024 + 0x34].copy_from_slice(&number.to_le_bytes());
        bytes
    };
    assert_eq!(loss(&promises(0x47)), (1024, size, LossReason::BadCompression));
    assert_eq!(loss(&promises((16 << 20) + 1)), (1024, size, LossReason::BadCompression));
    let used = u32::try_from(used).unwrap();
    assert_eq!(loss(&promises(used + 1)).2, LossReason::BadCompression, "one byte more than there is");
    assert_eq!(losses(&promises(0x48)), [], "nothing is promised");
    // What follows a buffer that is none cannot be found, because compressed buffers have different sizes.
    let mut headless = compressed(&plain, 3);
    headless[1024..1028].fill(0xFF);
    assert_eq!(loss(&headless), (1024, headless.len() - 1024, LossReason::BadBufferHeader));
    headless[1024..1024 + 0x48].fill(0);
    assert_eq!(read(&headless).report().unwritten_bytes, headless.len() as u64 - 1024);
}

#[test]
fn records_of_other_types_can_be_between_events() {
    let path = folder("foreign").join("a.etl");
    let mut writer = Writer::create(&path, options()).unwrap();
    let mut buffer = Buffer::new(1024, 0);
    buffer.push(&EventData { timestamp: 1_000_010, ..EventData::default() }).unwrap();
    // An error record, a message without a time stamp, a kernel event with only a time stamp.
    buffer.push_record(&[0x0B, 0, 13, 0xC0, 1, 0, 0, 0, 1, 2, 3], 0).unwrap();
    buffer.push_record(&[0x0A, 0, 0, 0x90, 5, 0, 0, 0, 0xAB, 0xCD], 0).unwrap();
    let perfinfo = [&[2, 0, 0x11, 0xC0, 0x14, 0, 0x24, 0x05][..], &1_000_005_u64.to_le_bytes(), &[9; 4]].concat();
    buffer.push_record(&perfinfo, 1_000_005).unwrap();
    buffer.push(&EventData { timestamp: 1_000_020, ..EventData::default() }).unwrap();
    writer.write_buffer(&mut buffer, 1_000_020).unwrap();
    writer.close().unwrap();
    let events: Vec<Event> = Reader::open(&path).unwrap().skip(2).collect();
    let layouts: Vec<Layout> = events.iter().map(|event| event.header.layout).collect();
    assert_eq!(layouts, [Layout::PerfInfo, Layout::Event, Layout::Foreign, Layout::Message, Layout::Event]);
    assert_eq!(events[0].payload(), [9; 4]);
    assert_eq!(events[2].kind(), Kind::System);
    assert_eq!(events[2].payload(), &[1, 2, 3][..]);
    assert_eq!(events[3].header.stamp, 1_000_010, "behind its predecessor");
}
