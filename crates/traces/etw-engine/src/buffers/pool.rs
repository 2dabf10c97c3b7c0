//! The slots and streams of one session.

use super::index_set::IndexSet;
use super::slot::{Reservation, Slot};
use super::sync::{AtomicU32, AtomicU64, Ordering, TABLE, yield_now};
use super::words::{Record, WORD};

/// A stream without a slot.
const NO_SLOT: u64 = 0;
/// A stream that is stopped and never gets a slot again.
const STOPPED: u64 = u64::MAX;

/// The size of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolOptions {
    /// Bytes of a buffer that hold records.
    pub(crate) room: usize,
    /// Number of buffers that are allocated at the start.
    pub(crate) minimum: u32,
    /// Maximum number of buffers.
    pub(crate) maximum: u32,
    /// Number of streams.
    pub(crate) streams: u16,
    /// Whether the oldest full buffer is overwritten if none is free.
    pub(crate) overwrite: bool,
}

/// Reserved room for a record in a buffer. It must be filled, because the buffer cannot be read before that.
#[must_use]
pub(crate) struct Place<'a> {
    slot: &'a Slot,
    offset: u32,
    need: u32,
    handed_over: bool,
}

impl Place<'_> {
    /// Stores the record that the room was reserved for. Returns whether the reservation added a buffer to the set of full
    /// buffers.
    #[inline]
    pub(crate) fn fill(self, record: &impl Record) -> bool {
        self.slot.fill(self.offset, self.need, record);
        self.handed_over
    }
}

/// Why there is no room for a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No buffer is free; the record is lost.
    NoBuffer,
    /// The record is larger than a buffer.
    TooLarge,
    /// The pool was already stopped; the record does not belong to the session any more.
    Stopped,
}

/// What was read from a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Read {
    /// The stream that filled the slot.
    pub(crate) stream: u16,
    /// Number of events in it.
    pub(crate) events: u32,
    /// Bytes of its records.
    pub(crate) bytes: usize,
}

/// The stream of a processor. The alignment keeps two streams on different cache lines.
#[repr(align(128))]
struct Stream {
    /// The epoch in the high half and the slot number plus one in the low half; or [`NO_SLOT`], or [`STOPPED`].
    current: AtomicU64,
}

/// See the [module](super).
pub(crate) struct Pool {
    slots: Box<[Slot]>,
    streams: Box<[Stream]>,
    free: IndexSet,
    full: IndexSet,
    words: u32,
    allocated: AtomicU32,
    maximum: AtomicU32,
    order: AtomicU64,
    overwrite: bool,
    overwritten: AtomicU64,
    /// Events of slots that have been emptied.
    retired: AtomicU64,
}

impl Pool {
    pub(crate) fn new(options: PoolOptions) -> Self {
        let table = usize::try_from(options.maximum).unwrap_or_default().max(TABLE);
        let pool = Self {
            slots: (0..table).map(|_| Slot::new()).collect(),
            streams: (0..options.streams.max(1)).map(|_| Stream { current: AtomicU64::new(NO_SLOT) }).collect(),
            free: IndexSet::new(table),
            full: IndexSet::new(table),
            words: u32::try_from(options.room / WORD).unwrap_or(u32::MAX),
            allocated: AtomicU32::new(0),
            maximum: AtomicU32::new(options.maximum),
            order: AtomicU64::new(0),
            overwrite: options.overwrite,
            overwritten: AtomicU64::new(0),
            retired: AtomicU64::new(0),
        };
        for _ in 0..options.minimum.min(options.maximum) {
            if let Some(index) = pool.allocate() {
                pool.free.insert(index);
            }
        }
        pool
    }

    /// Writes a record on the stream of a processor. Returns whether this added a buffer to the set of full buffers.
    pub(crate) fn write(&self, processor: u16, record: &impl Record) -> Result<bool, Refusal> {
        self.reserve(processor, record.len()).map(|place| place.fill(record))
    }

    /// Reserves room for a record of `len` bytes on the stream of a processor. Lock-free: a thread that is interrupted
    /// anywhere does not block other writers.
    #[inline]
    pub(crate) fn reserve(&self, processor: u16, len: usize) -> Result<Place<'_>, Refusal> {
        let number = usize::from(processor) % self.streams.len().max(1);
        let need = match u32::try_from(len.div_ceil(WORD)) {
            Ok(need) if need <= self.words => need,
            _ => return Err(Refusal::TooLarge),
        };
        let stream = self.streams.get(number).ok_or(Refusal::Stopped)?;
        let current = stream.current.load(Ordering::Acquire);
        match self.reserve_in(current, need) {
            (Some(slot), Reservation::At(offset)) => Ok(Place { slot, offset, need, handed_over: false }),
            (_, missed) => self.reserve_anew(number, stream, need, current, missed),
        }
    }

    /// Reserves room in the current slot of a stream, given the stream's state.
    #[inline]
    fn reserve_in(&self, current: u64, need: u32) -> (Option<&Slot>, Reservation) {
        match self.unpack(current) {
            Some((_, slot, epoch)) => (Some(slot), slot.reserve(epoch, need, self.words)),
            None => (None, Reservation::Gone),
        }
    }

    /// Replaces the slot of a stream until one has room, and reserves it. `current` and `missed` are the state of the
    /// stream and the result of the first attempt.
    #[cold]
    fn reserve_anew(
        &self,
        number: usize,
        stream: &Stream,
        need: u32,
        mut current: u64,
        mut missed: Reservation,
    ) -> Result<Place<'_>, Refusal> {
        let mut handed_over = false;
        loop {
            if current == STOPPED {
                return Err(Refusal::Stopped);
            }
            if let Some((index, ..)) = self.unpack(current).filter(|_| missed == Reservation::ClosedNow) {
                self.hand_over(index);
                handed_over = true;
            }
            if let Some(index) = self.take_free() {
                let opened = self.open(index, number);
                if stream.current.compare_exchange(current, opened, Ordering::AcqRel, Ordering::Acquire).is_err() {
                    // Another writer of the stream was faster and replaced the slot.
                    self.free.insert(index);
                }
            } else if stream.current.load(Ordering::Acquire) == current {
                return Err(Refusal::NoBuffer);
            }
            current = stream.current.load(Ordering::Acquire);
            match self.reserve_in(current, need) {
                (Some(slot), Reservation::At(offset)) => return Ok(Place { slot, offset, need, handed_over }),
                (_, reservation) => missed = reservation,
            }
        }
    }

    fn open(&self, index: usize, stream: usize) -> u64 {
        let epoch = self.slots.get(index).map_or(0, |slot| slot.open(stream));
        u64::from(epoch) << 32 | (index as u64 + 1)
    }

    fn unpack(&self, current: u64) -> Option<(usize, &Slot, u32)> {
        let index = usize::try_from(current & u64::from(u32::MAX)).ok()?.checked_sub(1)?;
        let epoch = u32::try_from(current >> 32).ok()?;
        self.slots.get(index).map(|slot| (index, slot, epoch))
    }

    /// Takes a slot that no other thread uses: a free one, a newly allocated one, or the oldest full one.
    fn take_free(&self) -> Option<usize> {
        self.free.take().or_else(|| self.allocate()).or_else(|| if self.overwrite { self.take_oldest() } else { None })
    }

    /// Takes the oldest full slot that no writer is still copying into, to overwrite it.
    fn take_oldest(&self) -> Option<usize> {
        let order = |index: &usize| self.slots.get(*index).map_or(0, Slot::order);
        let mut tried = None;
        loop {
            let untried = self.full.iter().filter(|index| tried.is_none_or(|tried| order(index) > tried));
            let index = untried.min_by_key(order)?;
            tried = Some(order(&index));
            if let Some(slot) = self.slots.get(index).filter(|_| self.full.remove(index)) {
                if let Some(events) = slot.committed() {
                    self.overwritten.fetch_add(events.into(), Ordering::Relaxed);
                    self.retire(slot);
                    return Some(index);
                }
                self.full.insert(index);
            }
        }
    }

    fn allocate(&self) -> Option<usize> {
        let most = self.maximum.load(Ordering::Relaxed);
        #[allow(deprecated, reason = "loom knows only this name of what later became `try_update`")]
        let claimed = self
            .allocated
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |count| (count < most).then_some(count + 1))
            .ok()?;
        let index = usize::try_from(claimed).ok()?;
        self.slots.get(index)?.allocate(self.words);
        Some(index)
    }

    fn hand_over(&self, index: usize) {
        if let Some(slot) = self.slots.get(index) {
            slot.set_order(self.order.fetch_add(1, Ordering::Relaxed));
            self.full.insert(index);
        }
    }

    /// Adds the current slot of every stream to the full set unless it is empty, and waits until every slot that was
    /// already closed is in the set.
    pub(crate) fn flush(&self) {
        for stream in &self.streams {
            let current = stream.current.load(Ordering::Acquire);
            if current != STOPPED
                && let Some((index, slot, epoch)) = self.unpack(current)
                && slot.close(epoch, false).is_some()
            {
                self.hand_over(index);
            }
        }
        self.settle();
    }

    /// Stops all streams: no record is accepted after this. Current slots with records are added to the full set.
    pub(crate) fn stop(&self) {
        for stream in &self.streams {
            let current = stream.current.swap(STOPPED, Ordering::AcqRel);
            if current != STOPPED
                && let Some((index, slot, epoch)) = self.unpack(current)
            {
                match slot.close(epoch, true) {
                    Some(true) => self.hand_over(index),
                    Some(false) => self.free.insert(index),
                    None => {}
                }
            }
        }
        self.settle();
    }

    /// Waits for writers that closed a slot and are about to add it to the full set. Writers never call this.
    fn settle(&self) {
        for (index, slot) in self.slots.iter().enumerate().take(self.allocated()) {
            while slot.is_closed() && !self.free.contains(index) && !self.full.contains(index) {
                yield_now();
            }
        }
    }

    /// Takes the full slot that was closed first.
    pub(crate) fn take_full(&self) -> Option<usize> {
        loop {
            let order = |index: &usize| self.slots.get(*index).map_or(0, Slot::order);
            let oldest = self.full.iter().min_by_key(order)?;
            if self.full.remove(oldest) {
                return Some(oldest);
            }
        }
    }

    /// Copies the records of a taken slot to `bytes`, which must have room for a whole slot.
    pub(crate) fn read(&self, index: usize, bytes: &mut [u8]) -> Read {
        let Some(slot) = self.slots.get(index) else {
            return Read::default();
        };
        let events = slot.wait_committed();
        let stream = u16::try_from(slot.stream()).unwrap_or(u16::MAX);
        Read { stream, events, bytes: slot.copy_to(bytes) }
    }

    /// Returns the size of a slot in bytes.
    pub(crate) fn room(&self) -> usize {
        usize::try_from(self.words).unwrap_or_default() * WORD
    }

    /// Releases a taken slot and empties it.
    pub(crate) fn release(&self, index: usize) {
        if let Some(slot) = self.slots.get(index) {
            self.retire(slot);
        }
        self.free.insert(index);
    }

    /// Adds the events of a slot that is being emptied to `retired`.
    fn retire(&self, slot: &Slot) {
        self.retired.fetch_add(slot.forget().into(), Ordering::AcqRel);
    }

    /// Returns a taken slot to the full set, with its events.
    pub(crate) fn put_back(&self, index: usize) {
        self.full.insert(index);
    }

    /// Returns the number of slots that have memory.
    pub(crate) fn allocated(&self) -> usize {
        usize::try_from(self.allocated.load(Ordering::Acquire)).unwrap_or_default()
    }

    pub(crate) fn free(&self) -> usize {
        self.free.len()
    }

    /// Returns the number of full slots.
    pub(crate) fn full(&self) -> usize {
        self.full.len()
    }

    pub(crate) fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Returns the number of records that have left the pool.
    pub(crate) fn retired(&self) -> u64 {
        self.retired.load(Ordering::Acquire)
    }

    /// Returns the number of records accepted so far. Exact while no slot is being emptied and no writer is active.
    pub(crate) fn accepted(&self) -> u64 {
        let held: u64 = self.slots.iter().take(self.allocated()).map(|slot| u64::from(slot.events())).sum();
        held + self.retired.load(Ordering::Acquire)
    }

    /// Returns the number of records that were overwritten before they were read.
    pub(crate) fn overwritten(&self) -> u64 {
        self.overwritten.load(Ordering::Acquire)
    }

    /// Changes the maximum number of buffers, up to the size of the table.
    pub(crate) fn set_maximum(&self, maximum: u32) {
        let table = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        self.maximum.store(maximum.min(table), Ordering::Relaxed);
    }

    pub(crate) fn maximum(&self) -> u32 {
        self.maximum.load(Ordering::Relaxed)
    }
}
