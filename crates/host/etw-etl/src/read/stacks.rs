//! The call stacks of a file: what stack keys stand for, and the stacks that the kernel writes behind its events.
//!
//! A `StackWalk` event names the time stamp and the thread of the event that it belongs to. Kernel and user frames come as two
//! such events, in any order of buffers; they are one stack here, the innermost frame first.

use std::collections::HashMap;
use std::sync::Arc;

use super::event::Header;
use super::records::Buffer;
use crate::format::bytes::{u32_at, u64_at};
use crate::format::record::{Layout, header_type};
use crate::format::stack::definition;

/// Most memory for definitions and stacks, in bytes, about. Keys and events beyond it stay without.
const MAX_MEMORY: usize = 64 * 1024 * 1024;
/// What a definition or a stack costs besides its addresses.
const COST: usize = 64;

/// `StackWalk`: a stack.
const HOOK_STACK: u16 = 0x1820;
/// `StackWalk`: the key of a stack's kernel part.
const HOOK_KEY_KERNEL: u16 = 0x1825;
/// `StackWalk`: the key of a stack's user part.
const HOOK_KEY_USER: u16 = 0x1826;
/// `PerfInfo`: a sample, whose thread is in its data.
const HOOK_SAMPLE: u16 = 0x0F2E;

/// The stack of an event.
#[derive(Debug)]
pub(crate) struct Walked {
    pub(crate) process: u32,
    thread: u32,
    pub(crate) frames: Arc<[u64]>,
    /// Whether both parts are there.
    is_whole: bool,
}

/// The stacks of a file.
#[derive(Debug, Default)]
pub(crate) struct Stacks {
    by_key: HashMap<u64, Arc<[u64]>>,
    /// Stacks of events by their time stamps.
    by_stamp: HashMap<u64, Vec<Walked>>,
    /// Time stamps, processes and threads, and keys that are not known yet.
    keyed: Vec<(u64, (u32, u32), u64)>,
    held: usize,
    dropped: u64,
}

impl Stacks {
    /// Takes the definitions and stacks of a buffer. A key that is defined twice keeps its first meaning.
    pub(crate) fn collect(&mut self, buffer: &Buffer) {
        for slot in &buffer.slots {
            let record = buffer.record(*slot);
            if let Some((key, frames)) = definition(slot.layout, record) {
                if !self.by_key.contains_key(&key) && self.fits(frames.len()) {
                    self.by_key.insert(key, frames.into());
                }
            } else if matches!(slot.layout, Layout::PerfInfo | Layout::System | Layout::Compact) {
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

    /// Takes the stack of another event, or its key.
    fn walk(&mut self, layout: Layout, record: &[u8]) -> Option<()> {
        let hook = u16::from_le_bytes(*record.get(6..)?.first_chunk()?);
        if !matches!(hook, HOOK_STACK | HOOK_KEY_KERNEL | HOOK_KEY_USER) {
            return None;
        }
        let data = record.get(layout.header_size()..)?;
        let (stamp, owner, rest) = (u64_at(data, 0)?, (u32_at(data, 8)?, u32_at(data, 12)?), data.get(16..)?);
        let frames: Vec<u64> = if Layout::is_32_bit(header_type(record)) {
            rest.as_chunks::<4>().0.iter().map(|frame| u32::from_le_bytes(*frame).into()).collect()
        } else {
            rest.as_chunks::<8>().0.iter().map(|frame| u64::from_le_bytes(*frame)).collect()
        };
        if hook == HOOK_STACK {
            if self.fits(frames.len()) {
                self.join(stamp, owner, frames.into());
            }
        } else if self.fits(0) {
            self.keyed.push((stamp, owner, *frames.first()?));
        }
        Some(())
    }

    /// Adds a stack, or the other part of one.
    fn join(&mut self, stamp: u64, (process, thread): (u32, u32), frames: Arc<[u64]>) {
        let stacks = self.by_stamp.entry(stamp).or_default();
        match stacks.iter_mut().find(|other| other.thread == thread) {
            None => stacks.push(Walked { process, thread, frames, is_whole: false }),
            // The kernel's part is the inner one.
            Some(Walked { is_whole: true, .. }) => self.dropped += 1,
            Some(Walked { frames: there, is_whole, .. }) => {
                *is_whole = true;
                let is_kernel = |frames: &[u64]| frames.first().is_some_and(|frame| frame >> 47 != 0);
                let (inner, outer) =
                    if is_kernel(&frames) && !is_kernel(there) { (&frames, &*there) } else { (&*there, &frames) };
                *there = inner.iter().chain(outer.iter()).copied().collect();
            }
        }
    }

    /// Ends the collection: keys of stacks become stacks.
    pub(crate) fn finish(&mut self) {
        for (stamp, owner, key) in std::mem::take(&mut self.keyed) {
            if let Some(frames) = self.by_key.get(&key).cloned() {
                self.join(stamp, owner, frames);
            }
        }
    }

    /// How many definitions and stacks there was no room for.
    pub(crate) const fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(crate) fn get(&self, key: u64) -> Option<&Arc<[u64]>> {
        self.by_key.get(&key)
    }

    /// The stack that the kernel wrote behind an event.
    pub(crate) fn of_event(&self, header: &Header, payload: &[u8]) -> Option<&Walked> {
        if self.by_stamp.is_empty() || header.layout == Layout::Message {
            return None;
        }
        let stacks = self.by_stamp.get(&header.stamp)?;
        let is_stack = matches!(header.descriptor.id >> 8, 0x18) && header.provider.is_none();
        if is_stack {
            return None;
        }
        let thread = match header.thread_id {
            None if header.descriptor.id == HOOK_SAMPLE => u32_at(payload, if header.is_32_bit { 4 } else { 8 }),
            thread => thread,
        };
        match (thread, stacks.as_slice()) {
            (Some(thread), stacks) => stacks.iter().find(|other| other.thread == thread),
            // Without a thread, there must be only one that it can be.
            (None, [one]) => Some(one),
            (None, _) => None,
        }
    }
}
