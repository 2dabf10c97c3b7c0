//! Unpacks compressed streams anywhere in a file: gzip, zlib, bzip2, xz and the members of zip.

use std::io::{self, ErrorKind, Read};

use bzip2::read::BzDecoder;
use lzma_rust2::XzReader;
use memchr::memmem;
use miniz_oxide::inflate::core::inflate_flags::{
    TINFL_FLAG_PARSE_ZLIB_HEADER, TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF,
};
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

/// The shortest text that can contain a key.
pub(super) const SHORTEST: usize = 60;
/// The most bytes that are unpacked from one stream, and the most streams of one kind in one view.
const LIMIT: usize = 1 << 24;
const STREAMS: usize = 64;
/// The most memory for one xz stream in KiB. `xz -9` needs half of it.
const MEMORY: u32 = 128 << 10;

/// Deflate unpacks a byte to at most so many: 258 bytes take two bits.
const DEFLATE_RATIO: usize = 1032;

/// The first bytes of streams. Those of bzip2 are around a digit: the size of its blocks.
const GZIP: [u8; 3] = [0x1f, 0x8b, 8];
const ZIP: &[u8] = b"PK\x03\x04";
const BZIP2: &[u8] = b"BZh";
const BZIP2_BLOCK: [u8; 6] = [0x31, 0x41, 0x59, 0x26, 0x53, 0x59];
const XZ: &[u8] = b"\xfd7zXZ\0";

/// Unpacks the streams in the bytes. If a stream is cut or damaged, what comes before that is unpacked.
///
/// # Errors
///
/// Names a stream that may contain anything, because it cannot be unpacked here.
pub(super) fn unpacked(bytes: &[u8]) -> Result<Vec<Vec<u8>>, &'static str> {
    let from = |place: usize| bytes.get(place..);
    let raw = |data: &[u8]| inflate(data, 0, LIMIT);
    let with_header = |data: &[u8]| inflate(data, TINFL_FLAG_PARSE_ZLIB_HEADER, LIMIT);
    let gzip = memmem::find_iter(bytes, &GZIP).filter_map(|place| gzip_data(from(place)?)).map(raw);
    let zip = memmem::find_iter(bytes, ZIP).filter_map(|place| zip_data(from(place)?)).map(raw);
    let bzip2 = memmem::find_iter(bytes, BZIP2).filter_map(from).filter(|data| is_bzip2(data)).map(bunzip2);
    let zlib = (0..bytes.len()).filter_map(from).filter(|data| is_zlib(data)).map(with_header);
    let streams = gzip.take(STREAMS).chain(zip.take(STREAMS)).chain(bzip2.take(STREAMS)).chain(zlib.take(STREAMS));
    let xz = memmem::find_iter(bytes, XZ).filter_map(from).take(STREAMS).map(unxz);
    streams.map(Ok).chain(xz).collect()
}

/// Returns the data after a header of gzip (RFC 1952, 2.3).
fn gzip_data(bytes: &[u8]) -> Option<&[u8]> {
    let flags = *bytes.get(3)?;
    let mut rest = bytes.get(10..)?;
    if flags & 4 != 0 {
        let length = usize::from(u16::from_le_bytes(*rest.first_chunk()?));
        rest = rest.get(2 + length..)?;
    }
    for text in [8, 16] {
        if flags & text != 0 {
            rest = rest.get(memchr::memchr(0, rest)? + 1..)?;
        }
    }
    rest.get(usize::from(flags & 2)..)
}

/// Returns the data of a member of a zip file that is packed.
fn zip_data(bytes: &[u8]) -> Option<&[u8]> {
    let number = |at: usize| bytes.get(at..at + 2)?.first_chunk().map(|pair| usize::from(u16::from_le_bytes(*pair)));
    let method = number(8)?;
    let name = number(26)?;
    let extra = number(28)?;
    bytes.get(30 + name + extra..).filter(|_| method == 8)
}

/// Recognises a header of zlib (RFC 1950, 2.2), without a preset dictionary. One place in two thousand looks like one, so the data
/// must begin to unpack, too.
fn is_zlib(bytes: &[u8]) -> bool {
    let &[method, flags, ..] = bytes else { return false };
    let is_header = method & 0x8f == 8 && u16::from_be_bytes([method, flags]) % 31 == 0 && flags & 0x20 == 0;
    is_header && inflate(bytes, TINFL_FLAG_PARSE_ZLIB_HEADER, SHORTEST).len() == SHORTEST
}

/// Unpacks deflated data up to the limit, or up to an error. The functions of `miniz_oxide` that return a vector fill it with zeros
/// after an error.
fn inflate(bytes: &[u8], flags: u32, limit: usize) -> Vec<u8> {
    let mut data = vec![0; limit.min(bytes.len().saturating_mul(DEFLATE_RATIO))];
    let flags = flags | TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
    let (_, _, written) = decompress(&mut DecompressorOxide::new(), bytes, &mut data, 0, flags);
    data.truncate(written);
    data.shrink_to_fit();
    data
}

fn is_bzip2(bytes: &[u8]) -> bool {
    bytes.get(BZIP2.len() + 1..).is_some_and(|block| block.starts_with(&BZIP2_BLOCK))
}

fn bunzip2(bytes: &[u8]) -> Vec<u8> {
    read(BzDecoder::new(bytes)).0
}

fn unxz(bytes: &[u8]) -> Result<Vec<u8>, &'static str> {
    match read(XzReader::new_mem_limit(bytes, false, MEMORY)) {
        (_, Err(error)) if error.kind() == ErrorKind::OutOfMemory => {
            Err("xz data that needs more than 128 MiB of memory, and so cannot be searched for keys")
        }
        (_, Err(error)) if error.kind() == ErrorKind::Unsupported => {
            Err("xz data with an unknown check, and so cannot be searched for keys")
        }
        (data, _) => Ok(data),
    }
}

/// Returns the bytes up to the limit, or up to an error.
fn read(stream: impl Read) -> (Vec<u8>, io::Result<usize>) {
    let mut data = Vec::new();
    let result = stream.take(LIMIT as u64).read_to_end(&mut data);
    (data, result)
}
