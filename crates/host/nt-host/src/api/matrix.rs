//! The failure matrix: runs a driver again and again, each time with a different failing call.

use std::fmt;

use crate::{Builder, Error, Failure, Finding, Losses, NtHost};

/// The maximum number of calls of a routine that are made to fail: later calls take the same paths again.
const MOST_CALLS: u64 = 16;

/// Makes each call that can fail do so, one at a time, and then makes calls fail at random.
#[derive(Clone, Debug)]
pub struct Matrix {
    builder: Builder,
    calls: u64,
    seeds: u64,
}

/// A run of the matrix in which the driver made a mistake, or that lost something that could have shown one.
#[derive(Debug)]
pub struct Broken {
    /// The injected failure: `Routine@call`, or `seed N`.
    pub failure: String,
    /// The findings of the run.
    pub findings: Vec<Finding>,
    /// Why the run ended early, if it did.
    pub error: Option<Error>,
    /// What was lost in the run.
    pub losses: Losses,
}

/// The result of a matrix.
///
/// ```no_run
/// use nt_host::{Broken, Matrix, NtHost, Survey};
///
/// let builder = NtHost::builder().driver("my_driver.sys");
/// // Each of the first 100 calls fails once.
/// let survey: Survey = Matrix::new(builder).calls(100).run(|host| host.add_device()?.remove())?;
/// for Broken { failure, findings, .. } in &survey.broken {
///     println!("{failure}: {} findings", findings.len());
/// }
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
}

impl Matrix {
    /// Creates a matrix for a driver.
    #[must_use]
    pub const fn new(builder: Builder) -> Self {
        Self { builder, calls: MOST_CALLS, seeds: 0 }
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
        let host = self.builder.clone().prepare()?;
        drive(&host)?;
        let calls = host.fallible_calls()?;
        drop(host);
        let mut survey = Survey { failures: 0, seeds: self.seeds, broken: Vec::new() };
        for (routine, count) in calls {
            for call in 1..=count.min(self.calls) {
                survey.failures += 1;
                let failure = Failure { routine: routine.clone(), status: None, call: Some(call) };
                let builder = self.builder.clone().fail(failure);
                survey.broken.extend(once(builder, format!("{routine}@{call}"), &drive)?);
            }
        }
        for seed in 1..=self.seeds {
            let builder = self.builder.clone().seed(seed);
            survey.broken.extend(once(builder, format!("seed {seed}"), &drive)?);
        }
        Ok(survey)
    }
}

/// Does one run.
fn once(
    builder: Builder,
    failure: String,
    drive: impl Fn(&NtHost) -> Result<(), Error>,
) -> Result<Option<Broken>, Error> {
    let host = builder.prepare()?;
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
    let (findings, losses) = (report.findings().to_vec(), report.losses());
    let broken = error.is_some() || !report.is_clean();
    Ok(broken.then_some(Broken { failure, findings, error, losses }))
}

impl Survey {
    /// Checks that no run found anything.
    ///
    /// # Panics
    ///
    /// Panics if a run found something; the message lists all findings and the failures that led to them.
    pub fn assert_clean(&self) {
        assert!(self.broken.is_empty(), "{self}");
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.failure)?;
        if let Some(error) = &self.error {
            write!(f, ": {error}")?;
        }
        if self.losses != Losses::default() {
            write!(f, ": incomplete: {}", self.losses)?;
        }
        self.findings.iter().try_for_each(|finding| write!(f, "\n  {finding}"))
    }
}

impl fmt::Display for Survey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for broken in &self.broken {
            writeln!(f, "{broken}")?;
        }
        let (failures, seeds, broken) = (self.failures, self.seeds, self.broken.len());
        write!(f, "{failures} failures and {seeds} seeds tried, {broken} with findings or losses")
    }
}
