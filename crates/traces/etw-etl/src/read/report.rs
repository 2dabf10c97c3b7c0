//! What a reader found, and what it could not read.

use std::fmt;

/// Maximum number of losses that are listed; further ones are only counted.
const MAX_LOSSES: usize = 1000;

/// Maximum number of losses about buffers in a line.
const MAX_NAMED: usize = 4;

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
    /// There are zeros where the file should have a buffer.
    Zeros,
    /// The file has fewer buffers than its header says.
    MissingBuffers {
        /// How many are missing.
        missing: u64,
        /// How many were written.
        written: u64,
        /// The numbers of the first missing ones, if the numbers of the others tell.
        numbers: Vec<u64>,
    },
    /// The file has more buffers than its header says.
    SurplusBuffers {
        /// How many more.
        surplus: u64,
        /// How many were written.
        written: u64,
    },
    /// A buffer is in the file more than once. Its events are, too.
    RepeatedBuffer {
        /// The number of the buffer.
        number: u64,
    },
    /// The number of a buffer is larger than that of any buffer of the file can be.
    UnexpectedBuffer {
        /// The number of the buffer.
        number: u64,
        /// How many were written.
        written: u64,
    },
}

impl LossReason {
    /// Whether it concerns the buffers of the file as a whole, not bytes that cannot be read.
    const fn is_about_buffers(&self) -> bool {
        matches!(
            self,
            Self::NoLogfileHeader
                | Self::Zeros
                | Self::MissingBuffers { .. }
                | Self::SurplusBuffers { .. }
                | Self::RepeatedBuffer { .. }
                | Self::UnexpectedBuffer { .. }
        )
    }
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
            Self::Zeros => f.write_str("zeros instead of a buffer"),
            Self::MissingBuffers { missing, written, numbers } => {
                write!(f, "{missing} of {written} buffers {} missing", if *missing == 1 { "is" } else { "are" })?;
                let Some((first, others)) = numbers.split_first() else { return Ok(()) };
                write!(f, ": {} {first}", if others.is_empty() { "number" } else { "numbers" })?;
                others.iter().try_for_each(|number| write!(f, ", {number}"))?;
                let named = u64::try_from(numbers.len()).unwrap_or(u64::MAX);
                if *missing > named { f.write_str(", …") } else { Ok(()) }
            }
            Self::SurplusBuffers { surplus: 1, written } => {
                write!(f, "1 buffer more than the {written} that were written")
            }
            Self::SurplusBuffers { surplus, written } => {
                write!(f, "{surplus} buffers more than the {written} that were written")
            }
            Self::RepeatedBuffer { number } => write!(f, "buffer {number} is in the file again"),
            Self::UnexpectedBuffer { number, written } => {
                write!(f, "buffer {number} does not belong to the {written} buffers of the file")
            }
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
        if self.reason.is_about_buffers() && self.bytes == 0 {
            return self.reason.fmt(f);
        }
        write!(f, "lost {} bytes at offset {:#x}: {}", self.bytes, self.offset, self.reason)
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
    /// References to stack keys that the file does not define, or not again after the reference. Their events have no stack, or
    /// one part of it. Counted while the events are read.
    pub stacks_undefined: u64,
    /// Parts that could not be read; at most the first thousand.
    pub losses: Vec<Loss>,
    /// Number of further parts that could not be read.
    pub more_losses: u64,
    /// Total number of bytes that could not be read.
    pub lost_bytes: u64,
    /// Whether the session did not close the file: it was still recording, or it was killed. The last events may not be in the file.
    pub is_unclosed: bool,
}

impl Report {
    /// Returns whether there are no losses.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.losses.is_empty()
    }

    /// Returns how many events the session lost, or `None` if the trace does not tell: the number is written when a file is closed.
    ///
    /// ```
    /// use etw_etl::Report;
    ///
    /// let closed = Report { events_lost: 3, ..Report::default() };
    /// assert_eq!(closed.known_events_lost(), Some(3));
    /// let unclosed = Report { is_unclosed: true, ..Report::default() };
    /// assert_eq!(unclosed.known_events_lost(), None);
    /// assert_eq!(unclosed.known_buffers_lost(), None);
    /// ```
    #[must_use]
    pub fn known_events_lost(&self) -> Option<u64> {
        self.known(self.events_lost)
    }

    /// Returns how many buffers the session lost, or `None` if the trace does not tell.
    #[must_use]
    pub fn known_buffers_lost(&self) -> Option<u64> {
        self.known(self.buffers_lost)
    }

    fn known(&self, lost: u32) -> Option<u64> {
        (lost > 0 || !self.is_unclosed).then(|| lost.into())
    }

    /// Returns whether the session that wrote the file lost events or buffers.
    #[must_use]
    pub const fn has_session_losses(&self) -> bool {
        self.events_lost != 0 || self.buffers_lost != 0
    }

    /// Describes in one line what the file does not have and what it should not have, or returns `None` if there are no losses.
    #[must_use]
    pub fn damage(&self) -> Option<String> {
        let (about_buffers, of_bytes): (Vec<&Loss>, Vec<&Loss>) =
            self.losses.iter().partition(|loss| loss.reason.is_about_buffers());
        let places = u64::try_from(of_bytes.len()).unwrap_or(u64::MAX).saturating_add(self.more_losses);
        let mut parts = Vec::new();
        if places > 0 {
            let noun = if places == 1 { "place" } else { "places" };
            parts.push(format!("{} bytes in {places} {noun} could not be read", self.lost_bytes));
        }
        parts.extend(about_buffers.iter().take(MAX_NAMED).map(|loss| match loss.bytes {
            0 => loss.reason.to_string(),
            bytes => format!("{} ({bytes} bytes at offset {:#x})", loss.reason, loss.offset),
        }));
        let others = about_buffers.len().saturating_sub(MAX_NAMED);
        if others > 0 {
            parts.push(format!("{others} more of the kind"));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
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
        if self.is_unclosed {
            f.write_str("; not closed by its recorder")?;
        }
        if self.has_session_losses() {
            write!(f, "; the session lost {} events and {} buffers", self.events_lost, self.buffers_lost)?;
        }
        if self.stacks_dropped != 0 {
            write!(
                f,
                "; {} call stacks are left out: their event has a stack already, or they do not fit into memory",
                self.stacks_dropped
            )?;
        }
        if self.stacks_undefined != 0 {
            write!(f, "; {} references to call stacks have no definition", self.stacks_undefined)?;
        }
        self.losses.iter().try_for_each(|loss| write!(f, "\n{loss}"))?;
        if self.more_losses != 0 {
            write!(f, "\nand {} more such places", self.more_losses)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{LossReason, Report};

    #[test]
    fn a_report_lists_what_was_lost() {
        let mut report = Report { events: 5, buffers: 2, ..Report::default() };
        assert_eq!(report.to_string(), "5 events in 2 buffers");
        assert!(report.is_whole());
        assert!(!report.has_session_losses());
        for (events_lost, buffers_lost) in [(3, 0), (0, 4)] {
            let lossy = Report { events_lost, buffers_lost, ..report.clone() };
            assert!(lossy.is_whole());
            assert!(lossy.has_session_losses());
            let text = lossy.to_string();
            let lost = format!("; the session lost {events_lost} events and {buffers_lost} buffers");
            assert_eq!(text, format!("5 events in 2 buffers{lost}"));
        }
        assert!(Report { stacks_dropped: 6, ..report.clone() }.to_string().contains("; 6 call stacks are left out"));
        let undefined = Report { stacks_undefined: 7, ..report.clone() };
        assert!(undefined.to_string().ends_with("; 7 references to call stacks have no definition"));
        for (reason, text) in [
            (LossReason::Truncated, "the file ends within a buffer"),
            (LossReason::BadBufferHeader, "not a buffer header"),
            (LossReason::BadRecord, "not a record; the rest of the buffer is left out"),
            (LossReason::NoLogfileHeader, "no logfile header: times are unreliable"),
            (LossReason::BadCompression, "a compressed buffer does not unpack"),
            (LossReason::UnknownCompression(7), "unknown compression format 7"),
            (LossReason::Unreadable("broken".into()), "cannot be read: broken"),
        ] {
            report.lose(0x10, 3, reason);
            assert!(report.to_string().ends_with(&format!("\nlost 3 bytes at offset 0x10: {text}")), "{report}");
        }
        assert_eq!(report.losses.len(), 7);
        assert_eq!(report.lost_bytes, 21);
        assert!(!report.is_whole());
    }

    #[test]
    fn the_first_thousand_losses_are_listed_and_the_others_counted() {
        let mut report = Report::default();
        (0..1000).for_each(|offset| report.lose(offset, 2, LossReason::BadRecord));
        assert_eq!(report.losses.len(), 1000);
        assert_eq!(report.more_losses, 0);
        assert!(!report.to_string().contains("more such places"));
        (0..2).for_each(|_| report.lose(0, 2, LossReason::BadRecord));
        assert_eq!(report.losses.len(), 1000);
        assert_eq!(report.more_losses, 2);
        assert_eq!(report.lost_bytes, 2004);
        assert!(report.to_string().ends_with("\nand 2 more such places"));
    }
}
