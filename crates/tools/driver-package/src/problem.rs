//! What is wrong with somebody's input: file, line, rule and a sentence, in the form that editors understand.
//!
//! Rules of INF files have infverif's numbers, rules of images their names in [`rules`](crate::rules); those of
//! certificates and packages are named here and there in words.

use std::fmt;
use std::path::Path;

/// Whether a package may be made all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// It may.
    Warning,
    /// It may not.
    Error,
}

/// One violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file as the user named it.
    pub file: String,
    /// Counted from one; none where the whole file is meant.
    pub line: Option<usize>,
    /// How much it matters.
    pub level: Level,
    /// The rule's number or name.
    pub rule: String,
    /// What was found, and what to do about it.
    pub text: String,
}

impl Problem {
    /// An error about a whole file.
    #[must_use]
    pub fn error(file: &Path, rule: impl Into<String>, text: impl Into<String>) -> Self {
        let file = file.display().to_string();
        Self { file, line: None, level: Level::Error, rule: rule.into(), text: text.into() }
    }

    /// The same at a line.
    #[must_use]
    pub fn at(self, line: usize) -> Self {
        Self { line: Some(line), ..self }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        let level = match self.level {
            Level::Warning => "warning",
            Level::Error => "error",
        };
        write!(f, ": {level} {}: {}", self.rule, self.text)
    }
}

/// Everything that keeps a package from being made; at least one problem is an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}
