//! Runs sequences of clients' steps, as the fuzzer sends them: without a message for each step.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};

use nt_machine::{Answer, Coverage, DeviceId, FileId, IoRequest, Machine};

use super::filtered::Filtered;
use super::shared::lock;
use crate::steps::Step;
use crate::wire::{Batch, Novel};

/// The maximum number of results of requests that count as novelties. A driver that returns something else for each
/// request would otherwise make each one a novelty.
const MAX_RESULTS: usize = 512;

/// What the driver has done so far in this process.
#[derive(Debug, Default)]
pub(super) struct Novelty {
    results: BTreeSet<u32>,
}

impl Novelty {
    /// Takes the result of a request. Returns a number for it if it is new: the kind and the status, for a success also
    /// the control code.
    fn result(&mut self, request: &IoRequest, answer: &Answer) -> Option<u32> {
        let code = if answer.status.is_error() { 0 } else { request.code };
        self.add([u32::from(request.kind.as_int()), answer.status.as_int(), code])
    }

    /// Compares what the driver held before a request with what it holds after it. Returns a number for the kinds that have grown, if
    /// that is new for this request.
    fn holds(&mut self, request: &IoRequest, before: [usize; 3], after: [usize; 3]) -> Option<u32> {
        let kinds = before.iter().zip(after).fold(0, |kinds, (before, after)| kinds << 1 | u32::from(after > *before));
        (kinds != 0).then(|| self.add([u32::from(request.kind.as_int()) << 8 | kinds, 0, request.code])).flatten()
    }

    fn add(&mut self, words: [u32; 3]) -> Option<u32> {
        // FNV-1a over words; the highest bit separates results from blocks of code.
        let hash = words.into_iter().fold(0x811C_9DC5_u32, |hash, word| (hash ^ word).wrapping_mul(0x0100_0193));
        let result = hash | 1 << 31;
        (self.results.len() < MAX_RESULTS && self.results.insert(result)).then_some(result)
    }
}

/// How far a batch has come, for the thread that replies to the parent.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The number of steps so far, of all batches.
    steps: AtomicU64,
    batch: Mutex<Batch>,
}

impl Progress {
    /// Returns the number of steps so far.
    pub(super) fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// Returns the result so far. Does not wait: the driver may have stopped the thread that runs the batch.
    pub(super) fn batch(&self) -> Batch {
        self.batch.try_lock().map(|batch| batch.clone()).unwrap_or_default()
    }

    fn update<R>(&self, update: impl FnOnce(&mut Batch) -> R) -> R {
        update(&mut lock(&self.batch))
    }

    fn begin(&self, steps: &[Step]) {
        self.steps.fetch_add(1, Ordering::Relaxed);
        let requests = steps.iter().filter(|step| step.request().is_some() || step.is_filtered()).count();
        self.update(|batch| {
            batch.begun += steps.len() as u32;
            batch.requests += requests as u64;
        });
    }
}

/// Runs sequences, up to the first step that leads to a finding.
pub(super) fn run(
    machine: Machine,
    device: u64,
    sequences: &[Vec<Step>],
    novelty: &mut Novelty,
    progress: &Progress,
) -> Batch {
    progress.update(|batch| *batch = Batch { device, ..Batch::default() });
    let findings = machine.finding_count();
    let is_clean = || machine.finding_count() == findings;
    // What ran before the first sequence is not its merit.
    new_blocks(machine);
    for (index, steps) in (0..).zip(sequences) {
        let mut clients = Clients::new(machine, progress.update(|batch| batch.device), novelty);
        let mut rest = steps.as_slice();
        while let Some(step) = rest.first()
            && is_clean()
        {
            let (these, others) = rest.split_at(length(rest));
            progress.begin(these);
            clients.run(these);
            // A file that is opened is for the requests that follow. What leads to a mistake is not an input for others.
            if !matches!(step, Step::Open { .. } | Step::Handle { .. }) && is_clean() {
                clients.report(index, progress);
            }
            rest = others;
        }
        let device = clients.end();
        if is_clean() {
            clients.report(index, progress);
        }
        progress.update(|batch| {
            batch.device = device;
            if rest.is_empty() {
                (batch.done, batch.begun) = (index + 1, 0);
            }
        });
        if !clients.is_usable() || !is_clean() {
            break;
        }
    }
    progress.update(|batch| batch.clone())
}

/// Returns the blocks of code that have run for the first time since the last call.
fn new_blocks(machine: Machine) -> Vec<u32> {
    machine.config().coverage.as_ref().map(Coverage::take_new).unwrap_or_default()
}

/// Returns how many of these steps are one: requests that are sent at the same time belong together.
fn length(steps: &[Step]) -> usize {
    let Some(Step::Together { count, .. }) = steps.first() else { return 1 };
    let mut requests = 0;
    let belongs = |step: &&Step| match step {
        Step::Handle { .. } => requests < *count,
        Step::Request { .. } => {
            requests += 1;
            requests <= *count
        }
        _ => false,
    };
    1 + steps.iter().skip(1).take_while(belongs).count()
}

/// The clients of a sequence.
struct Clients<'a> {
    machine: Machine,
    device: Option<DeviceId>,
    /// The files that were opened; `None` for those that could not be opened or were closed.
    files: Vec<Option<FileId>>,
    /// The file in use, counted from 1; 0 before the first one.
    current: usize,
    /// The requests that were begun; `None` for those that have ended.
    begun: Vec<Option<(u64, IoRequest)>>,
    is_asleep: bool,
    /// Whether the driver has a device. One that filters may have none.
    has_device: bool,
    filtered: Filtered,
    novelty: &'a mut Novelty,
    novel: Vec<u32>,
    /// Whether one of these is that the driver holds more than before.
    holds: bool,
    /// The number of requests to devices of other drivers up to the last report.
    asked: u64,
}

impl<'a> Clients<'a> {
    fn new(machine: Machine, device: u64, novelty: &'a mut Novelty) -> Self {
        let has_device = device != 0;
        let device = has_device.then(|| DeviceId::from_int(device));
        let files = Vec::new();
        let begun = Vec::new();
        let novel = Vec::new();
        let asked = machine.requests_below();
        let filtered = Filtered::default();
        Self {
            machine,
            device,
            files,
            current: 0,
            begun,
            is_asleep: false,
            has_device,
            filtered,
            novelty,
            novel,
            holds: false,
            asked,
        }
    }

    /// Runs a step.
    fn run(&mut self, steps: &[Step]) {
        let machine = self.machine;
        let request = if let [Step::Request { request }] = steps { Some((request, machine.held())) } else { None };
        match steps {
            [Step::Together { schedule, .. }, steps @ ..] => self.together(steps, *schedule),
            steps => steps.iter().for_each(|step| self.step(step)),
        }
        machine.settle();
        if let Some((request, before)) = request {
            let holds = self.novelty.holds(request, before, machine.held());
            self.holds |= holds.is_some();
            self.novel.extend(holds);
        }
    }

    /// Adds what has been new since the last report.
    fn report(&mut self, sequence: u32, progress: &Progress) {
        let blocks = new_blocks(self.machine);
        let results = std::mem::take(&mut self.novel);
        let holds = std::mem::take(&mut self.holds);
        let asked = self.machine.requests_below();
        let asked = (asked - std::mem::replace(&mut self.asked, asked)) as u32;
        if !blocks.is_empty() || !results.is_empty() {
            progress.update(|batch| {
                batch.novel.push(Novel { sequence, steps: batch.begun, blocks, results, asked, holds });
            });
        }
    }

    fn step(&mut self, step: &Step) {
        let machine = self.machine;
        match step {
            Step::Open { name: Some(name) } => self.opened(machine.open_name(name).ok()),
            Step::Open { name: None } => {
                let file = self.device.and_then(|device| machine.open(device).ok());
                self.opened(file);
            }
            Step::Handle { number } => self.current = *number as usize,
            Step::Close {} => {
                if let Some(file) = self.files.get_mut(self.current.wrapping_sub(1)).and_then(Option::take) {
                    machine.close(file);
                }
            }
            Step::Request { request } => {
                if let Some(number) = self.begin(request) {
                    self.finish(number, request);
                }
            }
            Step::Begin { request } => {
                let begun = self.begin(request).map(|number| (number, request.clone()));
                self.begun.push(begun);
            }
            Step::Cancel { number } => {
                if let Some((number, request)) =
                    self.begun.get_mut((*number as usize).wrapping_sub(1)).and_then(Option::take)
                {
                    machine.cancel(number);
                    self.finish(number, &request);
                }
            }
            Step::FailNext { call } => machine.fail_next(*call),
            Step::Change { offset, value } => machine.change_next(*offset, *value),
            Step::AnswerNext { answer } => machine.answer_next(answer.clone()),
            Step::Memory { address, data } => {
                let _ = machine.write_client_memory(*address, data);
            }
            Step::Wait { time } => machine.advance(*time),
            Step::Interrupt { number } => {
                let _ = self.device.map(|device| machine.interrupt(device, *number));
            }
            Step::Sleep {} => self.set_power(false),
            Step::Wake {} => self.set_power(true),
            Step::Rebalance {} => {
                let _ = self.device.map(|device| machine.rebalance(device));
            }
            Step::Remove {} => self.remove(false),
            Step::SurpriseRemove {} => self.remove(true),
            Step::AddDevice {} => self.add(),
            Step::Together { .. } => {}
            Step::File { .. }
            | Step::Connect { .. }
            | Step::Transfer { .. }
            | Step::Disconnect {}
            | Step::Packet { .. } => {
                let result = self.filtered.perform(machine, step);
                self.novel.extend(self.novelty.add(result));
            }
        }
    }

    fn opened(&mut self, file: Option<FileId>) {
        self.files.push(file);
        self.current = self.files.len();
    }

    fn file(&self) -> Option<FileId> {
        self.files.get(self.current.wrapping_sub(1)).copied().flatten()
    }

    /// Begins a request to the current file or, if none was opened, to the device. Returns its number.
    fn begin(&mut self, request: &IoRequest) -> Option<u64> {
        match (self.current, self.device) {
            (0, device) => device.map(|device| self.machine.begin(device, request)),
            _ => self.machine.begin_on(self.file()?, request),
        }
    }

    fn finish(&mut self, number: u64, request: &IoRequest) {
        if let Some(answer) = self.machine.finish(number) {
            self.novel.extend(self.novelty.result(request, &answer));
        }
    }

    /// Sends requests at the same time. Steps between them select a file.
    fn together(&mut self, steps: &[Step], schedule: u32) {
        let mut requests = Vec::new();
        for step in steps {
            match step {
                Step::Handle { number } => self.current = *number as usize,
                Step::Request { request } => {
                    requests.extend(self.file().map(|file| (file.as_int(), request.clone())));
                }
                _ => {}
            }
        }
        for (answer, (_, request)) in together(self.machine, &requests, schedule).iter().zip(&requests) {
            self.novel.extend(self.novelty.result(request, answer));
        }
    }

    fn set_power(&mut self, on: bool) {
        if self.device.is_some_and(|device| self.machine.set_power(device, on).is_ok()) {
            self.is_asleep = !on;
        }
    }

    fn remove(&mut self, surprise: bool) {
        if self.device.is_some_and(|device| self.machine.remove_device(device, surprise).is_ok()) {
            (self.device, self.is_asleep) = (None, false);
        }
    }

    fn add(&mut self) {
        if self.device.is_none() {
            self.device = self.machine.add_device().ok();
        }
    }

    /// Returns whether the next sequence finds what this one has found.
    const fn is_usable(&self) -> bool {
        !self.has_device || (self.device.is_some() && !self.is_asleep)
    }

    /// Undoes what the steps have left: requests are canceled, files closed, and the device works again. Returns the
    /// device, or 0 if it could not be added.
    fn end(&mut self) -> u64 {
        self.machine.fail_next(0);
        self.machine.answer_next(None);
        for (number, request) in std::mem::take(&mut self.begun).into_iter().flatten() {
            self.machine.cancel(number);
            self.finish(number, &request);
        }
        for file in std::mem::take(&mut self.files).into_iter().flatten() {
            self.machine.close(file);
        }
        self.filtered.end(self.machine);
        if self.is_asleep {
            self.set_power(true);
        }
        self.machine.settle();
        if self.has_device {
            self.add();
        }
        self.device.filter(|_| !self.is_asleep).map_or(0, DeviceId::as_int)
    }
}

/// Sends requests through these files at the same time, each on a thread of its own. With a schedule other than 0, the threads
/// take turns. Returns the results.
pub(super) fn together(machine: Machine, requests: &[(u64, IoRequest)], schedule: u32) -> Vec<Answer> {
    let count = requests.len();
    let answers = Arc::new(Mutex::new(vec![Answer::default(); count]));
    let requests = requests.to_vec();
    let results = Arc::clone(&answers);
    let send = move |index: usize, (file, request): &(u64, IoRequest)| {
        let number = machine.begin_on(FileId::from_int(*file), request);
        let answer = number.and_then(|number| machine.finish(number)).unwrap_or_default();
        if let Some(place) = lock(&results).get_mut(index) {
            *place = answer;
        }
    };
    let takes_turns = schedule != 0;
    if takes_turns {
        machine.take_turns(count, schedule.into());
    }
    let all = Barrier::new(count);
    machine.with_threads(count, move |index, can_call| {
        if !takes_turns {
            all.wait();
        }
        match requests.get(index).filter(|_| can_call) {
            Some(request) if takes_turns => machine.in_turn(index, || send(index, request)),
            Some(request) => send(index, request),
            None => machine.skip_turn(index),
        }
    });
    if takes_turns {
        machine.end_turns();
    }
    std::mem::take(&mut *lock(&answers))
}
