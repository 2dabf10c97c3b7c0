//! The data of an event as a writer hands it over.
//!
//! The engine asks for data only once it knows that a session wants the event, as the kernel does: a source may therefore
//! stand for memory that nobody has looked at yet.

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

/// Where the engine reads an event's data from: the array of data descriptors, in safe terms.
pub trait BlockSource {
    /// How many blocks the writer announced.
    fn count(&self) -> usize;

    /// How many bytes block `index` says it has. 0 beyond the last block.
    fn size(&self, index: usize) -> usize;

    /// Block `index`, or `None` where it cannot be read.
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
