//! The part of a session that requests refer to, and how it records an event.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use etw_etl::format::stack::{HOOK_CREATE, push_definition};
use etw_etl::{Clock, ClockKind, ExtendedType, FileTime};
use etw_types::session::info::{PeriodicCapture, StackTracing};
use etw_types::session::{Properties, SessionStatus, enable, mode};
use etw_types::{Guid, NtStatus};

use super::buffered::{Buffers, PAUSE};
use super::information::SetInformation;
use super::memory::Memory;
use super::outlet::Counts;
use super::properties::{Overflow, Plan};
use super::sequence::Sequence;
use super::stacks::{Opcodes, Stacks};
use super::status::{Report, Statistics};
use crate::buffers::{Encoded, Place, Record, Refusal};
use crate::data::Data;
use crate::event::Offer;
use crate::record::{EventRecord, Extras, Scratch, add_items, adds_items};
use crate::sync::lock;
use crate::timer::PER_SECOND;

/// How often a writer sleeps for a [`PAUSE`] and tries again to get a buffer before the event is lost.
const MAX_PAUSES: u32 = 1000;

/// The destination of a session's events.
pub(super) enum Sink {
    /// A list, for a test.
    Memory(Memory),
    /// Buffers, and from there to a file and to consumers.
    Buffers(Box<Buffers>),
}

/// What a session adds to an event.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    /// `EVENT_ENABLE_PROPERTY_*` of the request.
    pub(crate) property: u32,
    /// Whether the stack of the writer is added.
    pub(crate) stack: bool,
}

/// The state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Running,
    Stopping,
    Stopped,
}

/// A session without its engine.
pub(crate) struct SessionCore {
    pub(super) id: u64,
    pub(super) logger_id: u16,
    pub(super) guid: Guid,
    pub(super) plan: Mutex<Plan>,
    pub(super) name: String,
    pub(super) is_system: bool,
    pub(super) overflow: Overflow,
    pub(super) clock: Clock,
    pub(super) sink: Sink,
    /// Events that writers could not store in a buffer.
    pub(super) lost: AtomicU64,
    /// The number of events that had left the buffers when a writer last gave up waiting. While the number is the same,
    /// no buffer has become free, and other writers do not wait.
    pub(super) gave_up: AtomicU64,
    pub(super) life: AtomicU8,
    pub(super) stacks: Stacks,
    pub(super) sequence: Sequence,
    /// The type of the extended item for the sequence numbers of events.
    pub(super) event_sequence: Option<ExtendedType>,
    /// Registrations whose binary was reported in the trace.
    pub(crate) reported: Mutex<BTreeSet<u64>>,
    /// The time of the next periodic capture state; `u64::MAX` if there is none.
    pub(super) due: AtomicU64,
    pub(crate) information: Mutex<SetInformation>,
    /// Whether the classes that can be set only once were set: counter events, counters.
    pub(crate) pmc_set: [AtomicBool; 2],
}

impl SessionCore {
    pub(crate) const fn id(&self) -> u64 {
        self.id
    }

    pub(crate) const fn logger_id(&self) -> u16 {
        self.logger_id
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) const fn is_system(&self) -> bool {
        self.is_system
    }

    pub(crate) const fn stacks(&self) -> &Stacks {
        &self.stacks
    }

    /// Returns the event types of this class that get a stack (`TraceStackTracingInfo`).
    pub(crate) fn stack_opcodes(&self, class: Guid) -> Opcodes {
        let StackTracing(events) = lock(&self.information).get().unwrap_or_default();
        events.iter().filter(|event| event.guid == class).map(|event| event.event_type).collect()
    }

    /// Whether the session captures events for a test.
    pub(crate) const fn captures(&self) -> bool {
        self.memory().is_some()
    }

    pub(super) const fn memory(&self) -> Option<&Memory> {
        match &self.sink {
            Sink::Memory(memory) => Some(memory),
            Sink::Buffers(_) => None,
        }
    }

    pub(super) fn buffers(&self) -> Option<&Buffers> {
        match &self.sink {
            Sink::Memory(_) => None,
            Sink::Buffers(buffers) => Some(buffers),
        }
    }

    pub(super) fn life(&self) -> Life {
        match self.life.load(Ordering::Acquire) {
            0 => Life::Running,
            1 => Life::Stopping,
            _ => Life::Stopped,
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.life() != Life::Running
    }

    /// Begins to stop the session. Returns false if it is already stopping or stopped.
    pub(super) fn begin_stop(&self) -> bool {
        self.life.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Returns the number of buffer streams (`TraceStreamCount`).
    pub(crate) fn streams(&self) -> usize {
        self.buffers().map_or(1, |buffers| buffers.pool.streams())
    }

    pub(super) fn maximum_buffers(&self) -> u32 {
        self.buffers().map_or(0, |buffers| buffers.pool.maximum())
    }

    /// Records an event, or returns the reason why not.
    #[inline]
    pub(crate) fn offer(&self, offer: &Offer<'_>, data: &Data<'_>, wanted: Wanted) -> NtStatus {
        match &self.sink {
            Sink::Memory(memory) => Self::capture(memory, offer, data, wanted),
            Sink::Buffers(buffers) => {
                if wanted.stack || adds_items(offer, wanted.property) || self.event_sequence.is_some() {
                    self.write_with_items(buffers, offer, data, wanted)
                } else {
                    self.write(buffers, offer, data, Some(&[]))
                }
            }
        }
    }

    /// Records an event for a test.
    #[inline(never)]
    fn capture(memory: &Memory, offer: &Offer<'_>, data: &Data<'_>, wanted: Wanted) -> NtStatus {
        let mut stack = Vec::new();
        if wanted.stack {
            offer.environment.stack(&mut stack);
        }
        memory.offer(offer, data, stack)
    }

    /// Writes an event with the items that the session adds to it.
    #[inline(never)]
    fn write_with_items(&self, buffers: &Buffers, offer: &Offer<'_>, data: &Data<'_>, wanted: Wanted) -> NtStatus {
        let mut scratch = Scratch::take();
        let added = self.add(offer, data, wanted, &mut scratch);
        let status = self.write(buffers, offer, data, added.map(|()| scratch.items.as_slice()));
        scratch.give_back();
        status
    }

    /// Writes an event. `items` are the encoded items that the session adds; `None` if they are too large.
    ///
    /// Neither this nor the two functions above are inlined: in the loop over the sessions, the compiler would compute all
    /// parts of the record in advance and keep them on the stack, which takes more instructions than the call.
    #[inline(never)]
    fn write(&self, buffers: &Buffers, offer: &Offer<'_>, data: &Data<'_>, items: Option<&[u8]>) -> NtStatus {
        let stamp = data.timestamp.unwrap_or_else(|| self.stamp(offer.now));
        let record = items.and_then(|items| EventRecord::new(offer, data, stamp, items));
        self.put(buffers, offer.processor, record.as_ref())
    }

    /// Encodes what the session adds to an event. Returns `None` if it is too large.
    fn add(&self, offer: &Offer<'_>, data: &Data<'_>, wanted: Wanted, scratch: &mut Scratch) -> Option<()> {
        let Wanted { property, stack } = wanted;
        if stack {
            scratch.fetch_stack(offer);
        }
        let extras = Extras {
            property,
            stack,
            stack_key: if stack { self.stack_key(offer, scratch) } else { None },
            event_key: if property & enable::EVENT_KEY == 0 { 0 } else { offer.keys.fetch_add(1, Ordering::Relaxed) },
            sequence: self.event_sequence.and_then(|kind| Some((kind, self.sequence.next()?.into()))),
        };
        add_items(offer, data, &extras, scratch)
    }

    /// Stores a record in a buffer, or counts it as lost. `None` means a record that is too large.
    #[inline]
    pub(super) fn put(&self, buffers: &Buffers, processor: u16, record: Option<&impl Record>) -> NtStatus {
        let Some(record) = record else {
            return self.too_large();
        };
        let place = match buffers.pool.reserve(processor, record.len()) {
            Ok(place) => place,
            Err(refusal) => match self.refused(buffers, processor, record.len(), refusal) {
                Ok(place) => place,
                Err(status) => return status,
            },
        };
        if place.fill(record) {
            buffers.handed_over();
        }
        NtStatus::Success
    }

    /// Handles a record for which there is no room: waits for a buffer as [`Overflow`] says, or counts the record as
    /// lost.
    #[cold]
    fn refused<'a>(
        &self,
        buffers: &'a Buffers,
        processor: u16,
        len: usize,
        mut refusal: Refusal,
    ) -> Result<Place<'a>, NtStatus> {
        let mut pauses = 0_u32;
        loop {
            match refusal {
                Refusal::NoBuffer => {
                    buffers.wake();
                    let gone = buffers.pool.retired();
                    let is_useless = pauses >= MAX_PAUSES || self.gave_up.load(Ordering::Relaxed) == gone;
                    if self.overflow == Overflow::Lose && is_useless {
                        self.gave_up.store(gone, Ordering::Relaxed);
                        self.lost.fetch_add(1, Ordering::Relaxed);
                        return Err(NtStatus::NoMemory);
                    }
                    std::thread::sleep(PAUSE);
                    pauses = pauses.saturating_add(1);
                }
                Refusal::TooLarge => return Err(self.too_large()),
                Refusal::Stopped => return Err(NtStatus::Success),
            }
            match buffers.pool.reserve(processor, len) {
                Ok(place) => return Ok(place),
                Err(again) => refusal = again,
            }
        }
    }

    /// Counts an event that is too large as lost, unless the session is stopped.
    #[cold]
    fn too_large(&self) -> NtStatus {
        if self.is_stopped() {
            return NtStatus::Success;
        }
        self.lost.fetch_add(1, Ordering::Relaxed);
        NtStatus::BufferOverflow
    }

    /// Stores a record that is not an event in a buffer, if one is free. It is not counted.
    pub(crate) fn note(&self, processor: u16, record: &[u8]) -> bool {
        let Some(buffers) = self.buffers() else {
            return false;
        };
        let written = buffers.pool.write(processor, &Encoded::silent(record));
        if matches!(written, Ok(true) | Err(Refusal::NoBuffer)) {
            buffers.wake();
        }
        written.is_ok()
    }

    /// Returns the key of a stack if the session writes keys. A new key is first defined in the trace.
    fn stack_key(&self, offer: &Offer<'_>, scratch: &mut Scratch) -> Option<u64> {
        let Scratch { items, frames, .. } = scratch;
        self.stacks.key(frames, |key| {
            items.clear();
            push_definition(items, HOOK_CREATE, self.stamp(offer.now), key, frames) && self.note(offer.processor, items)
        })
    }

    /// Returns the time of the next periodic capture state.
    pub(crate) fn due(&self) -> Option<u64> {
        let due = self.due.load(Ordering::Acquire);
        (due != u64::MAX && !self.is_stopped()).then_some(due)
    }

    /// Sets the period of the capture state, starting at `now`.
    pub(crate) fn set_period(&self, now: u64, seconds: Option<u32>) {
        let due = seconds.map_or(u64::MAX, |seconds| now.saturating_add(u64::from(seconds).saturating_mul(PER_SECOND)));
        self.due.store(due, Ordering::Release);
    }

    /// Returns whether the capture state is due, and if so schedules the next one.
    pub(crate) fn take_due(&self, now: u64) -> bool {
        let information = lock(&self.information);
        let seconds = information.get().map(|capture: PeriodicCapture| capture.seconds());
        let is_due = self.due().is_some_and(|due| due <= now);
        if is_due {
            self.set_period(now, seconds);
        }
        is_due && seconds.is_some()
    }

    /// Converts the engine's time to the session's clock.
    pub(crate) fn stamp(&self, now: u64) -> u64 {
        match self.clock.kind {
            ClockKind::SystemTime => {
                let start = u64::try_from(self.clock.start.0).unwrap_or_default();
                start.saturating_add(now.saturating_sub(self.clock.start_stamp))
            }
            ClockKind::PerformanceCounter | ClockKind::Cycles => now,
        }
    }

    pub(crate) fn statistics(&self) -> Statistics {
        let buffers = match &self.sink {
            Sink::Memory(memory) => return memory.statistics(),
            Sink::Buffers(buffers) => buffers,
        };
        // Buffers are emptied under the same lock, so no event is counted twice.
        let outlet = lock(&buffers.outlet);
        let counts = outlet.counts;
        let accepted = buffers.pool.accepted();
        drop(outlet);
        let writers = self.lost.load(Ordering::Acquire);
        let discarded = counts.discarded + buffers.pool.overwritten();
        let out = counts.recorded + counts.lost + discarded;
        Statistics {
            written: accepted + writers,
            recorded: counts.recorded,
            lost: counts.lost + writers,
            discarded,
            pending: accepted.saturating_sub(out),
        }
    }

    fn counts(&self) -> Counts {
        self.buffers().map(|buffers| lock(&buffers.outlet).counts).unwrap_or_default()
    }

    pub(super) fn status(&self) -> Report {
        let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let counts = self.counts();
        let statistics = self.statistics();
        let mut status = SessionStatus {
            properties: Properties { guid: self.guid, ..lock(&self.plan).properties.clone() },
            handle: self.id,
            events_lost: narrow(statistics.lost),
            buffers_written: narrow(counts.buffers_written),
            log_buffers_lost: narrow(counts.log_buffers_lost),
            real_time_buffers_lost: narrow(counts.real_time_buffers_lost),
            ..SessionStatus::default()
        };
        let mut file_error = None;
        if let Some(buffers) = self.buffers() {
            let outlet = lock(&buffers.outlet);
            let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
            let properties = &mut status.properties;
            properties.mode = (properties.mode & !mode::REAL_TIME) | (outlet.mode() & mode::REAL_TIME);
            properties.maximum_buffers = buffers.pool.maximum();
            // The current one of several files; `None` after the session was converted to real time only.
            properties.log_file = properties.log_file.take().and_then(|_| outlet.path());
            status.number_of_buffers = count(buffers.pool.allocated());
            status.free_buffers = count(buffers.pool.free());
            file_error = outlet.file_error();
        }
        Report { status, logger_id: self.logger_id, statistics, file_error }
    }
}

/// Returns the clock of a session that starts now.
pub(super) fn clock_now(kind: ClockKind, now: u64) -> Clock {
    Clock { kind, frequency: 10_000_000, start: FileTime::now(), start_stamp: now }
}
