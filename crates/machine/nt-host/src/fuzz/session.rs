//! A session as tests and the command start it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread as std_thread;
use std::time::{Duration, Instant};

use fastrand::Rng;

use super::bug::{Bug, Limits, Progress, Watcher};
use super::dictionary::Dictionary;
use super::engine::{Session, State};
use super::filtered;
use super::grammar::Grammar;
use super::input::{CANCEL_AFTER, Input};
use super::names;
use super::runner::Runner;
use crate::wire::{Reply, Request};
use crate::{Builder, Error, LineCoverage};

/// The time that the driver may take for a step of a sequence, unless the description of the run sets another limit.
const PATIENCE: Duration = Duration::from_millis(500);
/// The number of bytes of debug output that are kept: a finding says enough.
const DEBUG_OUTPUT: u64 = 1 << 16;

/// Sends a driver requests that it makes up, and reports the driver's mistakes.
///
/// ```no_run
/// use nt_host::{Bug, Fuzz, Harvest, NtHost};
///
/// let builder = NtHost::builder().driver("my_driver.sys");
/// let harvest: Harvest = Fuzz::new(builder).seed(1).executions(100_000).run()?;
/// for Bug { finding, input, .. } in &harvest.bugs {
///     println!("{finding}\n  {}", input.command("my_driver.sys".as_ref()));
/// }
/// println!("{}", harvest.summary());
/// harvest.assert_clean();
/// # Ok::<(), nt_host::Error>(())
/// ```
///
/// With a description of the driver's requests, and with inputs of an earlier session:
///
/// ```no_run
/// use nt_host::{Field, Fuzz, Grammar, Input, NtHost, Progress, RequestFormat};
///
/// fn again(earlier: Vec<Input>) -> Result<(), nt_host::Error> {
///     for input in &earlier {
///         println!("{:?} {}", input.options(), input.command("my_driver.sys".as_ref()));
///     }
///     let magic = Field::Integer { size: 4, values: vec![0x1234_5678] };
///     let request = RequestFormat { code: 0x0022_2000, fields: vec![magic], output: 64 };
///     let fuzz = Fuzz::new(NtHost::builder().driver("my_driver.sys")).jobs(2).inputs(earlier);
///     let harvest = fuzz.grammar(Grammar { requests: vec![request] }).run()?;
///     let progress: Progress = harvest.progress;
///     println!("{} requests per second", progress.rate());
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug)]
#[must_use = "call `run`"]
pub struct Fuzz {
    builder: Builder,
    seed: u64,
    jobs: u32,
    limits: Limits,
    grammar: Grammar,
    inputs: Vec<Input>,
}

/// The result of a session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Harvest {
    /// The distinct mistakes, in the order in which they were found.
    pub bugs: Vec<Bug>,
    /// The numbers of the session.
    pub progress: Progress,
    /// The inputs that did something new.
    pub corpus: Vec<Input>,
    /// The number of blocks of the driver's code, and how many of them ran.
    pub blocks: (usize, usize),
    /// The source lines of the driver that ran. Empty if the driver has no PDB.
    pub lines: LineCoverage,
}

/// Sees nothing.
struct Silent;

impl Watcher for Silent {}

impl Fuzz {
    /// Creates a session for a driver. Without a limit, it never ends.
    pub fn new(builder: Builder) -> Self {
        let limits = Limits::default();
        let grammar = Grammar::default();
        let inputs = Vec::new();
        Self { builder, seed: 0, jobs: 1, limits, grammar, inputs }
    }

    /// Sets the seed of random choices. With one job and a limit of executions, the same seed gives the same session.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets the number of processes that run the driver at the same time.
    pub const fn jobs(mut self, jobs: u32) -> Self {
        self.jobs = jobs;
        self
    }

    /// Sets how long the session takes.
    pub const fn time(mut self, time: Duration) -> Self {
        self.limits.time = Some(time);
        self
    }

    /// Sets how many sequences of requests are run.
    pub const fn executions(mut self, executions: u64) -> Self {
        self.limits.executions = Some(executions);
        self
    }

    /// Describes the driver's requests, so that inputs begin well-formed.
    pub fn grammar(mut self, grammar: Grammar) -> Self {
        self.grammar = grammar;
        self
    }

    /// Begins with the inputs of earlier sessions.
    pub fn inputs(mut self, inputs: Vec<Input>) -> Self {
        self.inputs = inputs;
        self
    }

    /// Runs the session.
    ///
    /// # Errors
    ///
    /// Fails if the driver cannot be loaded or has no device to send requests to.
    pub fn run(self) -> Result<Harvest, Error> {
        self.run_with(&mut Silent)
    }

    /// Runs the session and tells `watcher` what it finds.
    ///
    /// # Errors
    ///
    /// As for [`Fuzz::run`].
    pub fn run_with(self, watcher: &mut (dyn Watcher + Send)) -> Result<Harvest, Error> {
        let started = Instant::now();
        let mut target = self.builder.read()?;
        target.config.patience.get_or_insert(PATIENCE);
        target.config.cancel_after.get_or_insert(CANCEL_AFTER);
        target.config.debug_output.get_or_insert(DEBUG_OUTPUT);
        target.config.trace_all = false;
        target.config.one_processor = true;
        let coverage = target.cover()?;
        // The first run shows whether the driver can be fuzzed at all, and what it is called.
        let first = Runner::start(&target, &Arc::default())?;
        let names = first.host.call(&Request::Names {});
        if let Some(error) = first.failure {
            return Err(error);
        }
        drop(first.host);
        let constants = coverage.constants();
        let dictionary = match names {
            Ok(Reply::Names { devices, values, ports, callouts }) => {
                let names = ports.as_ref().map(|_| names::names(target.image())).unwrap_or_default();
                let has_device = first.has_device;
                let known = Dictionary::new(constants, self.grammar, &values);
                let traffic = if callouts { filtered::traffic(&known.values) } else { Vec::new() };
                Dictionary { devices, has_device, ports, names, traffic, ..known }
            }
            _ => Dictionary { has_device: true, ..Dictionary::new(constants, self.grammar, &[]) },
        };
        let state = Mutex::new(State::new(&dictionary, self.inputs, watcher));
        let session = Session { target, coverage: coverage.clone(), dictionary, limits: self.limits, started, state };
        let results: Vec<Result<(), Error>> = std_thread::scope(|scope| {
            let job = |number: u64| {
                let session = &session;
                let rng = Rng::with_seed(self.seed.wrapping_add(number));
                scope.spawn(move || session.work(rng))
            };
            let jobs: Vec<_> = (0..self.jobs.max(1).into()).map(job).collect();
            let ended = |error| Error::Host(format!("a job of the fuzzer ended: {error:?}"));
            jobs.into_iter().map(|job| job.join().unwrap_or_else(|error| Err(ended(error)))).collect()
        });
        results.into_iter().collect::<Result<(), Error>>()?;
        let state = session.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let progress = Progress { elapsed: started.elapsed(), ..state.progress };
        let corpus = state.corpus.inputs().map(|input| (**input).clone()).collect();
        let blocks = (coverage.blocks().len(), coverage.hits());
        let lines = session.target.line_coverage(&coverage);
        Ok(Harvest { bugs: state.bugs, progress, corpus, blocks, lines })
    }
}

impl Harvest {
    /// Returns the numbers of the session in one line.
    #[must_use]
    pub fn summary(&self) -> String {
        let Progress { executions, requests, elapsed, .. } = self.progress;
        let (count, (blocks, hits)) = (self.bugs.len(), self.blocks);
        let plural = if count == 1 { "" } else { "s" };
        let rate = self.progress.rate();
        format!(
            "{count} finding{plural}; {executions} sequences with {requests} requests in {elapsed:.1?}, {rate} requests per second; \
             {hits} of {blocks} blocks of code"
        )
    }

    /// Checks that the session found no mistakes.
    ///
    /// # Panics
    ///
    /// Panics if there are any; the message lists them with the commands that reproduce them.
    pub fn assert_clean(&self) {
        assert!(self.bugs.is_empty(), "{self}");
    }
}

impl fmt::Display for Harvest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for bug in &self.bugs {
            writeln!(f, "{}\n  {}", bug.finding, bug.input.options().join(" "))?;
        }
        f.write_str(&self.summary())
    }
}
