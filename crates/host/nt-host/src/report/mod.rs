//! The results of a run: findings with names and lines, the debug output, and what was lost.

mod finding;

pub use finding::{Finding, Place};

use std::fmt;

use nt_machine::Printed;

use crate::Rule;

/// The findings and the debug output of a run.
///
/// ```no_run
/// use nt_host::{Finding, Losses, NtHost, Place, Report, Rule};
///
/// let host = NtHost::builder().driver("my_driver.sys").start()?;
/// let report: Report = host.unload()?;
/// for Finding { rule, detail, place, .. } in report.findings() {
///     let line = place.as_ref().and_then(|Place { file, line, .. }| Some(format!("{}:{}", file.as_ref()?, (*line)?)));
///     println!("{rule:?}: {detail} {}", line.unwrap_or_default());
/// }
/// let Losses { findings, events, output } = report.losses();
/// assert!(report.is_complete(), "{findings} findings, {events} events and {output} bytes of debug output were lost");
/// assert!(report.is_clean());
/// # Ok::<(), nt_host::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    findings: Vec<Finding>,
    output: String,
    parts: Vec<Printed>,
    losses: Losses,
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
        let parts = [
            (u64::from(self.findings), "findings were cut"),
            (self.events, "events were lost"),
            (self.output, "bytes of debug output were dropped"),
        ];
        let mut parts = parts.into_iter().filter(|(count, _)| *count != 0);
        parts.next().map_or(Ok(()), |(count, what)| write!(f, "{count} {what}"))?;
        parts.try_for_each(|(count, what)| write!(f, ", {count} {what}"))
    }
}

impl Report {
    pub(crate) fn new(findings: Vec<Finding>, parts: Vec<Printed>) -> Self {
        let output = parts.iter().map(|part| part.text.as_str()).collect();
        Self { findings, output, parts, losses: Losses::default() }
    }

    pub(crate) fn with_losses(self, losses: Losses) -> Self {
        Self { losses, ..self }
    }

    /// Returns what was lost in the run. A run with losses is not clean.
    #[must_use]
    pub const fn losses(&self) -> Losses {
        self.losses
    }

    /// Returns the findings, in the order in which they were recorded.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Returns the findings of one rule.
    pub fn of(&self, rule: Rule) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.rule == rule)
    }

    /// Returns the debug output of the driver, and the lines of the host about its error log entries and WMI events, which
    /// begin with `nt-host: `.
    #[must_use]
    pub fn output(&self) -> &str {
        &self.output
    }

    /// Returns the debug output, separated into text of the driver and lines of the host.
    #[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "the command shows who printed what"))]
    pub(crate) fn output_parts(&self) -> &[Printed] {
        &self.parts
    }

    /// Returns whether there are no findings and nothing was lost that could have shown one.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.findings.is_empty() && self.is_complete()
    }

    /// Returns whether nothing was lost.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.losses.findings == 0 && self.losses.events == 0 && self.losses.output == 0
    }

    /// Checks that the report is clean.
    ///
    /// # Panics
    ///
    /// Panics if there is a finding or something was lost; the message lists all of it.
    pub fn assert_clean(&self) {
        let mut list: Vec<String> = self.findings.iter().map(ToString::to_string).collect();
        list.extend((!self.is_complete()).then(|| self.losses.to_string()));
        assert!(self.is_clean(), "the driver is not clean:\n  {}", list.join("\n  "));
    }
}
