//! The stacks in one buffer.

use crate::format::bytes::{u16_at, u32_at, u64_at};
use crate::format::record::{Layout, header_type};
use crate::read::records::Buffer;

/// `StackWalk`: a stack.
const HOOK_STACK: u16 = 0x1820;
/// `StackWalk`: the key of the kernel part of a stack.
const HOOK_KEY_KERNEL: u16 = 0x1825;
/// `StackWalk`: the key of the user part of a stack.
const HOOK_KEY_USER: u16 = 0x1826;

/// A `StackWalk` event: a stack, one part of it, or its key.
struct StackWalk<'a> {
    /// The time stamp of the event that it belongs to.
    stamp: u64,
    process: u32,
    thread: u32,
    mode: Mode,
    is_32_bit: bool,
    data: &'a [u8],
}

/// What a `StackWalk` event has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// The addresses of a stack or of one part of it.
    Addresses,
    /// The key of the kernel part or of the user part.
    Key { is_kernel: bool },
}

impl<'a> StackWalk<'a> {
    #[inline]
    fn parse(layout: Layout, record: &'a [u8]) -> Option<Self> {
        if !matches!(layout, Layout::PerfInfo | Layout::System | Layout::Compact) {
            return None;
        }
        let mode = match u16_at(record, 6)? {
            HOOK_STACK => Mode::Addresses,
            HOOK_KEY_KERNEL => Mode::Key { is_kernel: true },
            HOOK_KEY_USER => Mode::Key { is_kernel: false },
            _ => return None,
        };
        let start = record.get(layout.header_size()..)?;
        let data = start.get(16..)?;
        let is_32_bit = Layout::is_32_bit(header_type(record));
        if mode != Mode::Addresses && data.len() < if is_32_bit { 4 } else { 8 } {
            return None;
        }
        let stamp = u64_at(start, 0)?;
        let process = u32_at(start, 8)?;
        let thread = u32_at(start, 12)?;
        Some(Self { stamp, process, thread, mode, is_32_bit, data })
    }

    /// Appends the addresses, or the key. Returns the number of appended words.
    fn append(&self, words: &mut Vec<u64>) -> usize {
        let before = words.len();
        let most = if self.mode == Mode::Addresses { usize::MAX } else { 1 };
        if self.is_32_bit {
            words.extend(
                self.data.as_chunks::<4>().0.iter().take(most).map(|word| u64::from(u32::from_le_bytes(*word))),
            );
        } else {
            words.extend(self.data.as_chunks::<8>().0.iter().take(most).map(|word| u64::from_le_bytes(*word)));
        }
        words.len() - before
    }
}

/// Returns the time stamp of the event that a record's stack belongs to, or `None` if the record is not a stack.
#[inline]
pub(crate) fn target(layout: Layout, record: &[u8]) -> Option<u64> {
    StackWalk::parse(layout, record).map(|walk| walk.stamp)
}

/// A part of a stack in [`Walked`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// The time stamp of the event that it belongs to.
    pub(super) stamp: u64,
    pub(super) process: u32,
    pub(super) thread: u32,
    /// What the words are. Those of a key are the key and the time stamp of the `StackWalk` event itself.
    pub(super) mode: Mode,
    start: usize,
    length: usize,
}

/// The stacks of a buffer that are still needed, in the order of their events.
#[derive(Debug)]
pub(super) struct Walked {
    parts: Vec<Part>,
    words: Vec<u64>,
    /// The session that wrote the buffer.
    session: u16,
    /// Index of the next part.
    next: usize,
}

impl Walked {
    /// Collects the stacks of events with the time stamp `from` or a later one.
    pub(super) fn new(buffer: &Buffer, from: u64) -> Self {
        let mut parts = Vec::new();
        let mut words = Vec::new();
        for slot in &buffer.slots {
            if let Some(walk) = StackWalk::parse(slot.layout, buffer.record(*slot)).filter(|walk| walk.stamp >= from) {
                let start = words.len();
                let mut length = walk.append(&mut words);
                let StackWalk { stamp, process, thread, mode, .. } = walk;
                if mode != Mode::Addresses {
                    words.push(slot.stamp);
                    length += 1;
                }
                parts.push(Part { stamp, process, thread, mode, start, length });
            }
        }
        // A stable sort: parts of one stack keep their order.
        parts.sort_by_key(|part| part.stamp);
        Self { parts, words, session: buffer.session, next: 0 }
    }

    /// Returns the time stamp of the event that the next part belongs to.
    pub(super) fn stamp(&self) -> Option<u64> {
        self.parts.get(self.next).map(|part| part.stamp)
    }

    /// Returns the session that wrote these stacks.
    pub(super) const fn session(&self) -> u16 {
        self.session
    }

    /// Takes the next part and its words.
    pub(super) fn take(&mut self) -> Option<(Part, &[u64])> {
        let part = *self.parts.get(self.next)?;
        self.next += 1;
        Some((part, self.words.get(part.start..)?.get(..part.length)?))
    }

    /// Returns the memory that these stacks use.
    pub(super) fn cost(&self) -> usize {
        size_of::<Self>() + self.parts.capacity() * size_of::<Part>() + self.words.capacity() * 8
    }
}
