//! What a run did, with what orders it: calls of the driver's functions, and pieces of debug output.
//!
//! Threads race, so two runs of the same steps may differ in the order of what different threads do. A *task* is a thread,
//! or one job of a thread that runs DPCs or work items; what a task does has an order. A *moment* begins when no task can
//! run: when a request comes to a machine that is idle, and when virtual time jumps. Everything in one moment comes before
//! everything in the next.

use std::cell::Cell;
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::words::Words;

/// The maximum number of calls and of pieces that are recorded.
const MAX_ENTRIES: usize = 1 << 16;
/// The bit of each entry, because all of its values can be zero.
const RECORDED: u64 = 1 << 63;
/// The bit of a task that is a job. Other tasks have the number of their thread.
const JOB: u32 = 1 << 31;

thread_local! {
    /// The job that this thread runs, if it runs jobs.
    static TASK: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Where something is in the order of a run: see the comment of the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// The task that did it.
    pub task: u32,
    /// The moment in which it happened.
    pub moment: u32,
}

/// A call of a function of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedCall {
    /// The address of the function relative to the image.
    pub rva: u32,
    /// The IRQL at which it was called.
    pub irql: u8,
    /// The first argument: for most callbacks the object that they are about.
    pub argument: u64,
    /// When it was called.
    pub order: Order,
}

/// A piece of the debug output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedPrint {
    /// The first byte in the debug output.
    pub start: u64,
    /// The number of bytes.
    pub length: u64,
    /// When it was printed.
    pub order: Order,
}

/// The record, in memory that the process that creates it shares with the processes that it forks later.
#[derive(Debug)]
pub(super) struct Record {
    calls: Log,
    prints: Log,
    jobs: AtomicU32,
    moments: AtomicU32,
}

impl Record {
    pub(super) fn new() -> io::Result<Self> {
        let jobs = AtomicU32::new(0);
        let moments = AtomicU32::new(0);
        Ok(Self { calls: Log::new()?, prints: Log::new()?, jobs, moments })
    }

    /// Called by a thread that begins a job.
    pub(super) fn begin_job(&self) {
        TASK.set(Some(JOB | self.jobs.fetch_add(1, Ordering::Relaxed)));
    }

    /// Called when no task can run, before one does.
    pub(super) fn begin_moment(&self) {
        self.moments.fetch_add(1, Ordering::AcqRel);
    }

    fn now(&self, thread: u32) -> Order {
        let task = TASK.get().unwrap_or(thread);
        Order { task, moment: self.moments.load(Ordering::Acquire) }
    }

    pub(super) fn add_call(&self, rva: u32, irql: u8, argument: u64, thread: u32) {
        self.calls.push(u64::from(irql) << 32 | u64::from(rva), argument, self.now(thread));
    }

    pub(super) fn add_print(&self, start: u64, length: u64, thread: u32) {
        self.prints.push(start, length, self.now(thread));
    }

    pub(super) fn calls(&self) -> Vec<RecordedCall> {
        let call = |(what, argument, order): (u64, u64, Order)| RecordedCall {
            rva: what as u32,
            irql: (what >> 32) as u8,
            argument,
            order,
        };
        self.calls.entries().map(call).collect()
    }

    pub(super) fn prints(&self) -> Vec<RecordedPrint> {
        self.prints.entries().map(|(start, length, order)| RecordedPrint { start, length, order }).collect()
    }
}

/// The number of entries, then three words for each.
#[derive(Debug)]
struct Log {
    words: Words,
}

impl Log {
    fn new() -> io::Result<Self> {
        Words::new(1 + 3 * MAX_ENTRIES, true).map(|words| Self { words })
    }

    /// Adds an entry, unless there is no room. Signal handlers may call this.
    fn push(&self, what: u64, about: u64, order: Order) {
        let [count, entries @ ..] = self.words.get() else { return };
        let number = count.fetch_add(1, Ordering::AcqRel) as usize;
        if let Some([first, second, third]) = chunks(entries).get(number) {
            second.store(about, Ordering::Relaxed);
            third.store(u64::from(order.task) << 32 | u64::from(order.moment), Ordering::Relaxed);
            first.store(RECORDED | what, Ordering::Release);
        }
    }

    /// Returns the entries up to the first one that is not complete.
    fn entries(&self) -> impl Iterator<Item = (u64, u64, Order)> {
        let complete = |[first, second, third]: &[AtomicU64; 3]| {
            let what = first.load(Ordering::Acquire);
            let order = third.load(Ordering::Relaxed);
            let order = Order { task: (order >> 32) as u32, moment: order as u32 };
            (what & RECORDED != 0).then(|| (what & !RECORDED, second.load(Ordering::Relaxed), order))
        };
        chunks(self.words.get().get(1..).unwrap_or_default()).iter().map_while(complete)
    }
}

/// Returns the words of each entry. A region consists of pages, so there may be more words than needed.
fn chunks(words: &[AtomicU64]) -> &[[AtomicU64; 3]] {
    let (chunks, _) = words.as_chunks::<3>();
    chunks.get(..MAX_ENTRIES).unwrap_or(chunks)
}
