//! What Windows asks of a driver image, as a table of rules.
//!
//! A rule only looks at an [`Image`]; it never reads the file again. It says why Windows objects and who says so. Where
//! no public text says what happens, the severity is that of the outcome we would expect on a machine with the default
//! settings of Windows 11. What only memory integrity asks for, which can be off, has a severity of its own.
//!
//! `driver-package` reports every rule; `nt-machine` refuses the images that Windows refuses.
#![forbid(unsafe_code)]

mod binding;
mod header;
mod release;
mod sections;
mod signature;

use std::fmt;

use windows_releases::Release;

use pe_image::Image;
pub use signature::SIGNATURE_DIGEST;

/// How much a rule matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The driver loads, on most machines; something is still wrong or missing.
    Warning,
    /// The driver does not load with memory integrity (HVCI), which is on by default in Windows 11. It loads without.
    MemoryIntegrity,
    /// The driver does not load, or its first instruction is the last.
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

/// One thing that Windows asks for.
pub struct Rule {
    /// A short name that stays the same between versions.
    pub id: &'static str,
    /// What it means to break it.
    pub severity: Severity,
    /// What is asked.
    pub what: &'static str,
    /// What happens otherwise.
    pub why: &'static str,
    /// Who says so.
    pub source: &'static str,
    /// One text for each violation.
    check: fn(&Image, Target) -> Vec<String>,
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule").field("id", &self.id).field("severity", &self.severity).finish_non_exhaustive()
    }
}

/// The Windows that is to load the image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The newest one unless something else is said.
    pub release: Release,
}

/// A violation.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Of this rule.
    pub rule: &'static Rule,
    /// What the image has instead.
    pub found: String,
}

/// All violations of an image, the serious ones first.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    target: Target,
    findings: Vec<Finding>,
}

impl Verdict {
    /// What Windows would object to.
    #[must_use]
    pub fn of(image: &Image, target: Target) -> Self {
        let mut findings: Vec<Finding> = all()
            .flat_map(|rule| (rule.check)(image, target).into_iter().map(move |found| Finding { rule, found }))
            .collect();
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.rule.severity));
        Self { target, findings }
    }

    /// The same with a finding of somebody who knows more than the image says.
    #[must_use]
    pub fn with(mut self, rule: &'static Rule, found: String) -> Self {
        self.findings.push(Finding { rule, found });
        self.findings.sort_by_key(|finding| std::cmp::Reverse(finding.rule.severity));
        self
    }

    /// The Windows that was asked about.
    #[must_use]
    pub fn target(&self) -> Target {
        self.target
    }

    /// Every violation.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The reasons not to load the image.
    pub fn refusals(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.rule.severity == Severity::Refused)
    }

    /// Whether nothing speaks against loading it.
    #[must_use]
    pub fn is_loadable(&self) -> bool {
        self.refusals().next().is_none()
    }
}

/// Every rule, in the order in which the loader gets to see the parts.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    let tables = [header::RULES, sections::RULES, binding::RULES, release::RULES, signature::RULES];
    tables.into_iter().flatten().chain([&SIGNATURE_DIGEST])
}

/// The oldest Windows release that has everything the image needs; none if no known release has it.
#[must_use]
pub fn oldest_release(image: &Image) -> Option<Release> {
    release::oldest(image)
}

/// Documents that several rules rest on.
const PE_FORMAT: &str = "Microsoft Learn, \"PE Format\"";
const MEMORY_INTEGRITY: &str = "Microsoft Learn, \"Implement memory integrity compatible code\"";

/// A violation or none.
fn when(broken: bool, found: impl FnOnce() -> String) -> Vec<String> {
    if broken { vec![found()] } else { Vec::new() }
}
