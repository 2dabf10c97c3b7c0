//! The error of parsing a file: which field is damaged, and what is wrong with it.

use std::fmt;

/// The file is not a PE image or a PDB, or it is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    field: &'static str,
    reason: String,
}

impl Error {
    /// Creates an error about `field`.
    #[must_use]
    pub fn new(field: &'static str, reason: impl Into<String>) -> Self {
        Self { field, reason: reason.into() }
    }

    /// Returns the invalid part of the file, in the terms of the PE format.
    #[must_use]
    pub fn field(&self) -> &'static str {
        self.field
    }

    /// Returns what is wrong with this part.
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
