//! Reads, decompresses and parses the buffers of a file, one at a time.

use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};

use super::decompress;
use super::records::{Buffer, Spare};
use super::report::LossReason;
use crate::format::buffer::{self, BufferHeader, MAX_BUFFER_SIZE};

/// A file, its length and the compression of its buffers.
#[derive(Debug)]
pub(crate) struct Source<R> {
    pub(crate) file: R,
    pub(crate) length: u64,
    /// `COMPRESSION_FORMAT_*`, from the lower half of the first buffer's state.
    pub(crate) compression: u16,
    /// The memory of a buffer that is no longer needed, for the next one.
    spare: Option<Spare>,
    /// The memory of a buffer's header, and of a compressed buffer.
    start: Vec<u8>,
    packed: Vec<u8>,
    /// Decompressed buffers that will be read again, and the number of bytes to the next buffer, by offset.
    kept: HashMap<u64, (Buffer, u64)>,
    /// The memory of these, in bytes.
    held: usize,
}

/// A loss: its offset, its size in bytes and the reason.
type Loss = (u64, u64, LossReason);

/// What was found at an offset.
pub(crate) enum Found {
    /// A buffer, the number of bytes to the next one, and possibly a loss.
    Buffer(Buffer, u64, Option<Loss>),
    /// A buffer that could not be decompressed, and the number of bytes to the next one.
    Packed(u64, LossReason),
    /// A buffer that was never written.
    Unwritten,
    /// Not a buffer.
    Bad,
}

impl<R: Read + Seek> Source<R> {
    pub(crate) fn new(mut file: R) -> io::Result<Self> {
        let length = file.seek(SeekFrom::End(0))?;
        let start = Vec::new();
        let packed = Vec::new();
        Ok(Self { file, length, compression: 0, spare: None, start, packed, kept: HashMap::new(), held: 0 })
    }

    /// Takes a buffer that is no longer needed. The next one uses its memory.
    pub(crate) fn recycle(&mut self, buffer: Buffer) {
        self.spare = Some(buffer.into_spare());
    }

    /// Takes a buffer that will be read again. Keeps it if it was compressed, as long as all kept buffers take at most `most` bytes:
    /// decompressing takes longer than everything else.
    pub(crate) fn keep(&mut self, offset: u64, size: u64, buffer: Buffer, most: usize) {
        let cost = buffer.cost();
        if buffer.was_compressed && !buffer.slots.is_empty() && self.held + cost <= most {
            self.held += cost;
            self.kept.insert(offset, (buffer, size));
        } else {
            self.recycle(buffer);
        }
    }

    /// Returns the memory of the kept buffers, in bytes.
    pub(crate) const fn held(&self) -> usize {
        self.held
    }

    /// Reads at most `most` bytes from `offset` on, fewer at the end of the file. Allocates only as much as the file contains.
    pub(crate) fn bytes(&mut self, offset: u64, most: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(offset))?;
        self.fill(offset, most, &mut bytes, &[])?;
        Ok(bytes)
    }

    /// Replaces the content of `bytes` with `start` and at most `most` bytes from the current position, which is `offset`. What
    /// `bytes` has before need not be cleared.
    fn fill(&mut self, offset: u64, most: usize, bytes: &mut Vec<u8>, start: &[u8]) -> io::Result<()> {
        let there = usize::try_from(self.length.saturating_sub(offset)).unwrap_or(usize::MAX);
        bytes.reserve_exact((start.len() + most.min(there)).saturating_sub(bytes.len()));
        bytes.resize(start.len() + most.min(there), 0);
        let mut filled = start.len();
        if let Some(place) = bytes.get_mut(..filled) {
            place.copy_from_slice(start);
        }
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.file.read(rest) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        bytes.truncate(filled);
        Ok(())
    }

    /// Reads the buffer at `offset`. The losses of a kept buffer are returned only once.
    pub(crate) fn buffer(&mut self, offset: u64) -> io::Result<Found> {
        if let Some((buffer, size)) = self.kept.remove(&offset) {
            self.held -= buffer.cost();
            return Ok(Found::Buffer(buffer, size, None));
        }
        let mut start = std::mem::take(&mut self.start);
        self.file.seek(SeekFrom::Start(offset))?;
        self.fill(offset, buffer::SIZE, &mut start, &[])?;
        let found = self.buffer_after(offset, &start);
        self.start = start;
        found
    }

    /// Reads the buffer at `offset`, of which the first bytes have been read.
    fn buffer_after(&mut self, offset: u64, start: &[u8]) -> io::Result<Found> {
        let Some(header) = BufferHeader::parse(start) else {
            return Ok(Found::Bad);
        };
        let size = usize::try_from(header.size).unwrap_or(usize::MAX);
        if start.iter().all(|byte| *byte == 0) {
            return Ok(Found::Unwritten);
        }
        if !(buffer::SIZE..=MAX_BUFFER_SIZE).contains(&size) {
            return Ok(Found::Bad);
        }
        if header.is_compressed() {
            let mut packed = std::mem::take(&mut self.packed);
            let filled = self.fill(offset + count(start.len()), size - start.len(), &mut packed, &[]);
            let found = filled.map(|()| self.unpack(offset, &header, start, &packed));
            self.packed = packed;
            found
        } else {
            self.plain(offset, &header, size, start)
        }
    }

    /// Reads the rest of a buffer. `start` has the bytes of its header.
    fn plain(&mut self, offset: u64, header: &BufferHeader, size: usize, start: &[u8]) -> io::Result<Found> {
        let Some(used) = header.used(size) else {
            return Ok(Found::Bad);
        };
        let Spare { mut bytes, slots } = self.spare.take().unwrap_or_default();
        self.fill(offset + count(start.len()), used - start.len(), &mut bytes, start)?;
        let missing = used - bytes.len().min(used);
        let cut = (missing > 0).then(|| (offset + count(bytes.len()), count(missing), LossReason::Truncated));
        let buffer = Buffer::new(header, bytes, slots);
        let bad = buffer.bad.map(|place| (offset + count(place), count(used - place.min(used)), LossReason::BadRecord));
        // A record that is cut off by the end of the file is truncated, not bad.
        let loss = match (bad, cut) {
            (Some((place, bytes, _)), Some(_)) => Some((place, bytes, LossReason::Truncated)),
            (bad, cut) => bad.or(cut),
        };
        Ok(Found::Buffer(buffer, count(size), loss))
    }

    /// Decompresses a buffer. `start` has the bytes of its header, and `packed` those after it.
    fn unpack(&mut self, offset: u64, header: &BufferHeader, start: &[u8], packed: &[u8]) -> Found {
        let disk = count(usize::try_from(header.size).unwrap_or(usize::MAX));
        let whole = usize::try_from(header.filled).unwrap_or(usize::MAX);
        let Some(unpacked) = whole.checked_sub(buffer::SIZE).filter(|_| whole <= MAX_BUFFER_SIZE) else {
            return Found::Packed(disk, LossReason::BadCompression);
        };
        let truncated = count(start.len() + packed.len()) < disk;
        let Spare { bytes: mut out, slots } = self.spare.take().unwrap_or_default();
        out.clear();
        out.extend_from_slice(start);
        let end = match decompress::append(self.compression, packed, unpacked, &mut out) {
            Ok(()) => None,
            Err(reason) if out.len() == buffer::SIZE => return Found::Packed(disk, reason),
            Err(reason) => Some(if truncated { LossReason::Truncated } else { reason }),
        };
        let there = out.len();
        let mut buffer = Buffer::new(header, out, slots);
        buffer.was_compressed = true;
        // Offsets within a compressed buffer do not exist in the file, so losses are reported at its start.
        let rest = |place: usize| count(whole - place.min(whole));
        let loss = match (end, buffer.bad) {
            (Some(reason), bad) => Some((offset, rest(bad.unwrap_or(there)), reason)),
            (None, Some(place)) => Some((offset, rest(place), LossReason::BadRecord)),
            (None, None) => None,
        };
        Found::Buffer(buffer, disk, loss)
    }
}

fn count(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
