//! The call stacks of a file: the definitions of stack keys, and the stacks that the kernel writes after its events.
//!
//! A `StackWalk` event names the time stamp and the thread of the event that it belongs to. Kernel and user frames are two such
//! events, which may be in buffers in any order. They are merged into one stack, innermost frame first.
//!
//! The first pass records for each buffer the time stamps of the events that its stacks belong to: the earliest and the latest.
//! The second pass takes the stacks of a buffer when it reaches the earliest one. In most files that is shortly before or after
//! the buffer is opened for its events. Stacks wait in memory for their events up to a limit; beyond it, those of the buffer
//! that is needed last are dropped and read again later. So memory does not grow with the number of stacks, and no stack is lost.

mod keys;
mod walked;

use std::collections::{BTreeMap, BTreeSet};

use keys::Reference;
pub(crate) use keys::{Keys, most_memory};
pub(crate) use walked::target;
use walked::{Mode, Walked};

use super::entry::Entry;
use super::owners::thread_of;
use super::records::Buffer;
use crate::event::{EventRef, Header};
use crate::format::record::Layout;

/// Time stamp of the next event for which a buffer has a stack, and the offset of the buffer.
pub(crate) type Due = (u64, u64);

/// A stack of an event of the current time stamp, or one part of it.
#[derive(Clone, Copy, Debug)]
struct Stack {
    thread: u32,
    process: u32,
    is_user: bool,
    is_key: bool,
    /// Offset of the buffer.
    offset: u64,
    /// Index of its first frame in the list of frames, and the number of its frames.
    start: usize,
    length: usize,
}

/// The stack of an event, as far as another event has it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Resolved<'a> {
    pub(crate) stack: Option<&'a [u64]>,
    /// The process that the stack belongs to, if the event does not say.
    pub(crate) process: Option<u32>,
    /// Whether the event has a key without a definition.
    pub(crate) is_undefined: bool,
}

/// The stacks that wait for their events.
#[derive(Debug, Default)]
pub(crate) struct Stacks {
    pub(crate) keys: Keys,
    /// Approximate memory for the stacks, in bytes. The stacks of one buffer are always kept.
    memory: usize,
    /// Buffers with stacks of later events, except `last`.
    due: BTreeSet<Due>,
    /// The earliest time stamp in `due` and `last`.
    next: u64,
    /// The stacks of the buffers in `due` that are in memory.
    loaded: BTreeMap<Due, Walked>,
    /// The stacks of the buffer that was used last. It is likely to be the next one, too.
    last: Option<(Due, Walked)>,
    /// The memory of `loaded`.
    held: usize,
    /// The time stamp of the current event.
    stamp: u64,
    /// The stacks of events of this time stamp, one for each thread.
    current: Vec<Stack>,
    frames: Vec<u64>,
    /// The parts of the stacks in `current` before they are merged, and the frames of the parts.
    parts: Vec<Stack>,
    part_frames: Vec<u64>,
    dropped: u64,
    undefined: u64,
}

impl Stacks {
    pub(crate) fn new(keys: Keys, memory: usize) -> Self {
        Self { keys, memory, next: u64::MAX, ..Self::default() }
    }

    /// Starts again. The next events have time stamps from `from` on.
    pub(crate) fn restart(&mut self, entries: &[Entry], from: u64) {
        let keys = std::mem::take(&mut self.keys);
        *self = Self { dropped: if from == 0 { 0 } else { self.dropped }, ..Self::new(keys, self.memory) };
        let due = |entry: &Entry| Some((entry.stacks?.earliest.max(from), entry.offset));
        let needed = entries.iter().filter(|entry| entry.stacks.is_some_and(|stacks| stacks.latest >= from));
        self.due = needed.filter_map(due).collect();
        self.update_next();
    }

    /// Returns the time stamp of the current event.
    pub(crate) const fn stamp(&self) -> u64 {
        self.stamp
    }

    /// Returns the memory of definitions and waiting stacks, in bytes.
    pub(crate) fn cost(&self) -> usize {
        self.held + self.keys.cost() + self.last.as_ref().map_or(0, |(_, walked)| walked.cost())
    }

    /// Returns how many definitions and parts of stacks were left out so far.
    pub(crate) const fn dropped(&self) -> u64 {
        self.dropped + self.keys.dropped()
    }

    /// Returns how many references to keys without a definition were found since the last call.
    pub(crate) const fn take_undefined(&mut self) -> u64 {
        std::mem::replace(&mut self.undefined, 0)
    }

    /// Takes the stacks of a buffer that was read for its events, so that it is not read again.
    pub(crate) fn offer(&mut self, entry: &Entry, buffer: &Buffer) {
        let Some(due) = entry.stacks.map(|stacks| (stacks.earliest, entry.offset)) else { return };
        if self.due.contains(&due) && !self.loaded.contains_key(&due) {
            self.keep(due, Walked::new(buffer, due.0));
        }
    }

    /// Makes `stamp` the time stamp of the current event. Returns whether its stacks must be gathered.
    #[inline]
    pub(crate) fn advance(&mut self, stamp: u64) -> bool {
        if self.stamp != stamp {
            self.stamp = stamp;
            self.current.clear();
        }
        stamp >= self.next
    }

    /// Returns a buffer that has stacks of the current event and must be read for them; [`add`](Self::add) takes it. Returns
    /// `None` when all stacks of the event are there.
    pub(crate) fn missing(&mut self) -> Option<Due> {
        loop {
            let first = self.due.first().copied();
            if let Some((due, walked)) = self.last.take_if(|(due, _)| first.is_none_or(|first| *due < first)) {
                if due.0 > self.stamp {
                    self.last = Some((due, walked));
                    break;
                }
                self.take(due, walked);
                continue;
            }
            let Some(due) = first.filter(|due| due.0 <= self.stamp) else { break };
            self.due.pop_first();
            let Some(walked) = self.loaded.remove(&due) else { return Some(due) };
            self.held -= walked.cost();
            self.take(due, walked);
        }
        self.update_next();
        self.merge();
        None
    }

    /// Takes the stacks of a buffer that was missing.
    pub(crate) fn add(&mut self, due: Due, buffer: &Buffer) {
        self.take(due, Walked::new(buffer, due.0));
    }

    /// Takes the parts that belong to the current event, and keeps the rest.
    fn take(&mut self, (_, offset): Due, mut walked: Walked) {
        let session = walked.session();
        while let Some(stamp) = walked.stamp() {
            if stamp > self.stamp {
                if let Some((due, walked)) = self.last.replace(((stamp, offset), walked)) {
                    self.due.insert(due);
                    self.keep(due, walked);
                }
                return;
            }
            let Some((part, words)) = walked.take() else { return };
            // Events come in the order of time, so no event with an earlier time stamp follows.
            if stamp < self.stamp {
                continue;
            }
            let found = match (part.mode, words) {
                (Mode::Addresses, words) => Some(words),
                (Mode::Key { is_kernel }, [key, stamp]) => {
                    let is_kernel = Some(is_kernel);
                    self.keys.get(Reference { key: *key, session, stamp: *stamp, is_kernel })
                }
                (Mode::Key { .. }, _) => None,
            };
            // The definition of a key may be lost or, in a growing file, not written yet.
            let Some(frames) = found else {
                self.undefined += 1;
                continue;
            };
            // The kernel does not write more stacks for a single time stamp than fit into memory; a damaged file may have them.
            let start = self.part_frames.len();
            if self.parts.len() * size_of::<Stack>() + start * 8 > self.memory.max(MIN_MEMORY) {
                self.dropped += 1;
                continue;
            }
            // The kernel part is the inner one. Its addresses are in the upper half of the address space.
            let is_user = match part.mode {
                Mode::Addresses => frames.first().is_none_or(|frame| frame >> 47 == 0),
                Mode::Key { is_kernel } => !is_kernel,
            };
            self.part_frames.extend_from_slice(frames);
            self.parts.push(Stack {
                thread: part.thread,
                process: part.process,
                is_user,
                is_key: part.mode != Mode::Addresses,
                offset,
                start,
                length: frames.len(),
            });
        }
    }

    /// Keeps the stacks of a buffer until their events come. If there is no room, drops those that are needed last.
    fn keep(&mut self, due: Due, walked: Walked) {
        self.held += walked.cost();
        self.loaded.insert(due, walked);
        while self.held > self.memory && self.loaded.len() > 1 {
            if let Some((_, dropped)) = self.loaded.pop_last() {
                self.held -= dropped.cost();
            }
        }
    }

    fn update_next(&mut self) {
        let dues = self.due.first().into_iter().chain(self.last.as_ref().map(|(due, _)| due));
        self.next = dues.map(|due| due.0).min().unwrap_or(u64::MAX);
    }

    /// Merges the parts of each thread's stack.
    fn merge(&mut self) {
        if self.parts.is_empty() {
            return;
        }
        self.frames.clear();
        let mut parts = std::mem::take(&mut self.parts);
        // A stable sort: parts of one buffer keep their order.
        parts.sort_by_key(|part| (part.thread, part.is_user, part.is_key, part.offset));
        let mut has_both = false;
        for part in parts.drain(..) {
            let frames =
                self.part_frames.get(part.start..).and_then(|rest| rest.get(..part.length)).unwrap_or_default();
            let start = self.frames.len();
            match self.current.last_mut().filter(|last| last.thread == part.thread) {
                None => {
                    self.frames.extend_from_slice(frames);
                    self.current.push(Stack { start, ..part });
                    has_both = false;
                }
                Some(last) if !has_both => {
                    self.frames.extend_from_slice(frames);
                    last.length += part.length;
                    has_both = true;
                }
                // An event has at most one stack of two parts.
                Some(_) => self.dropped += 1,
            }
        }
        self.parts = parts;
        self.part_frames.clear();
    }

    /// Returns whether an event may have a stack that is not in the event itself.
    #[inline]
    pub(crate) const fn may_resolve(&self, event: &EventRef<'_>) -> bool {
        !self.current.is_empty() || event.has_items()
    }

    /// Finds the stack that the event's key refers to, or the one that the kernel wrote after the event.
    pub(crate) fn resolve(&self, event: EventRef<'_>, session: u16) -> Resolved<'_> {
        let mut found = Resolved::default();
        if let Some(key) = event.stack_key() {
            let stamp = event.header.stamp;
            found.stack = self.keys.get(Reference { key, session, stamp, is_kernel: None });
            if found.stack.is_some() {
                return found;
            }
            found.is_undefined = true;
        }
        if let Some((process, frames)) = self.find(&event.header, event.payload()) {
            (found.stack, found.process) = (Some(frames), Some(process));
        }
        found
    }

    /// Returns the process and the stack that the kernel wrote after the current event.
    fn find(&self, header: &Header, payload: &[u8]) -> Option<(u32, &[u64])> {
        let is_stack = header.descriptor.id >> 8 == 0x18 && header.provider.is_none();
        if is_stack || header.layout == Layout::Message {
            return None;
        }
        let of_thread = |thread| self.current.iter().find(|stack| stack.thread == thread);
        let stack = match (header.thread_id, thread_of(header, payload)) {
            (Some(thread), _) | (None, Some((thread, true))) => of_thread(thread)?,
            // Without a certain thread, the stack is known if there is just one candidate.
            (None, thread) => match (thread.and_then(|(thread, _)| of_thread(thread)), self.current.as_slice()) {
                (Some(stack), _) | (None, [stack]) => stack,
                (None, _) => return None,
            },
        };
        Some((stack.process, self.frames.get(stack.start..)?.get(..stack.length)?))
    }
}

/// Memory for the stacks of a single time stamp, even if the reader may use less.
const MIN_MEMORY: usize = 1024 * 1024;
