//! Why an image cannot be loaded.

use std::fmt;

/// A file that is no driver image, or one that Windows would not load either.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageError {
    field: String,
    reason: String,
}

impl ImageError {
    pub(crate) fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { field: field.into(), reason: reason.into() }
    }

    /// The part of the file that is wrong, in the words of the PE format.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.field
    }

    /// What is wrong with it.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.reason)
    }
}

impl std::error::Error for ImageError {}

impl From<driver_package::Error> for ImageError {
    fn from(error: driver_package::Error) -> Self {
        Self::new(error.field(), error.reason())
    }
}
