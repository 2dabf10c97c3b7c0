//! One buffer: its room is reserved, filled and committed.
//!
//! The state is one word: how often the slot was opened (its epoch), whether it is closed, and how much is reserved. A
//! reservation succeeds only in the epoch that the writer saw, so a writer that was interrupted cannot write to a
//! buffer that now belongs to another stream. A second word counts what is committed: a closed slot may be read when
//! everything that was reserved is committed.

use std::sync::OnceLock;

use super::sync::{AtomicU64, Ordering, yield_now};
use super::words::{Record, WORD, Words};

const CLOSED: u64 = 1 << 31;
const USED: u64 = CLOSED - 1;
const ONE_EVENT: u64 = 1 << 32;

/// The result of a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reservation {
    /// Room was reserved, starting at this word.
    At(u32),
    /// There is no room. This call closed the slot, and the caller must hand it over.
    ClosedNow,
    /// The slot is closed or in another epoch.
    Gone,
}

/// A buffer and its state. The alignment keeps the states of two buffers on different cache lines.
#[repr(align(128))]
pub(super) struct Slot {
    state: AtomicU64,
    /// Events in the high half, words in the low half.
    committed: AtomicU64,
    words: OnceLock<Box<[AtomicU64]>>,
    stream: AtomicU64,
    order: AtomicU64,
}

impl Slot {
    /// Creates a closed slot without memory.
    pub(super) fn new() -> Self {
        Self {
            state: AtomicU64::new(CLOSED),
            committed: AtomicU64::new(0),
            words: OnceLock::new(),
            stream: AtomicU64::new(0),
            order: AtomicU64::new(0),
        }
    }

    /// Allocates the memory. Later calls do nothing.
    pub(super) fn allocate(&self, words: u32) {
        self.words.get_or_init(|| (0..words).map(|_| AtomicU64::new(0)).collect());
    }

    /// Empties the slot, opens it for a stream and returns its epoch. The caller must own the slot: it is in no set and
    /// not the current slot of any stream.
    pub(super) fn open(&self, stream: usize) -> u32 {
        let epoch = epoch(self.state.load(Ordering::Acquire)).wrapping_add(1);
        self.committed.store(0, Ordering::Relaxed);
        self.stream.store(stream as u64, Ordering::Relaxed);
        self.state.store(u64::from(epoch) << 32, Ordering::Release);
        epoch
    }

    /// Reserves `need` of `room` words, or closes the slot if they do not fit.
    #[inline]
    pub(super) fn reserve(&self, in_epoch: u32, need: u32, room: u32) -> Reservation {
        let mut state = self.state.load(Ordering::Acquire);
        loop {
            if epoch(state) != in_epoch || state & CLOSED != 0 {
                return Reservation::Gone;
            }
            let fits = used(state).saturating_add(need) <= room;
            let next = if fits { state + u64::from(need) } else { state | CLOSED };
            match self.state.compare_exchange_weak(state, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) if fits => return Reservation::At(used(state)),
                Ok(_) => return Reservation::ClosedNow,
                Err(now) => state = now,
            }
        }
    }

    /// Closes the slot if it is in this epoch. Returns whether it has events if this call closed it, or `None` if this
    /// call did not. An empty slot stays open unless `even_empty` is true.
    pub(super) fn close(&self, in_epoch: u32, even_empty: bool) -> Option<bool> {
        let mut state = self.state.load(Ordering::Acquire);
        loop {
            let is_empty = used(state) == 0;
            if epoch(state) != in_epoch || state & CLOSED != 0 || (is_empty && !even_empty) {
                return None;
            }
            match self.state.compare_exchange_weak(state, state | CLOSED, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(!is_empty),
                Err(now) => state = now,
            }
        }
    }

    /// Copies a record to the words that were reserved for it, and commits them.
    #[inline]
    pub(super) fn fill(&self, offset: u32, need: u32, record: &impl Record) {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = start.saturating_add(usize::try_from(need).unwrap_or_default());
        let words = self.words.get().and_then(|words| words.get(start..end)).unwrap_or_default();
        record.store(Words::new(words));
        // Makes the stores above visible to the thread that sees everything committed.
        let event = if record.is_event() { ONE_EVENT } else { 0 };
        self.committed.fetch_add(event + u64::from(need), Ordering::AcqRel);
    }

    /// Returns the number of events if every writer that reserved room has committed it. The slot must be closed.
    pub(super) fn committed(&self) -> Option<u32> {
        let reserved = u64::from(used(self.state.load(Ordering::Acquire)));
        let committed = self.committed.load(Ordering::Acquire);
        (committed & u64::from(u32::MAX) == reserved).then(|| high(committed))
    }

    /// Waits for [`committed`](Self::committed).
    pub(super) fn wait_committed(&self) -> u32 {
        loop {
            match self.committed() {
                Some(events) => return events,
                // A writer only copies between reserving and committing, so this is short.
                None => yield_now(),
            }
        }
    }

    /// Copies the records to the front of `bytes`, as far as there is room, and returns how many bytes were copied.
    /// Everything must be committed.
    pub(super) fn copy_to(&self, bytes: &mut [u8]) -> usize {
        let used = usize::try_from(used(self.state.load(Ordering::Acquire))).unwrap_or_default();
        let words = self.words.get().and_then(|words| words.get(..used)).unwrap_or_default();
        let (chunks, _) = bytes.as_chunks_mut::<WORD>();
        for (chunk, word) in chunks.iter_mut().zip(words) {
            *chunk = word.load(Ordering::Relaxed).to_le_bytes();
        }
        chunks.len().min(words.len()) * WORD
    }

    /// Returns the number of events committed since the slot was opened, even if other writers are still copying.
    pub(super) fn events(&self) -> u32 {
        high(self.committed.load(Ordering::Acquire))
    }

    /// Removes the events, which were read or are given up, and returns their number. The caller must own the slot.
    pub(super) fn forget(&self) -> u32 {
        high(self.committed.swap(0, Ordering::AcqRel))
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state.load(Ordering::Acquire) & CLOSED != 0
    }

    pub(super) fn stream(&self) -> usize {
        usize::try_from(self.stream.load(Ordering::Relaxed)).unwrap_or_default()
    }

    /// The position of this slot in the order in which slots were closed.
    pub(super) fn order(&self) -> u64 {
        self.order.load(Ordering::Relaxed)
    }

    pub(super) fn set_order(&self, order: u64) {
        self.order.store(order, Ordering::Relaxed);
    }
}

const fn high(word: u64) -> u32 {
    let [.., a, b, c, d] = word.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

const fn epoch(state: u64) -> u32 {
    high(state)
}

const fn used(state: u64) -> u32 {
    let [a, b, c, d, ..] = (state & USED).to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}
