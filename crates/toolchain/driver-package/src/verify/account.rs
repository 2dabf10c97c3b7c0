//! The result of verifying a file: its checks, and what they mean together.

use std::fmt;
use std::path::{Path, PathBuf};

use command_line::{escaped, shown};

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The check passed.
    Passed,
    /// The check failed. Windows refuses the file.
    Failed,
    /// The check passed, with an algorithm or a property that is weaker than it should be.
    Weak,
    /// Information for the reader. It is not an error.
    Note,
    /// The check could not be made.
    Unknown,
}

impl Mark {
    /// Returns the name for reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "ok",
            Self::Failed => "FAILED",
            Self::Weak => "weak",
            Self::Note => "note",
            Self::Unknown => "unknown",
        }
    }
}

/// A check of one property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The property.
    pub what: &'static str,
    /// The result.
    pub mark: Mark,
    /// The reason.
    pub text: String,
}

/// Why a check did not pass.
#[derive(Clone, Debug)]
pub(crate) enum Refusal {
    /// The file is wrong.
    Failed(String),
    /// Nobody knows: an algorithm or a part of the format is not supported here.
    Unknown(String),
}

impl Refusal {
    pub(crate) fn text(&self) -> &str {
        let (Self::Failed(text) | Self::Unknown(text)) = self;
        text
    }

    /// Says what it is about.
    pub(super) fn about(self, what: &str) -> Self {
        match self {
            Self::Failed(text) => Self::Failed(format!("{what}: {text}")),
            Self::Unknown(text) => Self::Unknown(format!("{what}: {text}")),
        }
    }
}

impl From<der::Error> for Refusal {
    fn from(error: der::Error) -> Self {
        match error.kind() {
            // BER, which is legal in PKCS #7. Windows writes DER.
            der::ErrorKind::IndefiniteLength => Self::Unknown(format!("{error}; only DER is read here")),
            _ => Self::Failed(error.to_string()),
        }
    }
}

/// What is known about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every check passed. Weaknesses are named.
    Valid,
    /// A check failed, or nothing was checked.
    NotValid,
    /// No check failed, but at least one could not be made.
    Unjudged,
}

impl Verdict {
    /// Returns the name for reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::NotValid => "not valid",
            Self::Unjudged => "cannot be judged",
        }
    }
}

/// Where the chain of a signature ends. A later value is stronger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trust {
    /// At no known root. Anybody can make such a chain, with any names.
    #[default]
    None,
    /// At a root of [`Context::trusted`](super::Context::trusted).
    Given,
    /// At a root of [`Context::pinned`](super::Context::pinned), without a usage for kernel drivers.
    Pinned,
    /// At a root of Microsoft's for kernel code, with a usage for kernel drivers: the kernel loads the file without test mode.
    Kernel,
}

impl Trust {
    /// Returns the name for reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "not trusted",
            Self::Given => "trusted",
            Self::Pinned => "trusted, Microsoft",
            Self::Kernel => "trusted, Microsoft, for kernel drivers",
        }
    }
}

/// The checks of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The file.
    pub path: PathBuf,
    /// Where the best chain of its signatures ends.
    pub(super) trust: Trust,
    /// The checks, in the order in which they were made.
    pub checks: Vec<Check>,
}

impl Account {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_path_buf(), trust: Trust::None, checks: Vec::new() }
    }

    pub(super) fn add(&mut self, what: &'static str, mark: Mark, text: impl Into<String>) {
        self.checks.push(Check { what, mark, text: text.into() });
    }

    pub(super) fn refuse(&mut self, what: &'static str, refusal: &Refusal) {
        let mark = if matches!(refusal, Refusal::Failed(_)) { Mark::Failed } else { Mark::Unknown };
        self.add(what, mark, refusal.text());
    }

    /// Returns what is known about the file.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let has = |mark: Mark| self.checks.iter().any(|check| check.mark == mark);
        if has(Mark::Failed) {
            Verdict::NotValid
        } else if has(Mark::Unknown) {
            Verdict::Unjudged
        } else if has(Mark::Passed) {
            Verdict::Valid
        } else {
            Verdict::NotValid
        }
    }

    /// Returns where the best chain of its signatures ends. A file that is not valid is not trusted.
    #[must_use]
    pub fn trust(&self) -> Trust {
        if self.is_valid() { self.trust } else { Trust::None }
    }

    /// Returns whether every check passed.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.verdict() == Verdict::Valid
    }

    /// Returns the check that decides against the file: the first that failed, or else the first that could not be made.
    #[must_use]
    pub fn objection(&self) -> Option<&Check> {
        let first = |mark: Mark| self.checks.iter().find(|check| check.mark == mark);
        first(Mark::Failed).or_else(|| first(Mark::Unknown))
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = shown(&self.path);
        match self.verdict() {
            Verdict::Valid => writeln!(f, "{path}: valid, {}", self.trust.name())?,
            other => writeln!(f, "{path}: {}", other.name().to_uppercase())?,
        }
        // The names in certificates may contain anything.
        self.checks
            .iter()
            .try_for_each(|check| writeln!(f, "  {:<8} {:<13} {}", check.mark.name(), check.what, escaped(&check.text)))
    }
}
