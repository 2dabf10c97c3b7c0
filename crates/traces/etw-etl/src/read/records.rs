//! The records of one buffer in memory.

use crate::format::ALIGNMENT;
use crate::format::buffer::{self, BufferHeader};
use crate::format::record::{self, Layout, Next, stamp};

/// The position of a record in its buffer, and its time stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) stamp: u64,
    offset: u32,
    size: u16,
    pub(crate) layout: Layout,
}

/// A decompressed buffer with its records in time order.
#[derive(Debug)]
pub(crate) struct Buffer {
    pub(crate) cpu: u16,
    /// The id of the session that wrote the buffer. A merged file has buffers of several sessions.
    pub(crate) session: u16,
    /// The number that the session gave the buffer.
    pub(crate) number: u64,
    /// The time stamp at which the buffer was written out.
    pub(crate) flushed: u64,
    bytes: Vec<u8>,
    pub(crate) slots: Vec<Slot>,
    /// Offset of the first bytes that are not a record.
    pub(crate) bad: Option<usize>,
    pub(crate) was_compressed: bool,
}

/// The memory of a former buffer.
#[derive(Debug, Default)]
pub(crate) struct Spare {
    pub(crate) bytes: Vec<u8>,
    pub(crate) slots: Vec<Slot>,
}

impl Buffer {
    /// Finds the records of a buffer. `bytes` is its used part, including the header; `slots` is empty.
    pub(crate) fn new(header: &BufferHeader, bytes: Vec<u8>, mut slots: Vec<Slot>) -> Self {
        let (bad, is_sorted) = walk(&bytes, &mut slots);
        // A stable sort: records with equal time stamps keep their order.
        if !is_sorted {
            slots.sort_by_key(|slot| slot.stamp);
        }
        Self {
            cpu: header.cpu(),
            session: header.logger_id,
            number: header.sequence,
            flushed: header.timestamp,
            bytes,
            slots,
            bad,
            was_compressed: false,
        }
    }

    /// Returns the memory of a buffer that is no longer needed.
    pub(crate) fn into_spare(self) -> Spare {
        let Self { bytes, mut slots, .. } = self;
        slots.clear();
        Spare { bytes, slots }
    }

    /// Returns the bytes of a record.
    #[inline]
    pub(crate) fn record(&self, slot: Slot) -> &[u8] {
        let start = usize::try_from(slot.offset).unwrap_or(usize::MAX);
        self.bytes.get(start..).and_then(|rest| rest.get(..usize::from(slot.size))).unwrap_or_default()
    }

    /// Returns the memory that this buffer uses.
    pub(crate) fn cost(&self) -> usize {
        size_of::<Self>() + self.bytes.capacity() + self.slots.capacity() * size_of::<Slot>()
    }
}

/// Finds the records of a buffer. Returns the offset of the first bytes that are not a record, and whether the records are in the
/// order of time.
fn walk(bytes: &[u8], slots: &mut Vec<Slot>) -> (Option<usize>, bool) {
    let mut offset = buffer::SIZE;
    let mut previous = 0;
    let mut is_sorted = true;
    loop {
        let rest = bytes.get(offset..).unwrap_or_default();
        let (layout, size) = match record::next(rest) {
            Next::Record(layout, size) => (layout, size),
            Next::End => return (None, is_sorted),
            Next::Bad => return (Some(offset), is_sorted),
        };
        let (Ok(place), Ok(length)) = (u32::try_from(offset), u16::try_from(size)) else {
            return (Some(offset), is_sorted);
        };
        // A message without a time stamp or a record of unknown layout stays behind its predecessor.
        let stamp = stamp(layout, rest).unwrap_or(previous);
        is_sorted &= previous <= stamp;
        previous = stamp;
        slots.push(Slot { stamp, offset: place, size: length, layout });
        offset += size.next_multiple_of(ALIGNMENT);
    }
}
