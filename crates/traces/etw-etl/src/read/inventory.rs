//! Compares the buffers of a file with what its header says: how many were written, and which numbers they have.
//!
//! When Windows closes a file, it writes the number of its buffers and the time of the end to the header. The session numbers its
//! buffers 0, 1, 2, … in the order in which it takes them; they are in the file in the order in which they were full. A file that
//! was not closed has zeros in the header, and its last buffers never arrived: only a copy of a buffer, or zeros before another
//! buffer, are damage there.

use std::collections::HashSet;

use super::records::Buffer;
use super::report::{LossReason, Report};
use crate::format::logfile::LogfileHeader;
use etw_types::session::mode;

/// Maximum number of buffers whose numbers are compared.
const MAX_NUMBERS: usize = 1 << 20;
/// Maximum number of missing buffers that are named.
const MAX_NAMED: usize = 8;

/// How a session identifies a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Identity {
    session: u16,
    number: u64,
    /// When the buffer was written out, and the processor that it belonged to. A merged file may have buffers of several traces with
    /// the same number.
    flushed: u64,
    cpu: u16,
}

/// The buffers of a file.
#[derive(Debug, Default)]
pub(crate) struct Inventory {
    /// The buffers that can be read, and their offsets.
    known: Vec<(Identity, u64)>,
    /// Number of buffers.
    found: u64,
    /// Number of places of the size of a buffer that cannot be read.
    unreadable: u64,
    /// Offsets and lengths of the parts that only have zeros.
    zeros: Vec<(u64, u64)>,
    /// Offset of the last buffer.
    last: u64,
}

/// What the numbers of the buffers say.
#[derive(Debug, Default)]
struct Numbers {
    /// How many buffers have a number of their own that the file should have.
    different: u64,
    /// How many others there are. They were reported.
    strange: u64,
    /// The first numbers that no buffer has.
    missing: Vec<u64>,
}

impl Inventory {
    /// Adds a buffer.
    pub(super) fn add(&mut self, offset: u64, buffer: &Buffer) {
        self.add_packed(offset);
        if self.known.len() < MAX_NUMBERS {
            let identity =
                Identity { session: buffer.session, number: buffer.number, flushed: buffer.flushed, cpu: buffer.cpu };
            self.known.push((identity, offset));
        }
    }

    /// Adds a buffer that cannot be decompressed. It counts, but its number is not compared.
    pub(super) fn add_packed(&mut self, offset: u64) {
        self.found += 1;
        self.last = offset;
    }

    /// Adds a part that is not a buffer.
    pub(super) fn add_unreadable(&mut self, bytes: u64, header: &LogfileHeader) {
        self.unreadable += bytes.div_ceil(u64::from(header.buffer_size).max(1));
    }

    /// Adds a part that only has zeros.
    pub(super) fn add_zeros(&mut self, offset: u64, bytes: u64) {
        if let Some((start, length)) = self.zeros.last_mut()
            && *start + *length == offset
        {
            *length += bytes;
        } else if self.zeros.len() < MAX_NUMBERS {
            self.zeros.push((offset, bytes));
        }
    }

    /// Adds to the report what is missing, and what should not be there.
    pub(super) fn check(&self, header: &LogfileHeader, report: &mut Report) {
        if report.losses.iter().any(|loss| loss.reason == LossReason::NoLogfileHeader) {
            return;
        }
        report.is_unclosed = !header.is_closed();
        let there = self.found + self.unreadable;
        let (written, is_numbered) = if report.is_unclosed {
            (there, false)
        } else {
            (expected(header, there), self.is_numbered(header, report))
        };
        let numbers = self.numbers(is_numbered.then_some(written), report);
        let missing = if is_numbered {
            // They may be the ones that cannot be read.
            let nameless = there - numbers.different - numbers.strange;
            written.saturating_sub(numbers.different + nameless)
        } else {
            written.saturating_sub(there)
        };
        if missing > 0 {
            let numbers = numbers.missing;
            report.lose(self.last, 0, LossReason::MissingBuffers { missing, written, numbers });
        }
        let surplus = there.saturating_sub(written).saturating_sub(numbers.strange);
        if surplus > 0 {
            report.lose(self.last, 0, LossReason::SurplusBuffers { surplus, written });
        }
        for (offset, bytes) in self.zeros.iter().filter(|(offset, _)| missing > 0 || *offset < self.last) {
            report.lose(*offset, *bytes, LossReason::Zeros);
        }
    }

    /// Compares the buffers with each other, and their numbers with those of a file that has this many.
    fn numbers(&self, written: Option<u64>, report: &mut Report) -> Numbers {
        let mut numbers = Numbers::default();
        let mut seen = HashSet::with_capacity(self.known.len());
        for (identity, offset) in &self.known {
            let number = identity.number;
            // In a file of one session, a number occurs only once.
            let key = if written.is_some() { Identity { flushed: 0, cpu: 0, ..*identity } } else { *identity };
            let reason = if !seen.insert(key) {
                LossReason::RepeatedBuffer { number }
            } else if let Some(written) = written.filter(|written| number >= *written) {
                LossReason::UnexpectedBuffer { number, written }
            } else {
                numbers.different += 1;
                continue;
            };
            numbers.strange += 1;
            report.lose(*offset, 0, reason);
        }
        if let Some(written) = written {
            let known: HashSet<u64> = seen.iter().map(|identity| identity.number).collect();
            numbers.missing = (0..written).filter(|number| !known.contains(number)).take(MAX_NAMED).collect();
        }
        numbers
    }

    /// Whether the buffers have the numbers from 0 on. The other files of a sequence of files continue the numbers, a circular file
    /// has the last ones, and a merged file those of several sessions. A buffer that a session lost may have had a number.
    fn is_numbered(&self, header: &LogfileHeader, report: &Report) -> bool {
        let written = u64::from(header.buffers_written);
        let is_excluded = header.log_file_mode & (mode::NEWFILE | mode::APPEND | mode::BUFFERING) != 0;
        let may_have_wrapped = capacity(header).is_some_and(|capacity| written >= capacity);
        let Some((first, _)) = self.known.first() else { return false };
        let in_range = self.known.iter().filter(|(identity, _)| identity.number < written).count();
        !is_excluded
            && !may_have_wrapped
            && report.buffers_lost == 0
            && self.known.len() < MAX_NUMBERS
            && self.known.iter().all(|(identity, _)| identity.session == first.session)
            && self.known.iter().skip(1).any(|(identity, _)| identity.number != 0)
            // Before Windows Vista, the field had another meaning.
            && in_range * 2 > self.known.len()
    }
}

/// The number of buffers that a closed file should have if it has this many. A circular file has the last ones.
fn expected(header: &LogfileHeader, there: u64) -> u64 {
    let written = u64::from(header.buffers_written);
    match capacity(header).filter(|capacity| written > *capacity) {
        // No document says whether the last place is used.
        Some(capacity) => there.clamp(capacity.saturating_sub(1), capacity + 1),
        None => written,
    }
}

/// The number of buffers that fit into a circular file; `None` if the file is not circular.
fn capacity(header: &LogfileHeader) -> Option<u64> {
    let unit = if header.log_file_mode & mode::USE_KBYTES_FOR_SIZE == 0 { 1 << 20 } else { 1 << 10 };
    let bytes = u64::from(header.maximum_file_size) * unit;
    let is_circular = header.log_file_mode & mode::CIRCULAR != 0;
    (is_circular && bytes != 0).then(|| bytes / u64::from(header.buffer_size).max(1))
}
