//! The failure matrix: runs a driver again and again, each time with a different failing call.

use std::fmt;

use super::target::Target;
use crate::{Builder, Error, Failure, Finding, Gap, Losses, NtHost};

/// The maximum number of calls of a routine that are made to fail: later calls take the same paths again.
const MAX_CALLS: u64 = 16;

/// Makes each call that can fail do so, one at a time, and then makes calls fail at random. Calls that undo an earlier
/// one, such as the removal of a notification routine, never fail.
#[derive(Clone, Debug)]
pub struct Matrix {
    builder: Builder,
    calls: u64,
    seeds: u64,
}

/// A run of the matrix that is about to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt<'a> {
    /// The number of the run, from 1.
    pub number: u64,
    /// The number of all runs. Before the run without a failure, which counts the calls that can fail, it is not known.
    pub count: Option<u64>,
    /// The failure, as in [`Broken::failure`].
    pub failure: &'a str,
}

/// A run of the matrix in which the driver made a mistake, or that lost something that could have shown one.
#[derive(Debug)]
pub struct Broken {
    /// The injected failure: `Routine@call`, `seed N`, or [`Broken::NO_FAILURE`].
    pub failure: String,
    /// The findings of the run.
    pub findings: Vec<Finding>,
    /// Why the run ended early, if it did.
    pub error: Option<Error>,
    /// What was lost in the run.
    pub losses: Losses,
}

/// A mistake that one or more runs of a matrix found.
#[derive(Clone, Debug)]
pub struct Mistake<'a> {
    /// The finding of the first of these runs; `None` if that run ended early without one.
    pub finding: Option<&'a Finding>,
    /// The description.
    pub text: String,
    /// The failure of the first run, which reproduces the mistake.
    pub first: &'a str,
    /// The number of runs with one failure that found it, including the run without a failure.
    pub failures: u64,
    /// The number of runs with random failures that found it.
    pub seeds: u64,
}

/// The result of a matrix.
///
/// ```no_run
/// use nt_host::{Broken, Matrix, Mistake, NtHost, Survey};
///
/// let builder = NtHost::builder().driver("my_driver.sys");
/// // Each of the first 100 calls fails once.
/// let survey: Survey = Matrix::new(builder).calls(100).run(|host| host.add_device()?.remove())?;
/// for mistake in survey.mistakes() {
///     let Mistake { text, first, failures, .. } = &mistake;
///     println!("{first} and {} others: {text} ({})", failures - 1, mistake.origin());
/// }
/// // The same by run.
/// for Broken { failure, findings, .. } in &survey.broken {
///     println!("{failure}: {} findings", findings.len());
/// }
/// survey.losses().for_each(|loss| println!("{loss}"));
/// println!("{}, clean: {}", survey.summary(), survey.is_clean());
/// survey.assert_clean();
/// # Ok::<(), nt_host::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "check it with `assert_clean`"]
pub struct Survey {
    /// The number of runs with one failure each.
    pub failures: u64,
    /// The number of runs with random failures.
    pub seeds: u64,
    /// The runs in which the driver made a mistake, and those that are incomplete.
    pub broken: Vec<Broken>,
    /// What the run without a failure did not exercise. The other runs then do not exercise it either.
    pub gaps: Vec<Gap>,
}

impl Matrix {
    /// Creates a matrix for a driver.
    #[must_use]
    pub const fn new(builder: Builder) -> Self {
        Self { builder, calls: MAX_CALLS, seeds: 0 }
    }

    /// Sets how many calls of each routine are made to fail, one at a time; the default is the first 16.
    #[must_use]
    pub const fn calls(mut self, calls: u64) -> Self {
        self.calls = calls;
        self
    }

    /// Adds runs in which calls fail at random, with seeds from 1 on.
    #[must_use]
    pub const fn seeds(mut self, seeds: u64) -> Self {
        self.seeds = seeds;
        self
    }

    /// Runs the matrix. `drive` uses the driver, from [`NtHost::load`] to [`NtHost::unload`]. It may return early with
    /// a status of the driver; this is not counted as a mistake.
    ///
    /// # Errors
    ///
    /// Fails if `drive` fails even without an injected failure.
    pub fn run(&self, drive: impl Fn(&NtHost) -> Result<(), Error>) -> Result<Survey, Error> {
        self.run_reporting(drive, |_| {})
    }

    /// Runs the matrix as [`run`](Self::run) does. `report_run` is called before each run.
    ///
    /// ```no_run
    /// use nt_host::{Attempt, Matrix, NtHost};
    ///
    /// let matrix = Matrix::new(NtHost::builder().driver("target/driver/x64/my_driver.sys"));
    /// let drive = |host: &NtHost| {
    ///     host.load()?;
    ///     host.unload().map(drop)
    /// };
    /// let survey = matrix.run_reporting(drive, |Attempt { number, failure, .. }| println!("run {number}: {failure}"))?;
    /// # Ok::<(), nt_host::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if `drive` fails even without an injected failure.
    pub fn run_reporting(
        &self,
        drive: impl Fn(&NtHost) -> Result<(), Error>,
        mut report_run: impl FnMut(Attempt<'_>),
    ) -> Result<Survey, Error> {
        // The images and their PDBs are read once for all runs.
        let target = self.builder.clone().read()?;
        report_run(Attempt { number: 1, count: None, failure: Broken::NO_FAILURE });
        let host = target.host()?;
        drive(&host)?;
        let calls = host.fallible_calls()?;
        let report = host.report();
        drop(host);
        let mut survey = Survey { failures: 0, seeds: self.seeds, broken: Vec::new(), gaps: report.gaps().to_vec() };
        let findings = report.findings().to_vec();
        let losses = report.losses();
        if !findings.is_empty() || losses != Losses::default() {
            survey.broken.push(Broken { failure: Broken::NO_FAILURE.to_owned(), findings, error: None, losses });
        }
        let calls: Vec<(&str, u64)> = calls
            .iter()
            .flat_map(|(routine, count)| (1..=*count.min(&self.calls)).map(|call| (routine.as_str(), call)))
            .collect();
        survey.failures = calls.len() as u64;
        let mut number = 1;
        let mut once = |target: &Target, failure: String| {
            number += 1;
            report_run(Attempt { number, count: Some(1 + survey.failures + survey.seeds), failure: &failure });
            once(target, failure, &drive)
        };
        for (routine, call) in calls {
            let mut target = target.clone();
            target.config.failures.push(Failure { routine: routine.to_owned(), status: None, call: Some(call) });
            survey.broken.extend(once(&target, format!("{routine}@{call}"))?);
        }
        for seed in 1..=self.seeds {
            let mut target = target.clone();
            target.config.seed = Some(seed);
            survey.broken.extend(once(&target, format!("{SEED}{seed}"))?);
        }
        Ok(survey)
    }
}

/// The start of the name of a run with random failures.
const SEED: &str = "seed ";

/// Does one run.
fn once(
    target: &Target,
    failure: String,
    drive: impl Fn(&NtHost) -> Result<(), Error>,
) -> Result<Option<Broken>, Error> {
    let host = target.host()?;
    let result = match drive(&host) {
        // The driver refused something after it was loaded. It must still unload.
        Err(Error::Status(_)) => host.unload().map(drop),
        result => result,
    };
    let error = match result {
        Ok(()) | Err(Error::DriverEntry(..) | Error::NotUnloaded) => None,
        Err(error) => Some(error),
    };
    let report = host.report();
    let findings = report.findings().to_vec();
    let losses = report.losses();
    let broken = error.is_some() || !findings.is_empty() || losses != Losses::default();
    Ok(broken.then_some(Broken { failure, findings, error, losses }))
}

impl Broken {
    /// The name of the run without a failure.
    pub const NO_FAILURE: &'static str = "no failure";

    /// Returns the mistakes of this run. An error is one if no finding says why the run ended.
    fn mistakes(&self) -> impl Iterator<Item = (Option<&Finding>, String)> {
        let error = self.error.as_ref().filter(|_| self.findings.is_empty());
        let findings = self.findings.iter().map(|finding| (Some(finding), finding.to_string()));
        findings.chain(error.map(|error| (None, error.to_string())))
    }
}

impl Survey {
    /// Returns each distinct mistake once, in the order in which they were found. Findings with the same rule, routine
    /// and place are the same mistake.
    #[must_use]
    pub fn mistakes(&self) -> Vec<Mistake<'_>> {
        let mut mistakes: Vec<Mistake<'_>> = Vec::new();
        for broken in &self.broken {
            let (failures, seeds) = if broken.failure.starts_with(SEED) { (0, 1) } else { (1, 0) };
            for (finding, text) in broken.mistakes() {
                let same = |known: &&mut Mistake<'_>| match (known.finding, finding) {
                    (Some(known), Some(finding)) => known.is_same_mistake(finding),
                    (None, None) => known.text == text,
                    _ => false,
                };
                match mistakes.iter_mut().find(same) {
                    Some(known) => {
                        known.failures += failures;
                        known.seeds += seeds;
                    }
                    None => mistakes.push(Mistake { finding, text, first: &broken.failure, failures, seeds }),
                }
            }
        }
        mistakes
    }

    /// Returns whether no run found anything and the run without a failure has no gaps.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.broken.is_empty() && self.gaps.is_empty()
    }

    /// Checks that the matrix is clean.
    ///
    /// # Panics
    ///
    /// Panics if a run found something, or if the run without a failure has gaps; the message lists all mistakes with
    /// the failures that led to them, and the gaps.
    pub fn assert_clean(&self) {
        assert!(self.is_clean(), "{self}");
    }
}

/// Returns a number with its noun.
fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

impl Mistake<'_> {
    /// Returns in which runs the mistake was found, and how to reproduce it.
    #[must_use]
    pub fn origin(&self) -> String {
        let Self { first, failures, seeds, .. } = self;
        if *first == Broken::NO_FAILURE {
            return format!("found in {}, also without a failure", counted(failures + seeds, "run"));
        }
        let counts = [(*failures, "failure"), (*seeds, "seed")].into_iter().filter(|(count, _)| *count != 0);
        let counts: Vec<String> = counts.map(|(count, what)| counted(count, what)).collect();
        let option = match first.strip_prefix(SEED) {
            Some(seed) => format!("--seed {seed}"),
            None => format!("--fail {first}"),
        };
        format!("found with {}, first with {first}: reproduce it with run {option}", counts.join(" and "))
    }
}

impl fmt::Display for Mistake<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  {}", self.text, self.origin())
    }
}

impl Survey {
    /// Returns one line for each run that lost something.
    pub fn losses(&self) -> impl Iterator<Item = String> {
        let lossy = self.broken.iter().filter(|broken| broken.losses != Losses::default());
        lossy.map(|broken| format!("{}: incomplete: {}", broken.failure, broken.losses))
    }

    /// Returns the last line: what was tried, and what was found.
    #[must_use]
    pub fn summary(&self) -> String {
        let failures = counted(self.failures, "failure");
        let seeds = counted(self.seeds, "seed");
        let broken = self.broken.len();
        let distinct = counted(self.mistakes().len() as u64, "distinct mistake");
        let gaps = if self.gaps.is_empty() { "" } else { "; incomplete: the run without a failure has gaps" };
        format!("{failures} and {seeds} tried, {broken} with findings or losses, {distinct}{gaps}")
    }
}

impl fmt::Display for Survey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.mistakes().iter().try_for_each(|mistake| writeln!(f, "{mistake}"))?;
        self.losses().try_for_each(|loss| writeln!(f, "{loss}"))?;
        self.gaps.iter().try_for_each(|gap| writeln!(f, "{gap}"))?;
        f.write_str(&self.summary())
    }
}
