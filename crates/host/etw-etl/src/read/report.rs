//! What a reader found, and what it could not read.

use std::fmt;

/// Maximum number of losses that are listed; further ones are only counted.
const MAX_LOSSES: usize = 1000;

/// Why bytes of a file were not read as events.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossReason {
    /// The file ends within a buffer.
    Truncated,
    /// A buffer's header does not describe a buffer.
    BadBufferHeader,
    /// A record in a buffer does not fit. The rest of the buffer is skipped.
    BadRecord,
    /// The first record is not a logfile header. Times are computed as if the time stamps were system time.
    NoLogfileHeader,
    /// A compressed buffer cannot be decompressed.
    BadCompression,
    /// A buffer uses a compression format that this crate does not support.
    UnknownCompression(u16),
    /// The operating system reported a read error.
    Unreadable(String),
}

impl fmt::Display for LossReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the file ends within a buffer"),
            Self::BadBufferHeader => f.write_str("not a buffer header"),
            Self::BadRecord => f.write_str("not a record; the rest of the buffer is left out"),
            Self::NoLogfileHeader => f.write_str("no logfile header: times are unreliable"),
            Self::BadCompression => f.write_str("a compressed buffer does not unpack"),
            Self::UnknownCompression(format) => write!(f, "unknown compression format {format}"),
            Self::Unreadable(reason) => write!(f, "cannot be read: {reason}"),
        }
    }
}

/// A part of a file that was not read as events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Offset in the file; within a compressed buffer, the offset of the buffer.
    pub offset: u64,
    /// Number of bytes; 0 if only information about the trace is lost.
    pub bytes: u64,
    /// Why the part was not read.
    pub reason: LossReason,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at offset {:#x}: {}", self.bytes, self.offset, self.reason)
    }
}

/// What a file contains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Buffers with at least a header.
    pub buffers: u64,
    /// Records in them, including the logfile header.
    pub events: u64,
    /// Bytes of buffers that were never written, which preallocated files have.
    pub unwritten_bytes: u64,
    /// Lost events according to the session.
    pub events_lost: u32,
    /// Lost buffers according to the session.
    pub buffers_lost: u32,
    /// Dropped call stacks and stack keys. A stack is dropped if the stack of its event is already complete, or if its time
    /// stamp has more stacks than fit into memory; these are counted while the events are read. A key is dropped if compressed
    /// buffers expand to more keys than fit into memory.
    pub stacks_dropped: u64,
    /// Parts that could not be read; at most the first thousand.
    pub losses: Vec<Loss>,
    /// Number of further parts that could not be read.
    pub more_losses: u64,
    /// Total number of bytes that could not be read.
    pub lost_bytes: u64,
}

impl Report {
    /// Returns whether there are no losses.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.losses.is_empty()
    }

    pub(crate) fn lose(&mut self, offset: u64, bytes: u64, reason: LossReason) {
        self.lost_bytes = self.lost_bytes.saturating_add(bytes);
        if self.losses.len() < MAX_LOSSES {
            self.losses.push(Loss { offset, bytes, reason });
        } else {
            self.more_losses += 1;
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} events in {} buffers", self.events, self.buffers)?;
        if self.events_lost != 0 || self.buffers_lost != 0 {
            write!(f, "; the session lost {} events and {} buffers", self.events_lost, self.buffers_lost)?;
        }
        if self.stacks_dropped != 0 {
            write!(
                f,
                "; {} call stacks are left out: their event has a stack already, or they do not fit into memory",
                self.stacks_dropped
            )?;
        }
        self.losses.iter().try_for_each(|loss| write!(f, "\nlost {loss}"))?;
        if self.more_losses != 0 {
            write!(f, "\nand {} more such places", self.more_losses)?;
        }
        Ok(())
    }
}
