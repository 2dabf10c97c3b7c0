//! Processor time: samples, and the times between context switches.

use std::collections::HashMap;

use etw_etl::{Decoder, EventRef};
use etw_types::tracelogging::Value;

use super::tally::{Key, Number, Tally};
use super::{Analyzer, Moment, Per, function, hook};

const SAMPLE: u16 = 0x0F2E;
const SWITCH: u16 = 0x0524;
const READY: u16 = 0x0532;
/// `KTHREAD_STATE`: the thread could run, but another one was chosen.
const STATES_READY: [u64; 3] = [1, 3, 7];

/// Who ran, at which level of detail.
#[derive(Debug)]
pub(super) struct Cpu {
    per: Per,
    /// The thread that runs on each processor, and since when.
    running: HashMap<u16, (u32, i64)>,
    /// Threads that do not run: since when, whether they wait, and since when they are ready.
    stopped: HashMap<u32, Stopped>,
    /// The row of each thread.
    rows: HashMap<u32, Vec<Key>>,
}

#[derive(Clone, Copy, Debug)]
struct Stopped {
    since: i64,
    is_waiting: bool,
    ready: Option<i64>,
}

impl Cpu {
    pub(super) fn new(per: Per) -> Self {
        Self { per, running: HashMap::new(), stopped: HashMap::new(), rows: HashMap::new() }
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

    fn key(&self, event: &EventRef<'_>, decoder: &mut Decoder, address: Option<u64>) -> Vec<Key> {
        let (pid, stamp) = (event.header.process_id, event.header.stamp);
        let process = pid.and_then(|pid| decoder.process(pid, stamp)).map(|process| process.name.clone());
        let mut key: Vec<Key> = vec![process.into(), pid.into()];
        match self.per {
            Per::Process => {}
            Per::Thread => {
                let tid = event.header.thread_id;
                key.extend([tid.into(), tid.and_then(|tid| decoder.thread(tid, stamp)).into()]);
            }
            Per::Module | Per::Function => {
                let address = address.unwrap_or_default();
                let name = decoder.frame(pid.unwrap_or_default(), stamp, address).into_iter().next();
                let name = name.unwrap_or_else(|| format!("{address:#x}"));
                key.push(if self.per == Per::Module {
                    module(&name).to_owned().into()
                } else {
                    function(&name).to_owned().into()
                });
            }
        }
        key
    }

    /// A thread stops running on a processor and another one runs.
    fn switch(&mut self, event: &EventRef<'_>, now: i64, decoder: &mut Decoder, tally: &mut Tally) {
        let (mut new, mut old, mut state) = (0, 0, 0);
        decoder.visit(event, &mut |field, value| match (&*field.name, value) {
            ("NewThreadId", Value::Unsigned(number)) => new = u32::try_from(number).unwrap_or_default(),
            ("OldThreadId", Value::Unsigned(number)) => old = u32::try_from(number).unwrap_or_default(),
            ("OldThreadState", Value::Signed(number)) => state = number.unsigned_abs(),
            _ => {}
        });
        let ran = self.running.insert(event.header.cpu, (new, now));
        if let Some((thread, since)) = ran.filter(|(thread, _)| *thread == old)
            && let Some(key) = self.rows.get(&thread)
        {
            tally.add(key.clone(), &[0, length(since, now), 0, 0, 0]);
        }
        let is_waiting = !STATES_READY.contains(&state);
        self.stopped.insert(old, Stopped { since: now, is_waiting, ready: None });
        let key = self.key(event, decoder, None);
        self.rows.insert(new, key.clone());
        let (ready, waited) = match self.stopped.remove(&new) {
            Some(Stopped { since, is_waiting: true, ready: Some(ready) }) => (length(ready, now), length(since, ready)),
            Some(Stopped { since, is_waiting: true, ready: None }) => (0, length(since, now)),
            Some(Stopped { since, .. }) => (length(since, now), 0),
            None => (0, 0),
        };
        // The idle threads have the id 0; they never wait.
        let (ready, waited) = if new == 0 { (0, 0) } else { (ready, waited) };
        tally.add(key, &[0, 0, ready, waited, 1]);
    }
}

impl Analyzer for Cpu {
    fn event(&mut self, event: &EventRef<'_>, now: Moment<'_>, decoder: &mut Decoder, tally: &mut Tally) {
        let only_samples = matches!(self.per, Per::Module | Per::Function);
        match hook(event) {
            Some(SAMPLE) => {
                let (mut address, mut count) = (None, 1);
                decoder.visit(event, &mut |field, value| match (&*field.name, value) {
                    ("InstructionPointer", Value::Hex(number)) => address = Some(number),
                    ("Count", Value::Unsigned(number)) => count = number,
                    _ => {}
                });
                let key = self.key(event, decoder, address);
                tally.add(key, &[count, 0, 0, 0, 0]);
            }
            Some(SWITCH) if !only_samples => self.switch(event, now.time, decoder, tally),
            Some(READY) if !only_samples => {
                let mut thread = None;
                decoder.visit(event, &mut |field, value| {
                    if let ("TThreadId", Value::Unsigned(number)) = (&*field.name, value) {
                        thread = u32::try_from(number).ok();
                    }
                });
                if let Some(stopped) = thread.and_then(|thread| self.stopped.get_mut(&thread)) {
                    stopped.ready = stopped.ready.or(Some(now.time));
                }
            }
            _ => {}
        }
    }
}

fn length(from: i64, to: i64) -> u64 {
    u64::try_from(to.saturating_sub(from)).unwrap_or_default()
}

/// The module of a frame: `module!function+0x1`, `module+0x1` or an address.
fn module(frame: &str) -> &str {
    let end = frame.find(['!', '+']).unwrap_or(frame.len());
    let name = frame.get(..end).unwrap_or(frame);
    if name.starts_with("0x") { "(unknown)" } else { name }
}
