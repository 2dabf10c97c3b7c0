//! Compressed buffers. The input is the format, the number of decompressed bytes, and the compressed bytes of a buffer. Guarantees: a
//! reader that keeps the buffer decompressed, one that reads it again and one without memory return the same records, and count them.

use std::io::Cursor;

use etw_etl::format::buffer::{BufferHeader, FLAG_COMPRESSED, SIZE};
use etw_etl::{Reader, ReaderOptions};

/// The formats of Windows, and one more.
const FORMATS: u8 = 6;

/// Reads a file of two such buffers.
pub(super) fn run(bytes: &[u8]) {
    let Some(([format, low, high], packed)) = bytes.split_first_chunk() else { return };
    let length = |bytes: usize| u32::try_from(bytes).expect("an input is short");
    let header = BufferHeader {
        size: length(SIZE + packed.len()),
        filled: length(SIZE) + u32::from(u16::from_le_bytes([*low, *high])),
        flags: FLAG_COMPRESSED,
        state: u32::from(format % FORMATS),
        ..BufferHeader::default()
    };
    let file = [&header.to_bytes()[..], packed].concat().repeat(2);
    let read = |memory| {
        let options = ReaderOptions { memory, grows: false };
        let mut reader = Reader::new(Cursor::new(file.as_slice()), options).expect("it starts with a buffer");
        let records: Vec<Vec<u8>> = reader.by_ref().map(|event| event.record().to_vec()).collect();
        assert_eq!(
            u64::try_from(records.len()),
            Ok(reader.report().events),
            "the report counts another number of records"
        );
        reader.rewind();
        let again = reader.by_ref().map(|event| event.record().to_vec());
        assert!(again.eq(records.iter().cloned()), "the second pass differs");
        (records, reader.report().clone())
    };
    assert_eq!(read(1 << 20), read(0), "memory changes what is read");
}
