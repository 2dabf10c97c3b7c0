//! Processor time: samples, and the times between context switches.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;

use etw_etl::{Decoded, Decoder, Event, EventRef, Identity, Names};
use etw_types::tracelogging::Value;

use super::report::Report;
use super::tally::{Key, Number, Tally};
use super::timeline::{Did, Interval, Switch, Timeline};
use super::{Analyzer, Decoders, Moment, Per, function, hook};
use crate::commands::purpose;

const SAMPLE: u16 = 0x0F2E;
const SWITCH: u16 = 0x0524;
const READY: u16 = 0x0532;

/// Who ran, at which level of detail.
#[derive(Debug)]
pub(super) struct Cpu {
    per: Per,
    processors: u16,
    timeline: Timeline,
    threads: HashMap<u32, Thread>,
    /// The first context switch, and what it is called. Intervals are selected as if they were events of this kind.
    template: Option<Template>,
    has_samples: bool,
    has_ready: bool,
}

/// An event that stands for intervals.
#[derive(Debug)]
struct Template {
    event: Event,
    identity: Identity,
}

/// A thread, and the row of its times.
#[derive(Clone, Debug)]
struct Thread {
    process: Option<u32>,
    key: Vec<Key>,
    names: Names,
}

impl Cpu {
    pub(super) fn new(per: Per, processors: u16, is_circular: bool) -> Self {
        Self {
            per,
            processors,
            timeline: Timeline::new(is_circular),
            threads: HashMap::new(),
            template: None,
            has_samples: false,
            has_ready: false,
        }
    }

    pub(super) fn tally(per: Per) -> Tally {
        const ALL: &[Number] = &[
            Number::Sum("samples"),
            Number::Time("run_ms"),
            Number::Time("ready_ms"),
            Number::Time("wait_ms"),
            Number::Sum("switches"),
        ];
        const SAMPLES: &[Number] = &[Number::Sum("samples")];
        match per {
            Per::Process => Tally::new(&["process", "pid"], ALL),
            Per::Thread => Tally::new(&["process", "pid", "tid", "thread"], ALL),
            Per::Module => Tally::new(&["process", "pid", "module"], SAMPLES),
            Per::Function => Tally::new(&["process", "pid", "function"], SAMPLES),
        }
    }

    const fn has_times(&self) -> bool {
        matches!(self.per, Per::Process | Per::Thread)
    }

    /// A thread at the time of an event.
    fn thread(&self, tid: Option<u32>, process: Option<u32>, stamp: u64, decoder: &Decoder) -> Thread {
        let names = Names {
            process: process.and_then(|pid| decoder.process(pid, stamp)),
            thread: tid.and_then(|tid| decoder.thread(tid, stamp)),
            ..Names::default()
        };
        let name = names.process.as_ref().map(|process| process.name.clone());
        let mut key: Vec<Key> = vec![name.into(), process.into()];
        if self.per == Per::Thread {
            key.extend([tid.into(), names.thread.clone().into()]);
        }
        Thread { process, key, names }
    }

    /// The row of a time of which the trace does not tell who ran.
    fn nobody(&self) -> Thread {
        let mut key = vec![Key::Text("(unknown)".into()), Key::Nothing];
        if self.per == Per::Thread {
            key.extend([Key::Nothing, Key::Nothing]);
        }
        Thread { process: None, key, names: Names::default() }
    }

    fn sample(&mut self, event: &EventRef<'_>, now: &Moment<'_>, decoders: &mut Decoders<'_>, report: &mut Report<'_>) {
        let decoder = &mut *decoders.layouts;
        self.has_samples = true;
        let header = &event.header;
        let mut address = None;
        let mut count = 1;
        decoder.visit(event, &mut |field, value| match (&*field.name, value) {
            ("InstructionPointer", Value::Hex(number)) => address = Some(number),
            ("Count", Value::Unsigned(number)) => count = number,
            _ => {}
        });
        if let Some(tid) = header.thread_id.filter(|_| self.has_times()) {
            self.timeline.sample(now.trace, header.cpu, tid);
            if !self.threads.contains_key(&tid) {
                let thread = self.thread(Some(tid), header.process_id, header.stamp, decoder);
                self.threads.insert(tid, thread);
            }
        }
        if !report.has_time(now.time) || !report.takes_event(event, decoders.named) {
            return;
        }
        let mut key = self.thread(header.thread_id, header.process_id, header.stamp, decoder).key;
        if !self.has_times() {
            let process = header.process_id.unwrap_or_default();
            let name = address.map(|address| {
                let name = decoder.frame(process, header.stamp, address).into_iter().next();
                name.unwrap_or_else(|| format!("{address:#x}"))
            });
            let part = if self.per == Per::Module { module } else { function };
            key.push(name.map_or(Key::Nothing, |name| part(&name).to_owned().into()));
        }
        report.tally.add(key, &[Some(count), None, None, None, None]);
    }

    /// A thread stops running on a processor and another one runs.
    fn switch(&mut self, event: &EventRef<'_>, now: &Moment<'_>, decoders: &mut Decoders<'_>, report: &mut Report<'_>) {
        let decoder = &mut *decoders.layouts;
        let mut new = None;
        let mut old = None;
        let mut old_state = None;
        decoder.visit(event, &mut |field, value| match (&*field.name, value) {
            ("NewThreadId", Value::Unsigned(number)) => new = u32::try_from(number).ok(),
            ("OldThreadId", Value::Unsigned(number)) => old = u32::try_from(number).ok(),
            ("OldThreadState", Value::Signed(number)) => old_state = Some(number.unsigned_abs()),
            _ => {}
        });
        // 0 would be the idle thread: an event without the threads tells nothing.
        let (Some(new), Some(old), Some(old_state)) = (new, old, old_state) else { return };
        let switch = Switch { new, old, old_state };
        let header = &event.header;
        if self.template.is_none() {
            self.template = Some(Template { event: event.to_event(), identity: decoders.named.identify(event) });
        }
        if !self.threads.contains_key(&switch.old) {
            let process = if switch.old == 0 { Some(0) } else { now.threads.process(switch.old, header.stamp) };
            let thread = self.thread(Some(switch.old), process, header.stamp, decoder);
            self.threads.insert(switch.old, thread);
        }
        // The old thread has its times before the new one, which can be another thread with the same id, replaces its row.
        let mut intervals = Vec::new();
        self.timeline.switch(now.trace, header.cpu, now.time, switch, &mut |interval| intervals.push(interval));
        let (before, after): (Vec<_>, Vec<_>) =
            intervals.into_iter().partition(|interval| interval.thread != Some(switch.new));
        for interval in &before {
            self.add(interval, report);
        }
        let process = if switch.new == 0 { Some(0) } else { header.process_id };
        let thread = self.thread(Some(switch.new), process, header.stamp, decoder);
        let key = thread.key.clone();
        self.threads.insert(switch.new, thread);
        for interval in &after {
            self.add(interval, report);
        }
        if report.has_time(now.time) && report.takes_event(event, decoders.named) {
            report.tally.add(key, &[None, None, None, None, Some(1)]);
        }
    }

    /// Adds the part of an interval that is selected.
    fn add(&self, interval: &Interval, report: &mut Report<'_>) {
        let Some(ticks) = report.clip(interval.from, interval.to) else { return };
        let nobody = self.nobody();
        let thread = interval.thread.and_then(|tid| self.threads.get(&tid)).unwrap_or(&nobody);
        let Some(template) = &self.template else { return };
        if !report.takes(&subject(&template.event, interval, thread), &template.decoded(thread)) {
            return;
        }
        let time = |did| (interval.did == did).then_some(ticks);
        let numbers = [None, time(Did::Ran), time(Did::WasReady), time(Did::Waited), None];
        report.tally.add(thread.key.clone(), &numbers);
    }
}

impl Template {
    /// What the conditions of a selection can name of an interval.
    fn decoded(&self, thread: &Thread) -> Decoded {
        let text = |name: &Option<Arc<str>>| name.as_deref().map(str::to_owned);
        Decoded {
            provider: text(&self.identity.provider),
            event: text(&self.identity.event),
            names: thread.names.clone(),
            ..Decoded::default()
        }
    }
}

impl Analyzer for Cpu {
    fn event(&mut self, event: &EventRef<'_>, now: &Moment<'_>, decoders: &mut Decoders<'_>, report: &mut Report<'_>) {
        if self.has_times() && !purpose::describes(event) {
            self.timeline.see(now.trace, event.header.cpu, now.time);
        }
        match hook(event) {
            Some(SAMPLE) => self.sample(event, now, decoders, report),
            Some(SWITCH) if self.has_times() => self.switch(event, now, decoders, report),
            Some(READY) if self.has_times() => {
                self.has_ready = true;
                let mut thread = None;
                decoders.layouts.visit(event, &mut |field, value| {
                    if let ("TThreadId", Value::Unsigned(number)) = (&*field.name, value) {
                        thread = u32::try_from(number).ok();
                    }
                });
                if let Some(thread) = thread {
                    self.timeline.ready(thread, now.time);
                }
            }
            _ => {}
        }
    }

    fn finish(&mut self, report: &mut Report<'_>) {
        let mut intervals = Vec::new();
        let mut timeline = mem::take(&mut self.timeline);
        timeline.finish(self.processors, &mut |interval| intervals.push(interval));
        for interval in &intervals {
            self.add(interval, report);
        }
        let has_switches = timeline.has_switches();
        report.tally.tell("samples", self.has_samples);
        for column in ["run_ms", "wait_ms", "switches"] {
            report.tally.tell(column, has_switches);
        }
        // Without these events, a thread that waits is not seen to become ready.
        report.tally.tell("ready_ms", has_switches && self.has_ready);
    }
}

/// An event that stands for an interval: of its thread, on its processor, at its end.
fn subject<'a>(template: &'a Event, interval: &Interval, thread: &Thread) -> EventRef<'a> {
    let mut subject = template.as_ref();
    subject.header.process_id = thread.process;
    subject.header.thread_id = interval.thread;
    subject.header.cpu = interval.cpu;
    subject.header.time.0 = interval.to;
    subject
}

/// The module of a frame: `module!function+0x1`, `module+0x1` or an address.
fn module(frame: &str) -> &str {
    let end = frame.find(['!', '+']).unwrap_or(frame.len());
    let name = frame.get(..end).unwrap_or(frame);
    if name.starts_with("0x") { "(unknown)" } else { name }
}
