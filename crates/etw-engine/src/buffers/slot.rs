//! One buffer: room that is reserved, filled and committed.
//!
//! The state is one word: how often the slot was handed out (its epoch), whether it is closed, and how much is reserved.
//! A reservation succeeds only in the epoch that the writer saw, so a writer that was interrupted cannot end up in a
//! buffer that meanwhile belongs to another stream. The second word counts what is committed: a closed slot may be read
//! once as much is committed as was reserved.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Bytes of a word.
pub(super) const WORD: usize = 8;
const CLOSED: u64 = 1 << 31;
const USED: u64 = CLOSED - 1;
const ONE_EVENT: u64 = 1 << 32;

/// What came of a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reservation {
    /// Room from this word on.
    At(u32),
    /// There is no room; this call closed the slot, and its caller has to hand it over.
    ClosedNow,
    /// The slot is closed, or it is another epoch.
    Gone,
}

/// A buffer and its state.
pub(super) struct Slot {
    state: AtomicU64,
    /// Events in the high half, words in the low half.
    committed: AtomicU64,
    words: OnceLock<Box<[AtomicU64]>>,
    stream: AtomicU64,
    order: AtomicU64,
}

impl Slot {
    /// A slot without memory, closed.
    pub(super) const fn new() -> Self {
        Self {
            state: AtomicU64::new(CLOSED),
            committed: AtomicU64::new(0),
            words: OnceLock::new(),
            stream: AtomicU64::new(0),
            order: AtomicU64::new(0),
        }
    }

    /// Takes the memory. Later calls do nothing.
    pub(super) fn allocate(&self, words: u32) {
        self.words.get_or_init(|| (0..words).map(|_| AtomicU64::new(0)).collect());
    }

    /// Empties and opens the slot for a stream and answers its epoch. The caller owns it: it is in no set and current
    /// nowhere.
    pub(super) fn open(&self, stream: usize) -> u32 {
        let epoch = epoch(self.state.load(Ordering::Acquire)).wrapping_add(1);
        self.committed.store(0, Ordering::Relaxed);
        self.stream.store(stream as u64, Ordering::Relaxed);
        self.state.store(u64::from(epoch) << 32, Ordering::Release);
        epoch
    }

    /// Reserves `need` of `room` words, or closes the slot where they do not fit.
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

    /// Closes the slot of this epoch. Whether this call did, and whether it has events then; an empty one stays open
    /// unless `even_empty`.
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

    /// Copies a record to the words that were reserved for it and commits them. The last word is filled up with 0xFF.
    pub(super) fn fill(&self, offset: u32, need: u32, record: &[u8]) {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let words = self.words.get().and_then(|words| words.get(start..)).unwrap_or_default();
        let (whole, rest) = record.as_chunks::<WORD>();
        for (word, bytes) in words.iter().zip(whole) {
            word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
        }
        if !rest.is_empty()
            && let Some(word) = words.get(whole.len())
        {
            let mut bytes = [0xFF; WORD];
            bytes.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
            word.store(u64::from_le_bytes(bytes), Ordering::Relaxed);
        }
        // Releases the stores above to who finds everything committed.
        self.committed.fetch_add(ONE_EVENT + u64::from(need), Ordering::AcqRel);
    }

    /// How many events there are, once every writer that reserved room has committed it. The slot is closed.
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
                // Between reserving and committing a writer does nothing but copy.
                None => thread::yield_now(),
            }
        }
    }

    /// Appends the records to `bytes`. Everything is committed.
    pub(super) fn copy_to(&self, bytes: &mut Vec<u8>) {
        let used = usize::try_from(used(self.state.load(Ordering::Acquire))).unwrap_or_default();
        let words = self.words.get().and_then(|words| words.get(..used)).unwrap_or_default();
        bytes.reserve(used * WORD);
        for word in words {
            bytes.extend_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state.load(Ordering::Acquire) & CLOSED != 0
    }

    pub(super) fn stream(&self) -> usize {
        usize::try_from(self.stream.load(Ordering::Relaxed)).unwrap_or_default()
    }

    /// Its place among the slots that were closed.
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
