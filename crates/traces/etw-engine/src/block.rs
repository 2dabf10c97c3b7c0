//! The data of an event as the writer passes it.
//!
//! Like the kernel, the engine reads the data only after it knows that a session accepts the event. A source may
//! therefore refer to memory that nothing has read yet.

use etw_types::DataKind;

/// One piece of an event's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    /// What the writer says the bytes are.
    pub kind: DataKind,
    /// The bytes.
    pub bytes: &'a [u8],
}

impl<'a> Block<'a> {
    /// Payload bytes.
    #[must_use]
    pub const fn data(bytes: &'a [u8]) -> Self {
        Self { kind: DataKind::Data, bytes }
    }

    /// Bytes of the given kind.
    #[must_use]
    pub const fn with_kind(bytes: &'a [u8], kind: DataKind) -> Self {
        Self { kind, bytes }
    }
}

/// The source of an event's data: a safe view of the array of data descriptors.
pub trait BlockSource {
    /// Returns the number of blocks that the writer passed.
    fn count(&self) -> usize;

    /// Returns the size in bytes that block `index` declares, or 0 if there is no such block.
    fn size(&self, index: usize) -> usize;

    /// Returns block `index`, or `None` if it cannot be read.
    fn block(&self, index: usize) -> Option<Block<'_>>;
}

impl BlockSource for [Block<'_>] {
    fn count(&self) -> usize {
        self.len()
    }

    fn size(&self, index: usize) -> usize {
        self.get(index).map_or(0, |block| block.bytes.len())
    }

    fn block(&self, index: usize) -> Option<Block<'_>> {
        self.get(index).copied()
    }
}

impl<const N: usize> BlockSource for [Block<'_>; N] {
    fn count(&self) -> usize {
        N
    }

    fn size(&self, index: usize) -> usize {
        self.as_slice().size(index)
    }

    fn block(&self, index: usize) -> Option<Block<'_>> {
        self.as_slice().block(index)
    }
}
