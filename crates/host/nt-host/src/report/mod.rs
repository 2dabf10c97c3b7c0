//! What came of a run, for people and for programs.

mod finding;
mod json;
mod text;

pub use finding::{Finding, Place};
pub(crate) use json::json;
pub(crate) use text::text;

use etw_types::NtStatus;

use crate::Rule;

/// What became of a client's request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Its kind.
    pub(crate) what: &'static str,
    /// Its control code, if it has one.
    pub(crate) code: u32,
    pub(crate) status: NtStatus,
    /// Its output in hexadecimal.
    pub(crate) output: String,
    /// Whether the driver got it.
    pub(crate) arrived: bool,
}

impl Sent {
    /// A request that could not be sent, and why.
    pub(crate) const fn not_sent(what: &'static str, code: u32, status: NtStatus) -> Self {
        Self { what, code, status, output: String::new(), arrived: false }
    }
}

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
/// let Losses { findings, events } = report.losses();
/// assert!(report.is_complete(), "{findings} findings and {events} events were lost");
/// assert!(report.is_clean());
/// # Ok::<(), nt_host::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    findings: Vec<Finding>,
    output: String,
    losses: Losses,
}

/// What a run could not keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Findings that there was no room for.
    pub findings: u32,
    /// Events of the session that takes everything, where there is one.
    pub events: u64,
}

impl Report {
    pub(crate) const fn new(findings: Vec<Finding>, output: String) -> Self {
        Self { findings, output, losses: Losses { findings: 0, events: 0 } }
    }

    pub(crate) const fn with_losses(self, losses: Losses) -> Self
    where
        Self: Sized,
    {
        let mut report = self;
        report.losses = losses;
        report
    }

    /// What the run could not keep: with a loss it is not clean.
    #[must_use]
    pub const fn losses(&self) -> Losses {
        self.losses
    }

    /// The findings, in the order in which they were made.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The findings of one rule.
    pub fn of(&self, rule: Rule) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.rule == rule)
    }

    /// What the driver printed.
    #[must_use]
    pub fn output(&self) -> &str {
        &self.output
    }

    /// Whether nothing was found, and nothing was lost that could have shown something.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.findings.is_empty() && self.is_complete()
    }

    /// Whether nothing was lost.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.losses.findings == 0 && self.losses.events == 0
    }

    /// For tests.
    ///
    /// # Panics
    ///
    /// When there is a finding, with all of them.
    pub fn assert_clean(&self) {
        let mut list: Vec<String> = self.findings.iter().map(ToString::to_string).collect();
        list.extend((!self.is_complete()).then(|| format!("{:?}", self.losses)));
        assert!(self.is_clean(), "the driver is not clean:\n  {}", list.join("\n  "));
    }
}
