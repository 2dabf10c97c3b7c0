//! The input and the bounded output of the decoders.

/// The input does not follow its format. Everything decompressed before that point is valid.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Damaged;

/// Number of bytes that are copied at once where there is room, although fewer may be meant: copying a constant number of bytes is
/// faster than copying some of them.
const BLOCK: usize = 16;
/// Number of bytes behind the end of the output that may be written to.
pub(super) const MARGIN: usize = 2 * BLOCK;

/// The destination of decompressed bytes, with a limit.
pub(super) struct Output<'a> {
    /// The destination: `limit` bytes and a margin.
    bytes: &'a mut [u8],
    length: usize,
    limit: usize,
}

impl<'a> Output<'a> {
    /// Appends to the start of `bytes` whatever is there, at most all bytes without [`MARGIN`].
    pub(super) const fn new(bytes: &'a mut [u8]) -> Self {
        let limit = bytes.len().saturating_sub(MARGIN);
        Self { bytes, length: 0, limit }
    }

    pub(super) const fn is_full(&self) -> bool {
        self.length >= self.limit
    }

    /// Returns the number of bytes decompressed so far.
    pub(super) const fn len(&self) -> usize {
        self.length
    }

    #[inline]
    pub(super) fn literal(&mut self, byte: u8) -> Result<(), Damaged> {
        if self.is_full() {
            return Err(Damaged);
        }
        *self.bytes.get_mut(self.length).ok_or(Damaged)? = byte;
        self.length += 1;
        Ok(())
    }

    /// Copies the next `count` bytes of the input, or as many as the output has room for.
    #[inline]
    pub(super) fn literals(&mut self, input: &mut Input<'_>, count: usize) -> Result<(), Damaged> {
        let count = count.min(self.limit - self.length);
        let rest = input.rest();
        let place = self.bytes.get_mut(self.length..).unwrap_or_default();
        if let (true, Some(from), Some(to)) = (count <= MARGIN, rest.first_chunk(), place.first_chunk_mut::<MARGIN>()) {
            *to = *from;
        } else {
            let there = count.min(rest.len());
            let (Some(from), Some(to)) = (rest.get(..there), place.get_mut(..there)) else { return Err(Damaged) };
            to.copy_from_slice(from);
            if there < count {
                self.length += there;
                return Err(Damaged);
            }
        }
        self.length += count;
        input.at += count;
        Ok(())
    }

    /// Copies `length` bytes from `distance` bytes back; the two ranges may overlap.
    #[inline]
    pub(super) fn copy(&mut self, distance: usize, length: usize) -> Result<(), Damaged> {
        if distance == 0 || distance > self.length || length > self.limit - self.length {
            return Err(Damaged);
        }
        let from = self.length - distance;
        let to = self.length;
        self.length += length;
        if distance >= BLOCK && length <= BLOCK {
            let (before, behind) = self.bytes.split_at_mut_checked(to).ok_or(Damaged)?;
            let block = before.get(from..).and_then(<[u8]>::first_chunk::<BLOCK>);
            if let (Some(block), Some(place)) = (block, behind.first_chunk_mut()) {
                *place = *block;
            }
            return Ok(());
        }
        // The bytes repeat. Each step copies all repetitions so far.
        let mut copied = 0;
        while copied < length {
            let step = (distance + copied).min(length - copied);
            self.bytes.copy_within(from..from + step, to + copied);
            copied += step;
        }
        Ok(())
    }
}

/// The remaining input.
pub(super) struct Input<'a> {
    bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Input<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    #[inline]
    pub(super) fn take<const N: usize>(&mut self) -> Result<[u8; N], Damaged> {
        let taken = self.rest().first_chunk().copied().ok_or(Damaged)?;
        self.at += N;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Damaged> {
        self.take::<1>().map(|[byte]| byte)
    }

    pub(super) fn word(&mut self) -> Result<u16, Damaged> {
        self.take().map(u16::from_le_bytes)
    }

    pub(super) fn dword(&mut self) -> Result<u32, Damaged> {
        self.take().map(u32::from_le_bytes)
    }
}
