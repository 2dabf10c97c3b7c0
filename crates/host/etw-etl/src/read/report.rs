//! What a reader found, and what it could not read.

use std::fmt;

/// Most losses that are kept one by one; later ones are only counted.
const MAX_LOSSES: usize = 1000;

/// Why bytes of a file were not read as events.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossReason {
    /// The file ends within a buffer.
    Truncated,
    /// A buffer's header does not describe a buffer.
    BadBufferHeader,
    /// A record in a buffer does not fit; the rest of the buffer is left out.
    BadRecord,
    /// The first record is not a logfile header: times are what the time stamps would be as system time.
    NoLogfileHeader,
    /// A compressed buffer does not unpack.
    BadCompression,
    /// A buffer is compressed in a format that this crate does not know.
    UnknownCompression(u16),
    /// The system could not read.
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

/// A place in a file that was not read as events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Offset in the file; in a compressed buffer, of the buffer.
    pub offset: u64,
    /// How many bytes; 0 where nothing but a meaning is lost.
    pub bytes: u64,
    /// Why.
    pub reason: LossReason,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at offset {:#x}: {}", self.bytes, self.offset, self.reason)
    }
}

/// What is in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Buffers with at least a header.
    pub buffers: u64,
    /// Records in them, the logfile header included.
    pub events: u64,
    /// Bytes of places for buffers that were never written: preallocated files have them.
    pub unwritten_bytes: u64,
    /// Events that the session says it lost.
    pub events_lost: u32,
    /// Buffers that the session says it lost.
    pub buffers_lost: u32,
    /// Call stacks, and definitions of them, that there was no memory for, or that belong to an event with a whole stack.
    pub stacks_dropped: u64,
    /// Places that could not be read, the first thousand.
    pub losses: Vec<Loss>,
    /// How many places there are beyond those.
    pub more_losses: u64,
    /// Bytes of all places that could not be read.
    pub lost_bytes: u64,
}

impl Report {
    /// Whether every byte that claims to be of an event was read.
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
                "; {} call stacks are left out: they did not fit into memory or belong to no event",
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
