//! The one error of reading a file: which field is damaged, and how.

use std::fmt;

/// A file that is no PE image, or a damaged one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    field: &'static str,
    reason: String,
}

impl Error {
    /// A problem with `field`.
    #[must_use]
    pub fn new(field: &'static str, reason: impl Into<String>) -> Self {
        Self { field, reason: reason.into() }
    }

    /// The part of the file that cannot be right, in the words of the PE format.
    #[must_use]
    pub fn field(&self) -> &'static str {
        self.field
    }

    /// What is wrong with it.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.reason)
    }
}

impl std::error::Error for Error {}
