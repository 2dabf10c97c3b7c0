//! Decompression of buffers, as specified in Microsoft's [MS-XCA].
//!
//! Every decoder appends at most the expected number of bytes. Bytes decompressed before an error are kept.

mod huffman;
mod lznt1;
mod xpress;

use super::report::LossReason;

/// `COMPRESSION_FORMAT_LZNT1`.
const LZNT1: u16 = 2;
/// `COMPRESSION_FORMAT_XPRESS`.
const XPRESS: u16 = 3;
/// `COMPRESSION_FORMAT_XPRESS_HUFF`.
const XPRESS_HUFF: u16 = 4;
/// Maximum compression ratio, more than any real buffer reaches. It keeps the work for a hostile file proportional to its size.
const MAX_RATIO: usize = 1024;

/// The input does not follow its format. Everything decompressed before that point is valid.
#[derive(Debug, PartialEq, Eq)]
struct Damaged;

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

/// The destination of decompressed bytes, with a limit.
struct Output<'a> {
    bytes: &'a mut Vec<u8>,
    start: usize,
    end: usize,
}

impl Output<'_> {
    fn is_full(&self) -> bool {
        self.bytes.len() >= self.end
    }

    /// Returns the number of bytes decompressed so far.
    fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    fn literal(&mut self, byte: u8) -> Result<(), Damaged> {
        if self.is_full() {
            return Err(Damaged);
        }
        self.bytes.push(byte);
        Ok(())
    }

    /// Copies `length` bytes from `distance` bytes back; the two ranges may overlap.
    fn copy(&mut self, distance: usize, length: usize) -> Result<(), Damaged> {
        if distance == 0 || distance > self.len() || length > self.end - self.bytes.len() {
            return Err(Damaged);
        }
        for _ in 0..length {
            let byte = self.bytes.get(self.bytes.len() - distance).copied().ok_or(Damaged)?;
            self.bytes.push(byte);
        }
        Ok(())
    }
}

/// The remaining input.
struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Damaged> {
        let taken = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk).copied().ok_or(Damaged)?;
        self.at += N;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Damaged> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn word(&mut self) -> Result<u16, Damaged> {
        self.take().map(u16::from_le_bytes)
    }

    fn dword(&mut self) -> Result<u32, Damaged> {
        self.take().map(u32::from_le_bytes)
    }
}

#[cfg(test)]
mod tests;
