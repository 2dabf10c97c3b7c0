//! The part of a session that requests refer to, and what it does with an event.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use etw_etl::{Clock, ClockKind, FileTime};
use etw_types::session::{enable, mode};
use etw_types::{Guid, NtStatus};

use super::logger::Buffers;
use super::memory::Memory;
use super::outlet::Counts;
use super::properties::{Overflow, Plan};
use super::stacks::Stacks;
use super::status::{SessionStatus, Statistics};
use crate::buffers::Outcome;
use crate::gather::Gathered;
use crate::record::{Extras, encode, fetch_stack};
use crate::routes::Taker;
use crate::sync::lock;
use crate::trace_info::SessionInformation;
use crate::write::Offer;

/// Where a session's events go.
pub(super) enum Sink {
    /// A list, for a test.
    Memory(Memory),
    /// Buffers, and from there to a file and to consumers.
    Buffers(Box<Buffers>),
}

/// Whether a session runs.
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
    /// Events that writers could not put into a buffer.
    pub(super) lost: AtomicU64,
    pub(super) life: AtomicU8,
    pub(super) stacks: Stacks,
    pub(crate) information: Mutex<SessionInformation>,
    /// Whether a class that can be set once was set: counter events, counters.
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

    /// Begins to stop; false where somebody else did.
    pub(super) fn begin_stop(&self) -> bool {
        self.life.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// How many streams of buffers there are (`TraceStreamCount`).
    pub(crate) fn streams(&self) -> usize {
        self.buffers().map_or(1, |buffers| buffers.pool.streams())
    }

    pub(super) fn maximum_buffers(&self) -> u32 {
        self.buffers().map_or(0, |buffers| buffers.pool.maximum())
    }

    /// Takes an event, or says why not.
    pub(crate) fn offer(&self, offer: &Offer<'_>, data: &mut Gathered, taker: &Taker) -> NtStatus {
        let property = taker.settings.property();
        let stack =
            property & enable::STACK_TRACE != 0 && taker.filters.wants_stack(&offer.event.descriptor, data.metadata());
        data.frames.clear();
        if stack {
            fetch_stack(offer, data);
        }
        match &self.sink {
            Sink::Memory(memory) => memory.offer(offer, data),
            Sink::Buffers(buffers) => self.write(buffers, offer, data, property, stack),
        }
    }

    fn write(&self, buffers: &Buffers, offer: &Offer<'_>, data: &mut Gathered, property: u32, stack: bool) -> NtStatus {
        let extras = Extras {
            property,
            stack,
            stack_key: stack.then(|| self.stacks.key(&data.frames)).flatten(),
            stamp: data.timestamp.unwrap_or_else(|| self.stamp(offer.now)),
            event_key: if property & enable::EVENT_KEY == 0 { 0 } else { offer.keys.fetch_add(1, Ordering::Relaxed) },
        };
        let is_small = encode(offer, data, &extras).is_some();
        loop {
            let outcome = if is_small { buffers.pool.write(offer.processor, &data.record) } else { Outcome::TooLarge };
            match outcome {
                Outcome::Taken { handed_over } => {
                    if handed_over {
                        buffers.wake();
                    }
                    return NtStatus::Success;
                }
                Outcome::NoBuffer => {
                    buffers.wake();
                    if self.overflow == Overflow::Wait {
                        std::thread::yield_now();
                        continue;
                    }
                    self.lost.fetch_add(1, Ordering::Relaxed);
                    return NtStatus::NoMemory;
                }
                // An event too large for a stopped session is not its loss.
                Outcome::TooLarge if self.is_stopped() => return NtStatus::Success,
                Outcome::TooLarge => {
                    self.lost.fetch_add(1, Ordering::Relaxed);
                    return NtStatus::BufferOverflow;
                }
                Outcome::Stopped => return NtStatus::Success,
            }
        }
    }

    /// A time of the engine in the session's clock.
    pub(super) fn stamp(&self, now: u64) -> u64 {
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
        let counts = self.counts();
        let accepted = buffers.pool.accepted();
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

    pub(super) fn status(&self) -> SessionStatus {
        let counts = self.counts();
        let plan = lock(&self.plan);
        let mut properties = plan.properties.clone();
        drop(plan);
        let mut status = SessionStatus {
            handle: self.id,
            logger_id: self.logger_id,
            guid: self.guid,
            is_system: self.is_system,
            number_of_buffers: 0,
            free_buffers: 0,
            buffers_written: counts.buffers_written,
            log_buffers_lost: counts.log_buffers_lost,
            real_time_buffers_lost: counts.real_time_buffers_lost,
            statistics: self.statistics(),
            file: None,
            file_error: None,
            properties: properties.clone(),
        };
        if let Some(buffers) = self.buffers() {
            let outlet = lock(&buffers.outlet);
            let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
            properties.mode = (properties.mode & !mode::REAL_TIME) | (outlet.mode() & mode::REAL_TIME);
            properties.maximum_buffers = buffers.pool.maximum();
            status.properties = properties;
            status.number_of_buffers = count(buffers.pool.allocated());
            status.free_buffers = count(buffers.pool.free());
            status.file = outlet.path();
            status.file_error = outlet.file_error();
        }
        status
    }
}

/// The clock of a session that starts now.
pub(super) fn clock_now(kind: ClockKind, now: u64) -> Clock {
    Clock { kind, frequency: 10_000_000, start: FileTime::now(), start_stamp: now }
}
