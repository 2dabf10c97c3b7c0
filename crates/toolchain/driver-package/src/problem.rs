//! Problems in a user's input: file, line, rule and message, in the format that editors recognise.
//!
//! Rules of INF files have the numbers of infverif, and rules of images have their names in [`rules`](crate::rules).
//! Rules of certificates and packages have names, such as `certificate-expired`.

use std::fmt;
use std::io;
use std::path::Path;

/// The severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The package is made.
    Warning,
    /// The package is not made.
    Error,
}

/// A problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file as the user named it.
    pub file: String,
    /// The line, counted from one; `None` if the problem is the whole file.
    pub line: Option<usize>,
    /// The severity.
    pub level: Level,
    /// The rule's number or name.
    pub rule: String,
    /// The message: what was found, and what to do.
    pub text: String,
    /// Whether the file could not be read or written, so that nothing is known about the input.
    pub is_access: bool,
}

impl Problem {
    /// Creates an error that concerns a whole file.
    #[must_use]
    pub fn error(file: &Path, rule: impl Into<String>, text: impl Into<String>) -> Self {
        let file = file.display().to_string();
        Self { file, line: None, level: Level::Error, rule: rule.into(), text: text.into(), is_access: false }
    }

    /// Creates a warning that concerns a whole file.
    #[must_use]
    pub fn warning(file: &Path, rule: impl Into<String>, text: impl Into<String>) -> Self {
        Self { level: Level::Warning, ..Self::error(file, rule, text) }
    }

    /// Creates an error for a file or folder that cannot be read or written.
    #[must_use]
    pub fn access(file: &Path, rule: impl Into<String>, error: &io::Error) -> Self {
        Self { is_access: true, ..Self::error(file, rule, error.to_string()) }
    }

    /// Adds the line.
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

/// All problems that prevented a package. At least one is an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// Whether a file or folder could not be read or written.
    #[must_use]
    pub fn has_access_error(&self) -> bool {
        self.0.iter().any(|problem| problem.is_access)
    }
}

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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Problem, Problems};

    #[test]
    fn each_problem_is_on_a_line_of_its_own() {
        let problem = |rule: &str| Problem::error(Path::new("a.inf"), rule, "text");
        let problems = Problems(vec![problem("one"), problem("two")]);
        assert_eq!(problems.to_string(), "a.inf: error one: text\na.inf: error two: text");
    }
}
