//! Who ran when: from context switches to intervals.
//!
//! From the first event to the last one, each processor runs one thread at any time. So the run times of all threads, with those
//! of the idle threads and those that the trace does not tell, add up to the number of processors times that duration. The first
//! switch of a processor tells who ran before it, and the last one who ran after it.

use std::collections::BTreeMap;
use std::collections::HashMap;

/// `KTHREAD_STATE`: the thread could run, but another one was chosen.
const READY_STATES: [u64; 3] = [1, 3, 7];
/// `KTHREAD_STATE`: the thread ends with this switch.
const TERMINATED: u64 = 4;
/// The idle threads. They never wait.
const IDLE: u32 = 0;

/// What a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Did {
    Ran,
    WasReady,
    Waited,
}

/// A part of a thread's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    /// The thread, or `None` if the trace does not tell who ran.
    pub(super) thread: Option<u32>,
    pub(super) cpu: u16,
    pub(super) did: Did,
    pub(super) from: i64,
    pub(super) to: i64,
}

/// A processor. `thread` is `None` until an event tells who runs.
#[derive(Clone, Copy, Debug)]
struct Processor {
    thread: Option<u32>,
    since: i64,
    has_switched: bool,
}

/// A thread that does not run.
#[derive(Clone, Copy, Debug)]
struct Stopped {
    since: i64,
    cpu: u16,
    is_waiting: bool,
    ready: Option<i64>,
}

impl Stopped {
    /// The times until the thread runs again.
    fn until(self, thread: u32, now: i64) -> impl Iterator<Item = Interval> {
        let interval = move |did, from, to| Interval { thread: Some(thread), cpu: self.cpu, did, from, to };
        let ready = if self.is_waiting { self.ready } else { Some(self.since) };
        let waited = self.is_waiting.then(|| interval(Did::Waited, self.since, ready.unwrap_or(now)));
        waited.into_iter().chain(ready.map(|ready| interval(Did::WasReady, ready, now)))
    }
}

/// A context switch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Switch {
    pub(super) new: u32,
    pub(super) old: u32,
    /// The `KTHREAD_STATE` of the old thread.
    pub(super) old_state: u64,
}

/// The first and the last event of a trace.
#[derive(Clone, Copy, Debug)]
struct Period {
    first: i64,
    last: i64,
    has_switches: bool,
}

/// The processors and the threads of a machine, while its events are read in the order of time.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    /// By the number of the trace; `None` for traces without an event so far.
    periods: Vec<Option<Period>>,
    processors: BTreeMap<u16, Processor>,
    stopped: HashMap<u32, Stopped>,
    /// When each processor had its first event, in a circular file.
    first_events: BTreeMap<u16, i64>,
    /// Whether the oldest events were overwritten, for each processor on its own.
    is_circular: bool,
}

impl Timeline {
    pub(super) fn new(is_circular: bool) -> Self {
        Self { is_circular, ..Self::default() }
    }

    /// Whether the traces have context switches.
    pub(super) fn has_switches(&self) -> bool {
        self.periods.iter().flatten().any(|period| period.has_switches)
    }

    /// Sees any event that happened while its trace was recorded.
    pub(super) fn see(&mut self, trace: usize, cpu: u16, now: i64) {
        if trace >= self.periods.len() {
            self.periods.resize(trace + 1, None);
        }
        if let Some(period) = self.periods.get_mut(trace) {
            period.get_or_insert(Period { first: now, last: now, has_switches: false }).last = now;
        }
        if self.is_circular {
            self.first_events.entry(cpu).or_insert(now);
        }
    }

    /// A sample tells who runs on a processor that has not switched yet.
    pub(super) fn sample(&mut self, trace: usize, cpu: u16, thread: u32) {
        let processor = self.processor(trace, cpu);
        if !processor.has_switched {
            processor.thread = Some(thread);
        }
    }

    /// A thread that waits could run from now on.
    pub(super) fn ready(&mut self, thread: u32, now: i64) {
        if let Some(stopped) = self.stopped.get_mut(&thread) {
            stopped.ready = stopped.ready.or(Some(now));
        }
    }

    /// A thread stops running on a processor and another one runs.
    pub(super) fn switch(&mut self, trace: usize, cpu: u16, now: i64, switch: Switch, out: &mut impl FnMut(Interval)) {
        let Switch { new, old, old_state } = switch;
        if let Some(Some(period)) = self.periods.get_mut(trace) {
            period.has_switches = true;
        }
        let processor = self.processor(trace, cpu);
        // After lost events, the thread that stops is not the one that began.
        let is_told = !processor.has_switched || processor.thread == Some(old);
        let ran = Interval { thread: is_told.then_some(old), cpu, did: Did::Ran, from: processor.since, to: now };
        *processor = Processor { thread: Some(new), since: now, has_switched: true };
        out(ran);
        if old != IDLE && old_state != TERMINATED {
            let is_waiting = !READY_STATES.contains(&old_state);
            self.stopped.insert(old, Stopped { since: now, cpu, is_waiting, ready: None });
        }
        if let Some(stopped) = self.stopped.remove(&new) {
            stopped.until(new, now).for_each(out);
        }
    }

    /// Ends what lasts until the end of the traces, on this many processors.
    pub(super) fn finish(&mut self, processors: u16, out: &mut impl FnMut(Interval)) {
        let switched = || self.periods.iter().flatten().filter(|period| period.has_switches);
        let (Some(first), Some(end)) =
            (switched().map(|period| period.first).min(), switched().map(|period| period.last).max())
        else {
            return;
        };
        for cpu in 0..processors {
            self.processors.entry(cpu).or_insert(Processor { thread: None, since: first, has_switched: false });
        }
        for (cpu, processor) in &self.processors {
            let ran = |thread, from, to| Interval { thread, cpu: *cpu, did: Did::Ran, from, to };
            out(ran(processor.thread, processor.since, end));
            let start = self.start(*cpu, first);
            if start > first {
                out(ran(None, first, start));
            }
        }
        for (thread, stopped) in self.stopped.drain() {
            stopped.until(thread, end).for_each(&mut *out);
        }
    }

    fn processor(&mut self, trace: usize, cpu: u16) -> &mut Processor {
        let first = self.periods.get(trace).copied().flatten().map_or(0, |period| period.first);
        let since = self.start(cpu, first);
        self.processors.entry(cpu).or_insert(Processor { thread: None, since, has_switched: false })
    }

    /// When the events of a processor begin.
    fn start(&self, cpu: u16, first: i64) -> i64 {
        let own = self.first_events.get(&cpu).copied();
        own.map_or(first, |own| own.max(first))
    }
}

#[cfg(test)]
mod tests {
    use super::{Did, Interval, Switch, Timeline};

    const READY: u64 = 1;
    const WAITING: u64 = 5;

    /// The sum of the intervals in which a thread did this.
    fn time(intervals: &[Interval], thread: Option<u32>, did: Did) -> i64 {
        let of = intervals.iter().filter(|interval| interval.thread == thread && interval.did == did);
        of.map(|interval| interval.to - interval.from).sum()
    }

    fn run(
        timeline: &mut Timeline,
        switches: &[(u16, i64, u32, u32, u64)],
        end: i64,
        processors: u16,
    ) -> Vec<Interval> {
        let mut found = Vec::new();
        for (cpu, now, new, old, old_state) in switches.iter().copied() {
            timeline.see(0, cpu, now);
            timeline.switch(0, cpu, now, Switch { new, old, old_state }, &mut |interval| found.push(interval));
        }
        timeline.see(0, 0, end);
        timeline.finish(processors, &mut |interval| found.push(interval));
        let ran: i64 = found.iter().filter(|one| one.did == Did::Ran).map(|one| one.to - one.from).sum();
        let first = switches.first().map_or(end, |(_, first, ..)| *first);
        assert_eq!(ran, (end - first) * i64::from(processors), "{found:?}");
        found
    }

    #[test]
    fn each_processor_runs_one_thread_at_any_time() {
        let switches =
            [(0, 100, 8, 0, READY), (1, 130, 12, 16, READY), (0, 150, 0, 8, WAITING), (1, 160, 16, 12, READY)];
        let found = run(&mut Timeline::new(false), &switches, 200, 2);
        let ran = [8, 0, 16, 12].map(|thread| time(&found, Some(thread), Did::Ran));
        assert_eq!(ran, [50, 50, 30 + 40, 30], "16 ran before the first switch of its processor");
        assert_eq!(time(&found, Some(8), Did::Waited), 50, "until the end");
        assert_eq!(time(&found, Some(16), Did::WasReady), 30);
        assert_eq!(time(&found, Some(12), Did::WasReady), 40);
        assert_eq!(time(&found, None, Did::Ran), 0);
    }

    #[test]
    fn a_thread_that_never_switches_out_runs_until_the_end() {
        let found = run(&mut Timeline::new(false), &[(0, 100, 8, 0, READY)], 1_100, 1);
        assert_eq!(time(&found, Some(8), Did::Ran), 1_000);
    }

    #[test]
    fn a_processor_without_switches_runs_the_thread_of_its_samples() {
        let mut timeline = Timeline::new(false);
        timeline.see(0, 0, 100);
        timeline.sample(0, 1, 20);
        let found = run(&mut timeline, &[(0, 100, 8, 0, READY)], 200, 3);
        assert_eq!(time(&found, Some(20), Did::Ran), 100);
        assert_eq!(time(&found, None, Did::Ran), 100, "nothing tells what the third one runs");
    }

    #[test]
    fn lost_switches_leave_a_time_that_the_trace_does_not_tell() {
        let switches = [(0, 100, 8, 0, READY), (0, 150, 0, 12, WAITING)];
        let found = run(&mut Timeline::new(false), &switches, 200, 1);
        assert_eq!(time(&found, None, Did::Ran), 50);
        assert_eq!([8, 12, 0].map(|thread| time(&found, Some(thread), Did::Ran)), [0, 0, 50]);
    }

    #[test]
    fn overwritten_events_of_a_processor_tell_nothing() {
        let switches = [(0, 100, 8, 0, READY), (1, 160, 12, 16, READY)];
        let found = run(&mut Timeline::new(true), &switches, 200, 2);
        assert_eq!(time(&found, None, Did::Ran), 60);
        assert_eq!(time(&found, Some(16), Did::Ran), 0);
    }

    #[test]
    fn a_thread_that_ended_waits_no_more() {
        let found = run(&mut Timeline::new(false), &[(0, 100, 8, 0, READY), (0, 150, 0, 8, 4)], 200, 1);
        assert_eq!(time(&found, Some(8), Did::Waited), 0);
    }
}
