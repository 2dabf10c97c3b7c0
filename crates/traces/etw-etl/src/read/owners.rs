//! The process and the thread of kernel events whose header has none: from the payload, and from the lives of the threads.

use std::sync::Arc;

use crate::event::Header;
use crate::format::bytes::u32_at;

/// Maximum number of events about threads that are remembered.
const MAX_POINTS: usize = 0x10_0000;

/// Number of threads whose processes are found without a search.
const RECENT: usize = 1024;

/// `PerfInfo`: a sample.
const HOOK_SAMPLE: u16 = 0x0F2E;
/// Types of thread events: the start and the end of a thread, and the rundowns at the start and at the end of a trace.
const TYPE_START: u8 = 1;

/// What an event says about its thread at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    thread: u32,
    stamp: u64,
    is_start: bool,
    process: u32,
}

/// The process of a thread, and the first and the last time stamp for which this is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Life {
    thread: u32,
    process: Option<u32>,
    from: u64,
    until: u64,
}

/// The processes of the threads in a trace. A thread id is used again after the thread has ended. A [`Reader`](crate::Reader) has
/// found them: `reader.threads()`.
///
/// ```
/// assert_eq!(etw_etl::Threads::default().process(8, 1_000), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Threads {
    points: Vec<Point>,
    /// The earliest time stamp of the events that were left out.
    unknown_from: Option<u64>,
}

impl Threads {
    /// Adds a thread event: its type, version and payload. Call [`sort`](Self::sort) after the last one.
    pub(crate) fn add(&mut self, event_type: u8, version: u16, stamp: u64, payload: &[u8]) {
        let (Some(first), Some(second)) = (u32_at(payload, 0), u32_at(payload, 4)) else { return };
        let (process, thread) = if version == 0 { (second, first) } else { (first, second) };
        self.push(Point { thread, stamp, is_start: event_type == TYPE_START, process });
    }

    /// Adds the events of another trace, whose time stamps are converted.
    pub(crate) fn absorb(&mut self, other: &Self, stamp: &dyn Fn(u64) -> u64) {
        for point in &other.points {
            self.push(Point { stamp: stamp(point.stamp), ..*point });
        }
        let other = other.unknown_from.map(stamp);
        self.unknown_from = self.unknown_from.into_iter().chain(other).min();
    }

    fn push(&mut self, point: Point) {
        if self.points.len() >= MAX_POINTS {
            self.unknown_from = Some(self.unknown_from.map_or(point.stamp, |from| from.min(point.stamp)));
            return;
        }
        self.points.push(point);
    }

    /// Orders the events, so that they can be found.
    pub(crate) fn sort(&mut self) {
        self.points.sort_unstable();
        self.points.dedup();
    }

    /// Returns the process of a thread at a time: a time stamp in the session's clock. A thread that ended keeps its process until
    /// the id is used again, because it still runs for a moment.
    #[must_use]
    pub fn process(&self, thread: u32, stamp: u64) -> Option<u32> {
        self.life(thread, stamp).process
    }

    fn life(&self, thread: u32, stamp: u64) -> Life {
        if let Some(from) = self.unknown_from.filter(|from| *from <= stamp) {
            return Life { thread, process: None, from, until: u64::MAX };
        }
        let next = self.points.partition_point(|point| (point.thread, point.stamp) <= (thread, stamp));
        let of_thread = |point: &&Point| point.thread == thread;
        let last = next.checked_sub(1).and_then(|last| self.points.get(last)).filter(of_thread);
        let later = self.points.get(next).filter(of_thread);
        // Only a start says that the thread was not there before.
        let point = last.or_else(|| later.filter(|point| !point.is_start));
        let until = later.map(|point| point.stamp).into_iter().chain(self.unknown_from).min();
        let from = last.map_or(0, |point| point.stamp);
        Life { thread, process: point.map(|point| point.process), from, until: until.map_or(u64::MAX, |next| next - 1) }
    }
}

/// The threads of a trace, and the lives that were looked up last.
#[derive(Debug)]
pub(crate) struct RecentThreads {
    pub(crate) all: Arc<Threads>,
    recent: Vec<Option<Life>>,
}

impl RecentThreads {
    pub(crate) fn new(all: Arc<Threads>) -> Self {
        Self { all, recent: vec![None; RECENT] }
    }

    /// Returns the process of a thread at a time.
    #[inline]
    fn process(&mut self, thread: u32, stamp: u64) -> Option<u32> {
        // Ids of threads are multiples of 4.
        let place = usize::try_from(thread / 4).unwrap_or_default() % RECENT;
        let known = self.recent.get(place).copied().flatten();
        if let Some(life) = known.filter(|life| life.thread == thread && life.from <= stamp && stamp <= life.until) {
            return life.process;
        }
        let life = self.all.life(thread, stamp);
        if let Some(recent) = self.recent.get_mut(place) {
            *recent = Some(life);
        }
        life.process
    }
}

/// The process and the thread in the payload of a kernel event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Owner {
    process: Option<u32>,
    thread: Option<u32>,
}

/// Returns the process and the thread that a kernel event's payload has, for the classes whose header has none. The offsets
/// are those of the built-in schemas.
#[inline]
fn owner(header: &Header, payload: &[u8]) -> Owner {
    let pointer = if header.is_32_bit { 4 } else { 8 };
    let thread = |offset| Owner { thread: u32_at(payload, offset), process: None };
    let process = |offset| Owner { process: u32_at(payload, offset), thread: None };
    match (header.descriptor.id, header.descriptor.version) {
        // A sample and a sample of a counter: the address comes first.
        (HOOK_SAMPLE | 0x0F2F, _) => thread(pointer),
        // A context switch belongs to the new thread.
        (0x0524, _) => thread(0),
        (0x0220, 2..) => thread(16 + 2 * pointer),
        // The end of a disk transfer, and of a flush. Versions before 3 do not have the thread.
        (0x010A | 0x010B, 3..) => thread(32 + 2 * pointer),
        (0x010E, 3..) => thread(16 + pointer),
        // Rundowns and ends of processes.
        (0x0303 | 0x0304 | 0x0327, 1..) => process(pointer),
        // Images.
        (0x1402..=0x1404, 1..) => process(2 * pointer),
        // Counters of processes; TCP and UDP over IPv4 and IPv6, except failures.
        (
            0x0320 | 0x0321 | 0x060A..=0x0610 | 0x0612..=0x0616 | 0x061A..=0x0622 | 0x080A | 0x080B | 0x081A | 0x081B,
            1..,
        ) => process(0),
        (0x1820 | 0x1825 | 0x1826, _) => Owner { process: u32_at(payload, 8), thread: u32_at(payload, 12) },
        _ => Owner::default(),
    }
}

/// Returns the thread in the payload of a kernel event, and whether the event cannot belong to any other thread.
pub(crate) fn thread_of(header: &Header, payload: &[u8]) -> Option<(u32, bool)> {
    owner(header, payload).thread.map(|thread| (thread, header.descriptor.id == HOOK_SAMPLE))
}

impl Header {
    /// Sets the process and the thread of a kernel event that has none.
    #[inline]
    pub(crate) fn find_owner(&mut self, payload: &[u8], threads: &mut RecentThreads) {
        let is_kernel = self.layout.is_kernel();
        if !is_kernel || (self.process_id.is_some() && self.thread_id.is_some()) {
            return;
        }
        let owner = owner(self, payload);
        self.thread_id = self.thread_id.or(owner.thread);
        self.process_id = self
            .process_id
            .or(owner.process)
            .or_else(|| self.thread_id.and_then(|thread| threads.process(thread, self.stamp)));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{MAX_POINTS, RecentThreads, Threads};

    const START: u8 = 1;
    const END: u8 = 2;
    const DC_START: u8 = 3;
    const DC_END: u8 = 4;

    fn threads(points: &[(u8, u64, u32, u32)]) -> RecentThreads {
        let mut threads = Threads::default();
        for (event_type, stamp, process, thread) in points {
            threads.add(*event_type, 3, *stamp, &[process.to_le_bytes(), thread.to_le_bytes()].concat());
        }
        threads.sort();
        RecentThreads::new(Arc::new(threads))
    }

    #[test]
    fn a_thread_belongs_to_a_process_during_its_life() {
        let mut threads =
            threads(&[(END, 20, 4, 9), (START, 30, 5, 9), (END, 40, 5, 9), (START, 50, 6, 9), (START, 10, 7, 8)]);
        let found = [0, 20, 25, 30, 40, 45, 50, 99].map(|stamp| threads.process(9, stamp));
        assert_eq!(found, [4, 4, 4, 5, 5, 5, 6, 6].map(Some));
        let backwards = [99, 50, 49, 30, 29, 20, 19].map(|stamp| threads.process(9, stamp));
        assert_eq!(backwards, [6, 6, 5, 5, 4, 4, 4].map(Some));
        assert_eq!([threads.process(8, 9), threads.process(8, 10), threads.process(7, 10)], [None, Some(7), None]);
    }

    #[test]
    fn a_rundown_describes_threads_that_were_there_before() {
        let mut threads = threads(&[(DC_START, 10, 4, 9), (DC_END, 90, 5, 8)]);
        assert_eq!([0, 10, 50].map(|stamp| threads.process(9, stamp)), [Some(4); 3]);
        assert_eq!([0, 90, 99].map(|stamp| threads.process(8, stamp)), [Some(5); 3]);
    }

    #[test]
    fn the_first_version_has_the_thread_first() {
        let mut threads = Threads::default();
        threads.add(START, 0, 5, &[9_u32.to_le_bytes(), 4_u32.to_le_bytes()].concat());
        threads.add(START, 0, 5, &[0; 7]);
        assert_eq!(threads.process(9, 5), Some(4));
        assert_eq!(threads.points.len(), 1);
    }

    #[test]
    fn a_process_is_unknown_once_events_are_left_out() {
        let mut threads = Threads::default();
        let payload = [4_u32.to_le_bytes(), 9_u32.to_le_bytes()].concat();
        (0..=MAX_POINTS).for_each(|_| threads.add(START, 3, 7, &payload));
        threads.add(START, 3, 6, &payload);
        threads.add(START, 3, 8, &payload);
        assert_eq!(threads.points.len(), MAX_POINTS);
        assert_eq!(threads.process(9, 6), None);
        assert_eq!(threads.unknown_from, Some(6));
    }
}
