//! Decompression of buffers, as specified in Microsoft's [MS-XCA].
//!
//! Every decoder appends at most the expected number of bytes. Bytes decompressed before an error are kept.

mod huffman;
mod lznt1;
mod streams;
mod xpress;

use super::report::LossReason;
use streams::Output;

/// `COMPRESSION_FORMAT_LZNT1`.
const LZNT1: u16 = 2;
/// `COMPRESSION_FORMAT_XPRESS`.
const XPRESS: u16 = 3;
/// `COMPRESSION_FORMAT_XPRESS_HUFF`.
const XPRESS_HUFF: u16 = 4;
/// Maximum compression ratio, more than any real buffer reaches. It keeps the work for a hostile file proportional to its size.
const MAX_RATIO: usize = 1024;

/// Decompresses `packed` to `size` bytes and appends them to `out`.
pub(crate) fn append(format: u16, packed: &[u8], size: usize, out: &mut Vec<u8>) -> Result<(), LossReason> {
    if size > packed.len().saturating_mul(MAX_RATIO) {
        return Err(LossReason::BadCompression);
    }
    let mut output = Output { start: out.len(), end: out.len() + size, bytes: out };
    let result = match format {
        LZNT1 => lznt1::unpack(packed, &mut output),
        XPRESS => xpress::unpack(packed, &mut output),
        XPRESS_HUFF => huffman::unpack(packed, &mut output),
        _ => return Err(LossReason::UnknownCompression(format)),
    };
    match result {
        Ok(()) if output.is_full() => Ok(()),
        _ => Err(LossReason::BadCompression),
    }
}

#[cfg(test)]
mod tests;
