//! What Windows requires of a driver image, as a table of rules.
//!
//! A rule only inspects an [`Image`]; it never reads the file again. Every rule has a reason and names its source. If
//! no public source says what Windows does, the severity is what we expect on a machine with the default settings of
//! Windows 11. Requirements of memory integrity, which can be turned off, have a separate severity.
//!
//! `driver-package` reports every rule; `nt-machine` refuses the images that Windows refuses.

mod binding;
pub(crate) mod framework;
mod header;
mod release;
mod sections;
mod signature;

use std::fmt;

use pe_image::Image;

use crate::Release;
pub use signature::SIGNATURE_DIGEST;

/// How much a rule matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The driver loads on most machines, but something is wrong or missing.
    Warning,
    /// The driver does not load with memory integrity (HVCI), which is on by default in Windows 11. It loads without
    /// it.
    MemoryIntegrity,
    /// The driver does not load, or crashes at its first instruction.
    Refused,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Warning => "warning",
            Self::MemoryIntegrity => "memory integrity",
            Self::Refused => "refused",
        })
    }
}

/// One requirement of Windows.
pub struct Rule {
    /// A short name that does not change between versions.
    pub id: &'static str,
    /// The consequence of a violation.
    pub severity: Severity,
    /// The requirement.
    pub what: &'static str,
    /// The reason for the requirement, or what happens if an image violates it.
    pub why: &'static str,
    /// The source of the rule.
    pub source: &'static str,
    /// Returns one text per violation.
    check: fn(&Image, Target) -> Vec<String>,
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule").field("id", &self.id).field("severity", &self.severity).finish_non_exhaustive()
    }
}

/// The Windows release that loads the image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The release; by default that of the kit's headers.
    pub release: Release,
}

/// A violation of a rule.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// What the image has instead.
    pub found: String,
}

/// All violations of an image, most severe first.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    target: Target,
    findings: Vec<Finding>,
}

impl Verdict {
    /// Checks an image against all rules.
    #[must_use]
    pub fn judge(image: &Image, target: Target) -> Self {
        let mut findings: Vec<Finding> = all()
            .flat_map(|rule| (rule.check)(image, target).into_iter().map(move |found| Finding { rule, found }))
            .collect();
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.rule.severity));
        Self { target, findings }
    }

    /// Adds a finding that [`judge`](Self::judge) cannot make, because it needs more information than the image.
    #[must_use]
    pub fn with(mut self, rule: &'static Rule, found: String) -> Self {
        self.findings.push(Finding { rule, found });
        self.findings.sort_by_key(|finding| std::cmp::Reverse(finding.rule.severity));
        self
    }

    /// Returns the Windows release that the image was checked against.
    #[must_use]
    pub fn target(&self) -> Target {
        self.target
    }

    /// Returns all violations.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Returns the violations that keep Windows from loading the image.
    pub fn refusals(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.rule.severity == Severity::Refused)
    }

    /// Whether Windows loads the image: no finding has severity [`Severity::Refused`].
    #[must_use]
    pub fn is_loadable(&self) -> bool {
        self.refusals().next().is_none()
    }
}

/// Returns every rule, in the order in which the loader reads the parts of an image.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    let tables = [header::RULES, sections::RULES, binding::RULES, release::RULES, signature::RULES];
    tables.into_iter().flatten().chain([&SIGNATURE_DIGEST])
}

/// Returns the oldest Windows release that has everything the image needs, or `None` if no known release has it.
#[must_use]
pub fn oldest_release(image: &Image) -> Option<Release> {
    release::oldest(image)
}

/// Sources of several rules.
const PE_FORMAT: &str = "Microsoft Learn, \"PE Format\"";
const MEMORY_INTEGRITY: &str = "Microsoft Learn, \"Implement memory integrity compatible code\"";

/// Returns one violation if `broken` is true, otherwise none.
fn violation_if(broken: bool, found: impl FnOnce() -> String) -> Vec<String> {
    if broken { vec![found()] } else { Vec::new() }
}
