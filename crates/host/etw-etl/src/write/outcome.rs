//! What a writer returns.

use std::path::PathBuf;

/// What became of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferOutcome {
    /// It had no events, and nothing was written.
    Empty,
    /// It is in the file.
    Written,
    /// It is in the file in place of the oldest one.
    Overwrote,
    /// The file has its largest size: the buffer's events are counted as lost.
    FileFull,
}

/// What a writer did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The file, the last one of several.
    pub path: PathBuf,
    /// How many files there are.
    pub files: u32,
    /// Events that went into files; a circular file may have overwritten some of them.
    pub events: u64,
    /// Events that were lost: of buffers that could not be written, and those that the caller reported.
    pub events_lost: u64,
    /// Buffers that went into files, without the first of each.
    pub buffers: u64,
}
