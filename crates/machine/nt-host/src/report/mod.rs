//! The results of a run: findings with names and lines, the debug output, what was lost, and what was not exercised.

mod coverage;
mod finding;

pub use coverage::LineCoverage;
pub use finding::{Finding, Location};

use std::fmt;

use nt_machine::{Gap, Printed};

use crate::Rule;

/// The findings and the debug output of a run.
///
/// ```no_run
/// use nt_host::{Finding, Location, Losses, NtHost, Outcome, Report, Rule};
///
/// let host = NtHost::builder().driver("my_driver.sys").start()?;
/// let report: Report = host.unload()?;
/// for Finding { rule, detail, location, .. } in report.findings() {
///     let line = location.as_ref().and_then(|Location { file, line, .. }| Some(format!("{}:{}", file.as_ref()?, (*line)?)));
///     println!("{rule:?}: {detail} {}", line.unwrap_or_default());
/// }
/// let Losses { findings, events, output } = report.losses();
/// println!("{findings} findings, {events} events and {output} bytes of debug output were lost");
/// report.gaps().iter().for_each(|gap| println!("{gap}"));
/// assert!(report.is_complete(), "the run has gaps or losses");
/// assert_eq!(report.outcome(), Outcome::Clean);
/// # Ok::<(), nt_host::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    findings: Vec<Finding>,
    other_findings: Vec<Finding>,
    output: String,
    parts: Vec<Printed>,
    losses: Losses,
    gaps: Vec<Gap>,
}

/// The outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The driver was loaded, its device started, every request reached the driver, nothing was lost, and there are no
    /// findings.
    Clean,
    /// There are no findings, but the run has gaps, or something was lost that could have shown a finding.
    Incomplete,
    /// There are findings. The run can also be incomplete.
    Findings,
}

/// What was lost in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// The number of findings for which there was no room.
    pub findings: u32,
    /// The number of lost events of the session that records everything, if there is one.
    pub events: u64,
    /// The number of bytes of debug output for which there was no room:
    /// [`Builder::debug_output`](crate::Builder::debug_output) makes room.
    pub output: u64,
}

/// What was lost, without what was not.
impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts =
            [(u64::from(self.findings), "findings"), (self.events, "events"), (self.output, "bytes of debug output")];
        let mut parts = parts.into_iter().filter(|(count, _)| *count != 0);
        parts.next().map_or(Ok(()), |(count, what)| write!(f, "lost {count} {what}"))?;
        parts.try_for_each(|(count, what)| write!(f, ", {count} {what}"))
    }
}

impl Report {
    /// Creates a report without losses and gaps. Findings about other images are those that name one.
    #[must_use]
    pub fn new(findings: Vec<Finding>, parts: Vec<Printed>) -> Self {
        let output = parts.iter().map(|part| part.text.as_str()).collect();
        let (findings, other_findings) = findings.into_iter().partition(|finding| finding.image.is_none());
        Self { findings, other_findings, output, parts, losses: Losses::default(), gaps: Vec::new() }
    }

    pub(crate) fn with_losses(self, losses: Losses) -> Self {
        Self { losses, ..self }
    }

    /// Returns the report with these gaps in place of its own: those that the host knows, and those that only the client knows.
    ///
    /// ```
    /// use nt_host::{Gap, GapKind, Outcome, Report};
    ///
    /// let gap = Gap { kind: GapKind::NotReached, detail: "the third request".into(), advice: Vec::new() };
    /// let report = Report::new(Vec::new(), Vec::new());
    /// assert_eq!(report.outcome(), Outcome::Clean);
    /// assert_eq!(report.with_gaps(vec![gap]).outcome(), Outcome::Incomplete);
    /// ```
    #[must_use]
    pub fn with_gaps(self, gaps: Vec<Gap>) -> Self {
        Self { gaps, ..self }
    }

    /// Returns what the run did not exercise, except for the kinds that [`Builder::allow`](crate::Builder::allow) names.
    /// A run with gaps is not clean.
    #[must_use]
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    /// Returns the outcome of the run. A finding of the rule [`Rule::Host`] is not a mistake of the driver: the run is incomplete.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match (self.blames_driver(), self.findings.is_empty() && self.is_complete()) {
            (true, _) => Outcome::Findings,
            (false, false) => Outcome::Incomplete,
            (false, true) => Outcome::Clean,
        }
    }

    /// Returns whether a finding is a mistake of the driver, and not one of the host itself.
    ///
    /// ```
    /// assert!(!nt_host::Report::default().blames_driver());
    /// ```
    #[must_use]
    pub fn blames_driver(&self) -> bool {
        self.findings.iter().any(|finding| finding.rule != Rule::Host)
    }

    /// Returns what was lost in the run. A run with losses is not clean.
    #[must_use]
    pub const fn losses(&self) -> Losses {
        self.losses
    }

    /// Returns the findings about the driver under test, in the order in which they were recorded: those whose call stack
    /// has code of the driver, up to the last routine that the kernel called.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Returns the findings about other images, which the driver did not cause. They do not change the outcome.
    #[must_use]
    pub fn other_findings(&self) -> &[Finding] {
        &self.other_findings
    }

    /// Returns the findings of one rule.
    ///
    /// ```no_run
    /// use nt_host::{NtHost, Rule};
    ///
    /// let report = NtHost::builder().driver("my_driver.sys").start()?.unload()?;
    /// assert_eq!(report.findings_of(Rule::PoolLeak).count(), 0);
    /// # Ok::<(), nt_host::Error>(())
    /// ```
    pub fn findings_of(&self, rule: Rule) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.rule == rule)
    }

    /// Returns the debug output of the driver, and the lines of the host about its error log entries and WMI events, which
    /// begin with `nt-host: `.
    #[must_use]
    pub fn output(&self) -> &str {
        &self.output
    }

    /// Returns the debug output, separated into text of the driver and lines of the host.
    ///
    /// ```
    /// assert!(nt_host::Report::default().output_parts().is_empty());
    /// ```
    #[must_use]
    pub fn output_parts(&self) -> &[Printed] {
        &self.parts
    }

    /// Returns whether the outcome is [`Outcome::Clean`].
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.findings.is_empty() && self.is_complete()
    }

    /// Returns whether the run has no gaps and nothing was lost.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.losses.findings == 0 && self.losses.events == 0 && self.losses.output == 0 && self.gaps.is_empty()
    }

    /// Checks that the report is clean.
    ///
    /// # Panics
    ///
    /// Panics if there is a finding or a gap, or something was lost; the message lists all of it.
    pub fn assert_clean(&self) {
        let mut list: Vec<String> = self.findings.iter().map(ToString::to_string).collect();
        list.extend((self.losses != Losses::default()).then(|| self.losses.to_string()));
        list.extend(self.gaps.iter().map(ToString::to_string));
        let allow =
            if self.gaps.is_empty() { "" } else { "\nIf the test intends a gap, name it with `Builder::allow`." };
        assert!(self.is_clean(), "the run is not clean:\n  {}{allow}", list.join("\n  "));
    }
}
