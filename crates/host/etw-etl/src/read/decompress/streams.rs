//! The input and the bounded output of the decoders.

/// The input does not follow its format. Everything decompressed before that point is valid.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Damaged;

/// The destination of decompressed bytes, with a limit.
pub(super) struct Output<'a> {
    pub(super) bytes: &'a mut Vec<u8>,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Output<'_> {
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() >= self.end
    }

    /// Returns the number of bytes decompressed so far.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    pub(super) fn literal(&mut self, byte: u8) -> Result<(), Damaged> {
        if self.is_full() {
            return Err(Damaged);
        }
        self.bytes.push(byte);
        Ok(())
    }

    /// Copies `length` bytes from `distance` bytes back; the two ranges may overlap.
    pub(super) fn copy(&mut self, distance: usize, length: usize) -> Result<(), Damaged> {
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
pub(super) struct Input<'a> {
    bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Input<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub(super) fn take<const N: usize>(&mut self) -> Result<[u8; N], Damaged> {
        let taken = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk).copied().ok_or(Damaged)?;
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
