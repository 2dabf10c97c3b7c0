//! Decompression of buffers, as specified in Microsoft's [MS-XCA].
//!
//! Every decoder appends at most the expected number of bytes. Bytes decompressed before an error are kept.

mod huffman;
mod lznt1;
mod streams;
mod xpress;

use super::report::LossReason;
use streams::{MARGIN, Output};
use windows_constants::runtime_library::{
    COMPRESSION_FORMAT_LZNT1, COMPRESSION_FORMAT_XPRESS, COMPRESSION_FORMAT_XPRESS_HUFF,
};

/// Maximum compression ratio, more than any real buffer reaches. It keeps the work for a hostile file proportional to its size.
const MAX_RATIO: usize = 1024;

/// Decompresses `packed` to `size` bytes and appends them to `out`.
pub(crate) fn append(format: u16, packed: &[u8], size: usize, out: &mut Vec<u8>) -> Result<(), LossReason> {
    if size > packed.len().saturating_mul(MAX_RATIO) {
        return Err(LossReason::BadCompression);
    }
    let unpack = match format {
        COMPRESSION_FORMAT_LZNT1 => lznt1::unpack,
        COMPRESSION_FORMAT_XPRESS => xpress::unpack,
        COMPRESSION_FORMAT_XPRESS_HUFF => huffman::unpack,
        _ => return Err(LossReason::UnknownCompression(format)),
    };
    let start = out.len();
    out.resize(start + size + MARGIN, 0);
    let mut output = Output::new(out.get_mut(start..).unwrap_or_default());
    let result = unpack(packed, &mut output);
    let length = output.len();
    let is_full = output.is_full();
    out.truncate(start + length);
    match result {
        Ok(()) if is_full => Ok(()),
        _ => Err(LossReason::BadCompression),
    }
}

#[cfg(test)]
mod tests;
