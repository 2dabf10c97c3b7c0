//! The call stacks of a file: the definitions of stack keys, and the stacks that the kernel writes after its events.
//!
//! A `StackWalk` event names the time stamp and the thread of the event that it belongs to. Kernel and user frames are two such
//! events, which may be in buffers in any order. They are merged into one stack, innermost frame first.

use std::collections::HashMap;
use std::sync::Arc;

use super::event::Header;
use super::records::Buffer;
use crate::format::bytes::{u32_at, u64_at};
use crate::format::record::{Layout, header_type};
use crate::format::stack::definition;

/// Approximate maximum memory for definitions and stacks, in bytes. Keys and events beyond it have no stack.
const MAX_MEMORY: usize = 64 * 1024 * 1024;
/// Memory cost of a definition or a stack in addition to its addresses.
const COST: usize = 64;

/// `StackWalk`: a stack.
const HOOK_STACK: u16 = 0x1820;
/// `StackWalk`: the key of the kernel part of a stack.
const HOOK_KEY_KERNEL: u16 = 0x1825;
/// `StackWalk`: the key of the user part of a stack.
const HOOK_KEY_USER: u16 = 0x1826;
/// `PerfInfo`: a sample, which has the thread id in its data.
const HOOK_SAMPLE: u16 = 0x0F2E;

/// The stack of an event, or one part of it.
#[derive(Clone, Copy, Debug)]
struct Walked {
    stamp: u64,
    thread: u32,
    process: u32,
    /// Index of its first frame in the list of all frames, and the number of its frames.
    start: usize,
    length: usize,
}

/// The stacks of a file.
#[derive(Debug, Default)]
pub(crate) struct Stacks {
    by_key: HashMap<u64, Arc<[u64]>>,
    /// The stacks of events; in time order after `finish`.
    walked: Vec<Walked>,
    frames: Vec<u64>,
    /// Stacks that are given by a key, with that key. `finish` looks up their frames.
    keyed: Vec<(Walked, u64)>,
    held: usize,
    dropped: u64,
}

impl Stacks {
    /// Collects the definitions and stacks of a buffer. If a key is defined twice, the first definition is used.
    pub(crate) fn collect(&mut self, buffer: &Buffer) {
        for slot in &buffer.slots {
            if !matches!(slot.layout, Layout::PerfInfo | Layout::System | Layout::Compact) {
                continue;
            }
            let record = buffer.record(*slot);
            if let Some((key, frames)) = definition(slot.layout, record) {
                if !self.by_key.contains_key(&key) && self.fits(frames.len()) {
                    self.by_key.insert(key, frames.into());
                }
            } else {
                self.walk(slot.layout, record);
            }
        }
    }

    fn fits(&mut self, frames: usize) -> bool {
        let cost = COST + frames * 8;
        let fits = self.held + cost <= MAX_MEMORY;
        if fits {
            self.held += cost;
        } else {
            self.dropped += 1;
        }
        fits
    }

    /// Collects the stack of another event, or its key.
    fn walk(&mut self, layout: Layout, record: &[u8]) -> Option<()> {
        let hook = u16::from_le_bytes(*record.get(6..)?.first_chunk()?);
        if !matches!(hook, HOOK_STACK | HOOK_KEY_KERNEL | HOOK_KEY_USER) {
            return None;
        }
        let data = record.get(layout.header_size()..)?;
        let rest = data.get(16..)?;
        let (stamp, process, thread) = (u64_at(data, 0)?, u32_at(data, 8)?, u32_at(data, 12)?);
        let width = if Layout::is_32_bit(header_type(record)) { 4 } else { 8 };
        let mut walked = Walked { stamp, thread, process, start: self.frames.len(), length: rest.len() / width };
        let narrow = rest.as_chunks::<4>().0.iter().map(|frame| u64::from(u32::from_le_bytes(*frame)));
        let wide = rest.as_chunks::<8>().0.iter().map(|frame| u64::from_le_bytes(*frame));
        if hook == HOOK_STACK {
            if self.fits(walked.length) {
                if width == 4 {
                    self.frames.extend(narrow);
                } else {
                    self.frames.extend(wide);
                }
                self.walked.push(walked);
            }
        } else if self.fits(0) {
            let key = if width == 4 { u32_at(rest, 0).map(u64::from) } else { u64_at(rest, 0) };
            walked.length = 0;
            self.keyed.push((walked, key?));
        }
        Some(())
    }

    /// Completes the collection: resolves keys to stacks, merges the two parts of each stack, and sorts all stacks by time.
    pub(crate) fn finish(&mut self) {
        for (mut walked, key) in std::mem::take(&mut self.keyed) {
            let Some(frames) = self.by_key.get(&key).cloned() else {
                // A growing file may define the key later.
                self.keyed.push((walked, key));
                continue;
            };
            if self.fits(frames.len()) {
                walked.start = self.frames.len();
                walked.length = frames.len();
                self.frames.extend_from_slice(&frames);
                self.walked.push(walked);
            }
        }
        let (mut parts, frames) = (std::mem::take(&mut self.walked), std::mem::take(&mut self.frames));
        let of = |part: &Walked| frames.get(part.start..).and_then(|rest| rest.get(..part.length)).unwrap_or_default();
        // The kernel part is the inner one. Its addresses are in the upper half of the address space.
        let is_user = |part: &Walked| of(part).first().is_none_or(|frame| frame >> 47 == 0);
        parts.sort_by_cached_key(|part| (part.stamp, part.thread, is_user(part)));
        self.frames.reserve(frames.len());
        let mut has_both = false;
        for part in parts {
            let start = self.frames.len();
            match self.walked.last_mut().filter(|last| (last.stamp, last.thread) == (part.stamp, part.thread)) {
                None => {
                    self.frames.extend_from_slice(of(&part));
                    self.walked.push(Walked { start, ..part });
                    has_both = false;
                }
                Some(last) if !has_both => {
                    self.frames.extend_from_slice(of(&part));
                    last.length += part.length;
                    has_both = true;
                }
                // An event has at most one stack of two parts.
                Some(_) => self.dropped += 1,
            }
        }
    }

    /// Returns how many definitions and stacks were left out.
    pub(crate) const fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(crate) fn get(&self, key: u64) -> Option<&[u64]> {
        self.by_key.get(&key).map(AsRef::as_ref)
    }

    /// Returns the process and the stack that the kernel wrote after an event. The events must be in time order; `place` is the
    /// position in the stacks of the previous event.
    pub(crate) fn of_event(&self, header: &Header, payload: &[u8], place: &mut usize) -> Option<(u32, &[u64])> {
        while self.walked.get(*place).is_some_and(|walked| walked.stamp < header.stamp) {
            *place += 1;
        }
        let mut stacks = self.walked.get(*place..)?.iter().take_while(|walked| walked.stamp == header.stamp).peekable();
        stacks.peek()?;
        let is_stack = header.descriptor.id >> 8 == 0x18 && header.provider.is_none();
        if is_stack || header.layout == Layout::Message {
            return None;
        }
        let thread = match header.thread_id {
            None if header.descriptor.id == HOOK_SAMPLE => u32_at(payload, if header.is_32_bit { 4 } else { 8 }),
            thread => thread,
        };
        let walked = if let Some(thread) = thread {
            stacks.find(|walked| walked.thread == thread)?
        } else {
            // Without a thread, the stack is known only if there is just one candidate.
            let only = stacks.next()?;
            stacks.next().is_none().then_some(only)?
        };
        Some((walked.process, self.frames.get(walked.start..)?.get(..walked.length)?))
    }
}
