//! What the reader keeps of each buffer.

/// The time stamps of the events that the stacks of a buffer belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Targets {
    pub(crate) earliest: u64,
    pub(crate) latest: u64,
}

impl Targets {
    pub(super) fn with(others: Option<Self>, stamp: u64) -> Self {
        let others = others.unwrap_or(Self { earliest: stamp, latest: stamp });
        Self { earliest: others.earliest.min(stamp), latest: others.latest.max(stamp) }
    }
}

/// A buffer that has records. This is all that the reader keeps permanently of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    /// The earliest time stamp.
    pub(crate) first: u64,
    /// Offset in the file.
    pub(crate) offset: u64,
    /// The events that its stacks belong to, if it has stacks.
    pub(crate) stacks: Option<Targets>,
}
