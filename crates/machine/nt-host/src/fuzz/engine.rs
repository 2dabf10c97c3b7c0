//! The loop: makes sequences, runs them in batches, keeps those that did something new, and makes findings of mistakes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use fastrand::Rng;
use nt_machine::{Coverage, Rule};

use super::bug::{Bug, Limits, Progress, Watcher};
use super::corpus::Corpus;
use super::dictionary::Dictionary;
use super::filtered;
use super::follow::{FollowUp, follow_up, seeds};
use super::input::{Environment, Input};
use super::minimise::minimise;
use super::mutate::Mutator;
use super::plan::Plan;
use super::runner::{Key, Ran, Runner, callers, essence};
use crate::Error;
use crate::api::Target;
use crate::report::{Finding, Location};
use crate::steps::Step;
use crate::wire::{Batch, Novel};

/// The number of sequences in a batch.
const BATCH: usize = 128;
/// The number of sequences that follow from earlier ones for each that is made up.
const PLANNED: isize = 3;
/// The number of sequences of the first process, and of one that follows a mistake. Each later process runs twice as many,
/// up to the limit: leaks are found when a process ends, and few sequences are quick to search for the one that leaks.
const FIRST_PROCESS: usize = 128;
const LONGEST_PROCESS: usize = 8192;
/// The number of processes that make a mistake before it is tolerated, if most processes make it: then it is one of almost any
/// request, and nothing else would be tried.
const TOLERATED: u64 = 8;
/// The maximum number of constants of the code around new blocks that are tried first.
const MAX_NEAR: usize = 16;
/// The maximum number of known requests that a new one meets.
const MAX_RELATED: usize = 6;

/// What all jobs share.
pub(super) struct Session<'a> {
    pub(super) target: Target,
    pub(super) coverage: Coverage,
    pub(super) dictionary: Dictionary,
    pub(super) limits: Limits,
    pub(super) started: Instant,
    pub(super) state: Mutex<State<'a>>,
}

/// What the jobs have found so far.
pub(super) struct State<'a> {
    pub(super) corpus: Corpus,
    /// What is tried first.
    first: VecDeque<Plan>,
    /// What follows from each input of the corpus. The inputs take turns.
    following: VecDeque<FollowUp>,
    /// The inputs after which the driver held more than before.
    holding: VecDeque<Arc<Input>>,
    /// The results of requests so far.
    results: BTreeSet<u32>,
    /// Whether the driver sends requests to devices of other drivers.
    asks: bool,
    /// The number of sequences that were planned and not followed by any that are made up; below 0 if more were made up.
    owed: isize,
    /// The mistakes that are known or that a job is making smaller, and the number of processes that made them.
    mistakes: BTreeMap<Key, u64>,
    pub(super) bugs: Vec<Bug>,
    pub(super) progress: Progress,
    watcher: &'a mut (dyn Watcher + Send),
    is_over: bool,
}

impl<'a> State<'a> {
    pub(super) fn new(dictionary: &Dictionary, inputs: Vec<Input>, watcher: &'a mut (dyn Watcher + Send)) -> Self {
        // Inputs of earlier sessions come first: what they did is not new afterwards.
        let seeds = filtered::seeds(dictionary).into_iter().chain(seeds(dictionary));
        let first = inputs.iter().map(|input| Plan::new(input.steps.clone())).chain(seeds).collect();
        let mut corpus = Corpus::default();
        let results = BTreeSet::new();
        let mistakes = BTreeMap::new();
        // Their environments are used again for later processes.
        inputs.into_iter().filter(|input| !input.environment.is_empty()).for_each(|input| corpus.add(Arc::new(input)));
        let following = VecDeque::new();
        let holding = VecDeque::new();
        let bugs = Vec::new();
        let progress = Progress::default();
        Self {
            corpus,
            first,
            following,
            holding,
            results,
            asks: false,
            owed: 0,
            mistakes,
            bugs,
            progress,
            watcher,
            is_over: false,
        }
    }

    /// Returns the next plan that is not made up.
    fn planned(&mut self) -> Option<Plan> {
        if let Some(first) = self.first.pop_front() {
            return Some(first);
        }
        while let Some(mut following) = self.following.pop_front() {
            if let Some(next) = following.next() {
                self.following.push_back(following);
                return Some(next);
            }
        }
        None
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
            let is_whole = self.run(&mut runner, length, &mut rng)?;
            if is_whole {
                runner.end();
            }
            self.judge(&runner);
            if !is_whole {
                self.look_for_leaks(&runner)?;
            }
            // A driver that stops often would otherwise never be unloaded.
            length = if is_whole { (length * 2).min(LONGEST_PROCESS) } else { FIRST_PROCESS };
        }
        Ok(())
    }

    /// Runs the sequences of a process again, without the step that a mistake ended it with, and unloads the driver:
    /// otherwise leaks would hide behind other mistakes.
    fn look_for_leaks(&self, runner: &Runner) -> Result<(), Error> {
        let mut history = runner.history.clone();
        let cut = history.last_mut().and_then(Vec::pop);
        if cut.is_none() {
            return Ok(());
        }
        let mut again = Runner::start(&self.target, &runner.environment)?;
        if again.is_ready() && matches!(again.batch(history).1, Ran::Ended) && again.host.process().finding_count() == 0
        {
            again.end();
        }
        self.judge(&again);
        Ok(())
    }

    /// Runs each input after which the driver held more than before in a process of its own, and unloads the driver: a later
    /// request may release what this one leaks.
    fn run_alone(&self) -> Result<(), Error> {
        while let Some(input) = self.next_holding() {
            let mut runner = Runner::start(&self.target, &Arc::new(input.environment.clone()))?;
            if runner.is_ready() {
                let (batch, ran) = runner.batch(vec![input.steps.clone()]);
                self.count(1, batch.requests);
                if matches!(ran, Ran::Ended) && runner.host.process().finding_count() == 0 {
                    runner.end();
                }
            }
            self.judge(&runner);
        }
        Ok(())
    }

    fn next_holding(&self) -> Option<Arc<Input>> {
        self.state().holding.pop_front()
    }

    fn environment(&self, rng: &mut Rng) -> Environment {
        let state = self.state();
        // The first processes show what the driver does without any.
        if state.progress.processes < 2 {
            return Environment::default();
        }
        self.mutator(rng, state.asks).environment(&state.corpus)
    }

    fn mutator<'m>(&'m self, rng: &'m mut Rng, asks: bool) -> Mutator<'m> {
        Mutator { dictionary: &self.dictionary, rng, interrupts: !self.target.config.resources.is_empty(), asks }
    }

    /// Runs batches in a process. Returns whether the process can still end in an orderly way.
    ///
    /// # Errors
    ///
    /// Fails if no other process can be started.
    fn run(&self, runner: &mut Runner, length: usize, rng: &mut Rng) -> Result<bool, Error> {
        let mut count = 0;
        while runner.is_ready() && count < length && !self.is_over() {
            let plans = self.next(rng);
            let findings = runner.host.process().finding_count();
            let (batch, ran) = runner.batch(plans.iter().map(Plan::steps).collect());
            count += self.take(&batch, &plans, &runner.environment);
            self.run_alone()?;
            match ran {
                // After a mistake, even a known one, the driver's state says nothing about its other code.
                Ran::Ended if runner.host.process().finding_count() == findings || self.tolerates(runner) => {}
                Ran::Ended | Ran::Stopped => return Ok(false),
                Ran::Died(error) => {
                    self.report_death(runner, &error);
                    return Ok(false);
                }
            }
        }
        Ok(runner.is_loaded)
    }

    /// Returns the next plans.
    fn next(&self, rng: &mut Rng) -> Vec<Plan> {
        let mut state = self.state();
        let mut plans = Vec::new();
        let mut count = 0;
        while count < BATCH {
            let planned = state.planned();
            let length = planned.as_ref().map_or(0, Plan::len);
            state.owed += if planned.is_some() { length.cast_signed() } else { PLANNED };
            let can_make_up = planned.is_none() || !state.corpus.is_empty();
            count += length;
            plans.extend(planned);
            // After what follows from earlier sequences come some that are made up: a mistake can end the batch at any time,
            // and neither may starve.
            while can_make_up && state.owed >= PLANNED {
                let asks = state.asks;
                let plan = self.mutator(rng, asks).plan(&mut state.corpus);
                state.owed -= PLANNED * plan.len().cast_signed();
                count += plan.len();
                plans.push(plan);
            }
        }
        plans
    }

    /// Takes the result of a batch. What comes after a mistake runs in the next batch, unless it was made up. Returns the number of sequences that
    /// ran.
    fn take(&self, batch: &Batch, plans: &[Plan], environment: &Arc<Environment>) -> usize {
        let done = batch.done as usize;
        let begun = batch.begun as usize;
        let (over, rest) = plans.split_at(done.min(plans.len()));
        let cut = rest.first().filter(|_| begun != 0);
        let count = over.iter().map(Plan::len).sum::<usize>() + cut.map_or(0, |cut| cut.begun(begun));
        for novel in &batch.novel {
            if let Some(plan) = plans.get(novel.sequence as usize) {
                self.keep(novel, plan.sequence(novel.steps as usize), environment);
            }
        }
        let mut state = self.state();
        let later = rest.iter().skip(cut.is_some().into()).filter(|plan| !plan.is_made_up);
        later.rev().for_each(|plan| state.first.push_front(plan.clone()));
        let left = cut.filter(|cut| !cut.is_made_up).and_then(|cut| cut.rest(begun));
        if let Some(rest) = left {
            state.first.push_front(rest);
        }
        drop(state);
        self.count(count as u64, batch.requests);
        count
    }

    /// Adds a sequence to the corpus, unless another job was faster.
    fn keep(&self, novel: &Novel, steps: Vec<Step>, environment: &Arc<Environment>) {
        let mut state = self.state();
        let state = &mut *state;
        let results = novel.results.iter().filter(|result| state.results.insert(**result)).count();
        if novel.blocks.is_empty() && results == 0 {
            return;
        }
        let near = self.coverage.constants_near(&novel.blocks, MAX_NEAR);
        let last = steps.iter().rev().find(|step| step.request().is_some() || step.is_filtered());
        let follow_up = if let Some(request) = last.and_then(Step::request) {
            let related = state.corpus.related(request, MAX_RELATED);
            follow_up(&steps, &self.dictionary, &near, &related, novel.asked as usize)
        } else {
            filtered::follow_up(&steps, &self.dictionary, &near)
        };
        state.following.push_back(follow_up);
        state.asks |= novel.asked != 0;
        let input = Arc::new(Input { environment: (**environment).clone(), steps });
        if novel.holds {
            state.holding.push_back(Arc::clone(&input));
        }
        state.watcher.input(&input);
        state.corpus.add(input);
        state.progress.corpus = state.corpus.len();
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

    /// Counts a mistake of a process. Returns whether it is the first one of its kind.
    fn is_new(&self, key: &Key) -> bool {
        let mut state = self.state();
        let count = state.mistakes.entry(key.clone()).or_default();
        *count += 1;
        *count == 1
    }

    /// Returns whether all mistakes of a process happen so often that it goes on.
    fn tolerates(&self, runner: &Runner) -> bool {
        let state = self.state();
        let least = TOLERATED.max(state.progress.processes / 2);
        let count = |key: &Key| state.mistakes.get(key).copied().unwrap_or_default();
        runner.records().iter().all(|record| count(&Key::new(record)) >= least)
    }

    /// Makes findings of the mistakes of a process that are not known.
    fn judge(&self, runner: &Runner) {
        for record in runner.records() {
            let key = Key::new(&record);
            if !self.is_new(&key) {
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
        if self.is_new(&Key::DIED) {
            let detail = format!("the process that runs the driver ended: {error}");
            let stack = Vec::new();
            let inner = Vec::new();
            let finding = Finding {
                rule: Rule::Host,
                image: None,
                routine: None,
                location: None,
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

/// Returns whether two findings are the same mistake: the same rule at the same lines of the place and its callers or,
/// without lines, the same addresses. A driver that does not return can be interrupted in any function that it calls.
fn is_same(first: &Finding, second: &Finding) -> bool {
    let line = |place: &Location| (place.file.clone(), place.line.map_or(place.rva, u64::from));
    let lines = |finding: &Finding| -> Vec<_> {
        finding.location.iter().chain(finding.stack.iter().take(callers(finding.rule))).map(line).collect()
    };
    if first.rule != second.rule || first.location.is_none() || second.location.is_none() {
        return false;
    }
    if first.rule == Rule::Hang {
        let calls = |finding: &Finding| -> Vec<String> {
            finding.location.iter().chain(&finding.stack).filter_map(|location| location.symbol.clone()).collect()
        };
        let runs_in = |finding: &Finding, other: &Finding| {
            calls(finding).first().is_some_and(|function| calls(other).contains(function))
        };
        return runs_in(first, second) || runs_in(second, first);
    }
    lines(first) == lines(second) && essence(first.rule, &first.detail) == essence(second.rule, &second.detail)
}
