//! The loop: makes sequences, runs them in batches, keeps those that did something new, and makes findings of mistakes.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use fastrand::Rng;
use nt_machine::Rule;

use super::bug::{Bug, Limits, Progress, Watcher};
use super::corpus::Corpus;
use super::dictionary::Dictionary;
use super::input::{Environment, Input};
use super::minimise::minimise;
use super::mutate::{Mutator, follow_up, seeds};
use super::runner::{Key, Ran, Runner, essence};
use crate::Error;
use crate::api::Target;
use crate::report::{Finding, Place};
use crate::wire::{Batch, Step};

/// The number of sequences in a batch.
const BATCH: usize = 32;
/// The number of sequences of the first process. Each later process runs twice as many, up to the limit: leaks are found
/// when a process ends, and few sequences are quick to search for the one that leaks.
const FIRST_PROCESS: usize = 64;
const LONGEST_PROCESS: usize = 2048;

/// What all jobs share.
pub(super) struct Session<'a> {
    pub(super) target: Target,
    pub(super) dictionary: Dictionary,
    pub(super) limits: Limits,
    pub(super) started: Instant,
    pub(super) state: Mutex<State<'a>>,
}

/// What the jobs have found so far.
pub(super) struct State<'a> {
    pub(super) corpus: Corpus,
    /// Sequences that are tried first.
    first: VecDeque<Vec<Step>>,
    /// Sequences that follow from each input of the corpus. They are tried in turn.
    following: VecDeque<VecDeque<Vec<Step>>>,
    /// The results of requests so far.
    results: BTreeSet<u32>,
    /// The mistakes that are known or that a job is making smaller.
    known: BTreeSet<Key>,
    pub(super) bugs: Vec<Bug>,
    pub(super) progress: Progress,
    watcher: &'a mut (dyn Watcher + Send),
    is_over: bool,
}

impl<'a> State<'a> {
    pub(super) fn new(dictionary: &Dictionary, inputs: Vec<Input>, watcher: &'a mut (dyn Watcher + Send)) -> Self {
        // Inputs of earlier sessions come first: what they did is not new afterwards.
        let first = inputs.iter().map(|input| input.steps.clone()).chain(seeds(dictionary)).collect();
        let (mut corpus, results, known) = (Corpus::default(), BTreeSet::new(), BTreeSet::new());
        // Their environments are used again for later processes.
        inputs.into_iter().filter(|input| !input.environment.is_empty()).for_each(|input| corpus.add(Arc::new(input)));
        let (following, bugs, progress) = (VecDeque::new(), Vec::new(), Progress::default());
        Self { corpus, first, following, results, known, bugs, progress, watcher, is_over: false }
    }

    /// Returns the next sequence that is not made up.
    fn planned(&mut self) -> Option<Vec<Step>> {
        if let Some(first) = self.first.pop_front() {
            return Some(first);
        }
        let mut following = self.following.pop_front()?;
        let next = following.pop_front();
        if !following.is_empty() {
            self.following.push_back(following);
        }
        next
    }
}

impl<'a> Session<'a> {
    fn state(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a job until the limits are reached.
    ///
    /// # Errors
    ///
    /// Fails if no process can be started.
    pub(super) fn work(&self, mut rng: Rng) -> Result<(), Error> {
        let mut length = FIRST_PROCESS;
        while !self.is_over() {
            let environment = Arc::new(self.environment(&mut rng));
            let mut runner = Runner::start(&self.target, &environment)?;
            self.state().progress.processes += 1;
            let is_whole = self.run(&mut runner, length, &mut rng);
            if is_whole {
                runner.end();
            }
            self.judge(&runner);
            length = (length * 2).min(LONGEST_PROCESS);
        }
        Ok(())
    }

    fn environment(&self, rng: &mut Rng) -> Environment {
        let state = self.state();
        // The first processes show what the driver does without any.
        if state.progress.processes < 2 {
            return Environment::default();
        }
        self.mutator(rng).environment(&state.corpus)
    }

    fn mutator<'m>(&'m self, rng: &'m mut Rng) -> Mutator<'m> {
        Mutator { dictionary: &self.dictionary, rng, interrupts: !self.target.config.resources.is_empty() }
    }

    /// Runs batches in a process. Returns whether the process can still end in an orderly way.
    fn run(&self, runner: &mut Runner, length: usize, rng: &mut Rng) -> bool {
        while runner.is_ready() && runner.history.len() < length && !self.is_over() {
            let sequences = self.next(rng);
            let (before, findings) = (runner.history.len(), runner.records().len());
            let ran = runner.batch(sequences.clone());
            let count = runner.history.len() - before;
            // What comes after a sequence with a finding runs in the next batch.
            sequences.iter().skip(count).rev().for_each(|rest| self.state().first.push_front(rest.clone()));
            match ran {
                Ran::Ended(batch) => {
                    self.take(&batch, &sequences, &runner.environment);
                    // After a mistake, even a known one, the driver's state says nothing about its other code.
                    if runner.records().len() != findings {
                        self.judge(runner);
                        return false;
                    }
                }
                Ran::Stopped => {
                    self.count(count as u64, 0);
                    self.judge(runner);
                    return false;
                }
                Ran::Died(error) => {
                    self.count(count as u64, 0);
                    self.report_death(runner, &error);
                    return false;
                }
            }
        }
        runner.is_loaded
    }

    /// Returns the next sequences.
    fn next(&self, rng: &mut Rng) -> Vec<Vec<Step>> {
        let mut state = self.state();
        let mut sequences: Vec<Vec<Step>> = Vec::with_capacity(BATCH);
        // Most of a batch is for what follows from earlier ones, but neither starves.
        let planned = if state.corpus.is_empty() { BATCH } else { BATCH * 3 / 4 };
        for _ in 0..planned {
            sequences.extend(state.planned());
        }
        while sequences.len() < BATCH {
            sequences.push(self.mutator(rng).sequence(&mut state.corpus));
        }
        sequences
    }

    /// Takes the results of a batch.
    fn take(&self, batch: &Batch, sequences: &[Vec<Step>], environment: &Arc<Environment>) {
        self.count(batch.done.into(), batch.requests);
        for (index, (blocks, results)) in &batch.novel {
            let mut state = self.state();
            let state = &mut *state;
            let results = results.iter().filter(|result| state.results.insert(**result)).count();
            let Some(steps) = sequences.get(*index as usize).filter(|_| *blocks != 0 || results != 0) else { continue };
            let input = Arc::new(Input { environment: (**environment).clone(), steps: steps.clone() });
            state.following.push_back(follow_up(steps, &self.dictionary).into());
            state.watcher.input(&input);
            state.corpus.add(input);
            state.progress.corpus = state.corpus.len();
        }
    }

    fn count(&self, executions: u64, requests: u64) {
        let mut state = self.state();
        state.progress.executions += executions;
        state.progress.requests += requests;
        state.progress.elapsed = self.started.elapsed();
        let progress = state.progress;
        state.is_over |= !state.watcher.progress(&progress);
    }

    fn is_over(&self) -> bool {
        let state = self.state();
        let Limits { time, executions } = self.limits;
        state.is_over
            || time.is_some_and(|time| self.started.elapsed() >= time)
            || executions.is_some_and(|most| state.progress.executions >= most)
    }

    /// Makes findings of the mistakes of a process that are not known.
    fn judge(&self, runner: &Runner) {
        for record in runner.records() {
            let key = Key::new(&record);
            if !self.state().known.insert(key.clone()) {
                continue;
            }
            let finding = runner.host.name(&record);
            // Two addresses of one line are one mistake. What other images do is not this driver's mistake.
            let is_known = self.state().bugs.iter().any(|bug| is_same(&bug.finding, &finding));
            if !is_known && finding.image.is_none() {
                self.add_bug(runner, &key, finding);
            }
        }
    }

    fn report_death(&self, runner: &Runner, error: &Error) {
        if self.state().known.insert(Key::DIED) {
            let detail = format!("the process that runs the driver ended: {error}");
            let (stack, inner) = (Vec::new(), Vec::new());
            let finding = Finding {
                rule: Rule::Host,
                image: None,
                routine: None,
                place: None,
                inner,
                stack,
                irql: 0,
                detail,
                microsoft: Vec::new(),
            };
            self.add_bug(runner, &Key::DIED, finding);
        }
    }

    fn add_bug(&self, runner: &Runner, key: &Key, finding: Finding) {
        let found_after = self.started.elapsed();
        let executions = self.state().progress.executions;
        let (input, is_reproduced) = minimise(&self.target, &runner.environment, &runner.history, key);
        let bug = Bug { finding, input, is_reproduced, found_after, executions };
        let mut state = self.state();
        state.watcher.bug(&bug);
        state.bugs.push(bug);
        state.progress.bugs = state.bugs.len();
    }
}

/// Returns whether two findings are the same mistake: the same rule at the same lines of the place and its caller or,
/// without lines, the same addresses. A driver that does not return can be interrupted in any function that it calls.
fn is_same(first: &Finding, second: &Finding) -> bool {
    let line = |place: &Place| (place.file.clone(), place.line.map_or(place.rva, u64::from));
    let lines = |finding: &Finding| -> Vec<_> { finding.place.iter().chain(finding.stack.first()).map(line).collect() };
    if first.rule != second.rule || first.place.is_none() || second.place.is_none() {
        return false;
    }
    if first.rule == Rule::Hang {
        let calls = |finding: &Finding| -> Vec<String> {
            finding.place.iter().chain(&finding.stack).filter_map(|place| place.symbol.clone()).collect()
        };
        let runs_in = |finding: &Finding, other: &Finding| {
            calls(finding).first().is_some_and(|function| calls(other).contains(function))
        };
        return runs_in(first, second) || runs_in(second, first);
    }
    lines(first) == lines(second) && essence(first.rule, &first.detail) == essence(second.rule, &second.detail)
}
