//! Limits that are checked before the system is called, because the system returns only an error code.

use core::{error, fmt};

use crate::Win32Error;

/// A limit that a request exceeds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// Too many of something.
    TooMany {
        /// What there are too many of.
        what: &'static str,
        /// The number that was given.
        given: usize,
        /// The maximum number.
        most: usize,
    },
    /// Too few of something.
    TooFew {
        /// What there are too few of.
        what: &'static str,
        /// The number that was given.
        given: usize,
        /// The minimum number.
        least: usize,
    },
    /// Values that exclude each other or are not allowed in this call.
    Conflict {
        /// The rule, as a sentence without a full stop.
        rule: &'static str,
        /// The code that the system returns for it.
        code: Win32Error,
    },
    /// Text or data that is too long.
    TooLong {
        /// What is too long.
        what: &'static str,
        /// Its length.
        given: usize,
        /// The maximum length.
        most: usize,
    },
}

impl Limit {
    /// Returns the error code that the system returns for this.
    #[must_use]
    pub const fn code(&self) -> Win32Error {
        match self {
            Self::TooLong { .. } => Win32Error::BadLength,
            Self::TooMany { .. } | Self::TooFew { .. } => Win32Error::InvalidParameter,
            Self::Conflict { code, .. } => *code,
        }
    }

    /// Checks that there are not too many.
    ///
    /// # Errors
    ///
    /// Returns [`Limit::TooMany`] if `given` exceeds `most`.
    pub const fn at_most(what: &'static str, given: usize, most: usize) -> Result<(), Self> {
        if given > most { Err(Self::TooMany { what, given, most }) } else { Ok(()) }
    }

    /// Checks that there are enough.
    ///
    /// # Errors
    ///
    /// Returns [`Limit::TooFew`] if `given` is below `least`.
    pub const fn at_least(what: &'static str, given: usize, least: usize) -> Result<(), Self> {
        if given < least { Err(Self::TooFew { what, given, least }) } else { Ok(()) }
    }

    /// Checks that something is not too long.
    ///
    /// # Errors
    ///
    /// Returns [`Limit::TooLong`] if `given` exceeds `most`.
    pub const fn no_longer(what: &'static str, given: usize, most: usize) -> Result<(), Self> {
        if given > most { Err(Self::TooLong { what, given, most }) } else { Ok(()) }
    }

    /// Checks that a rule holds.
    ///
    /// # Errors
    ///
    /// Returns [`Limit::Conflict`] with `InvalidParameter` if it does not.
    pub const fn rule(holds: bool, rule: &'static str) -> Result<(), Self> {
        Self::rule_as(holds, rule, Win32Error::InvalidParameter)
    }

    /// Checks that a rule with its own error code holds.
    ///
    /// # Errors
    ///
    /// Returns [`Limit::Conflict`] if it does not.
    pub const fn rule_as(holds: bool, rule: &'static str, code: Win32Error) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(Self::Conflict { rule, code }) }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany { what, given, most } => write!(f, "{given} {what}: the maximum is {most}"),
            Self::TooFew { what, given, least } => write!(f, "{given} {what}: the minimum is {least}"),
            Self::Conflict { rule, .. } => f.write_str(rule),
            Self::TooLong { what, given, most } => write!(f, "{what} has a length of {given}: the maximum is {most}"),
        }
    }
}

impl error::Error for Limit {}
