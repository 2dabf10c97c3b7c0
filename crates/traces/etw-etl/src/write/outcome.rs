//! Results of a writer.

use std::path::PathBuf;

/// What happened to a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferOutcome {
    /// It had no records, and nothing was written.
    Empty,
    /// It was written to the file.
    Written,
    /// It was written to the file and replaced the oldest buffer.
    Overwrote,
    /// The file has reached its maximum size. The events of the buffer are counted as lost.
    FileFull,
}

/// What a writer has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Path of the file; the last one if there are several.
    pub path: PathBuf,
    /// Number of files.
    pub files: u32,
    /// Events written to files. A circular file may have overwritten some of them.
    pub events: u64,
    /// Lost events: those of buffers that could not be written, and those that the caller reported.
    pub events_lost: u64,
    /// Buffers written to files, not counting the first buffer of each file.
    pub buffers: u64,
}
