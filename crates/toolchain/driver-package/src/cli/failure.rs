//! Why a command has no result.

use std::path::{Path, PathBuf};
use std::{error, fmt, io};

use crate::Problem;
use crate::package::ClockError;

/// Why a command line is refused, or has no result.
#[derive(Debug)]
pub(super) enum Failure {
    /// This word is not an option.
    Word(String),
    /// There is no option with this name, which begins with `-` or `/`.
    Option(String),
    /// This option has no value.
    NoValue(String),
    /// What is missing or does not go together, and what is expected.
    Missing(&'static str),
    /// This value is not what the second text says.
    Value(String, &'static str),
    /// The clock has no valid time.
    Clock(ClockError),
    /// The time is not one that a `DriverVer` can have.
    Time(der::Error),
    /// A file cannot be read.
    File(PathBuf, io::Error),
    /// What is wrong with a file.
    Content(PathBuf, String),
    /// The rules that a package breaks, or a file that cannot be written.
    Problem(Box<Problem>),
    /// What is wrong with the file that an option names.
    OfOption(&'static str, Box<Failure>),
}

impl Failure {
    pub(super) fn file(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self::File(path.to_owned(), error)
    }

    pub(super) fn content(path: &Path, what: impl Into<String>) -> Self {
        Self::Content(path.to_owned(), what.into())
    }

    pub(super) fn of_option(option: &'static str) -> impl Fn(Self) -> Self {
        move |failure| Self::OfOption(option, Box::new(failure))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => write!(f, "'{word}' is not an option"),
            Self::Option(name) => write!(f, "there is no option {name}"),
            Self::NoValue(name) => write!(f, "the option -{name} has no value"),
            Self::Missing(what) => f.write_str(what),
            Self::Value(text, what) => write!(f, "'{text}' is not {what}"),
            Self::Clock(error) => error.fmt(f),
            Self::Time(error) => error.fmt(f),
            Self::File(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Content(path, what) => write!(f, "{}: {what}", path.display()),
            Self::Problem(problem) => problem.fmt(f),
            Self::OfOption(option, failure) => write!(f, "{option} {failure}"),
        }
    }
}

impl error::Error for Failure {}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Problem(Box::new(problem))
    }
}
