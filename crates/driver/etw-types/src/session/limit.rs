//! Limits that are checked before the system is asked, because it would answer with a bare code.

use core::{error, fmt};

use crate::Win32Error;

/// A limit that a request exceeds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// Too many of something.
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many were given.
        given: usize,
        /// How many there may be.
        most: usize,
    },
    /// Too few of something.
    TooFew {
        /// Of what.
        what: &'static str,
        /// How many were given.
        given: usize,
        /// How many there must be.
        least: usize,
    },
    /// Values that exclude each other, or that are not for this call.
    Conflict {
        /// The rule, as a sentence without a full stop.
        rule: &'static str,
        /// What the system returns for it.
        code: Win32Error,
    },
    /// A text or data that is too long.
    TooLong {
        /// Which.
        what: &'static str,
        /// Its length.
        given: usize,
        /// The longest.
        most: usize,
    },
}

impl Limit {
    /// The code that the system returns for this.
    #[must_use]
    pub const fn code(&self) -> Win32Error {
        match self {
            Self::TooLong { .. } => Win32Error::BadLength,
            Self::TooMany { .. } | Self::TooFew { .. } => Win32Error::InvalidParameter,
            Self::Conflict { code, .. } => *code,
        }
    }

    /// That there are not too many.
    ///
    /// # Errors
    ///
    /// [`Limit::TooMany`].
    pub const fn at_most(what: &'static str, given: usize, most: usize) -> Result<(), Self> {
        if given > most { Err(Self::TooMany { what, given, most }) } else { Ok(()) }
    }

    /// That there are enough.
    ///
    /// # Errors
    ///
    /// [`Limit::TooFew`].
    pub const fn at_least(what: &'static str, given: usize, least: usize) -> Result<(), Self> {
        if given < least { Err(Self::TooFew { what, given, least }) } else { Ok(()) }
    }

    /// That something is not too long.
    ///
    /// # Errors
    ///
    /// [`Limit::TooLong`].
    pub const fn no_longer(what: &'static str, given: usize, most: usize) -> Result<(), Self> {
        if given > most { Err(Self::TooLong { what, given, most }) } else { Ok(()) }
    }

    /// That a rule holds.
    ///
    /// # Errors
    ///
    /// [`Limit::Conflict`].
    pub const fn rule(holds: bool, rule: &'static str) -> Result<(), Self> {
        Self::rule_as(holds, rule, Win32Error::InvalidParameter)
    }

    /// That a rule holds whose violation has a code of its own.
    ///
    /// # Errors
    ///
    /// [`Limit::Conflict`].
    pub const fn rule_as(holds: bool, rule: &'static str, code: Win32Error) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(Self::Conflict { rule, code }) }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany { what, given, most } => write!(f, "{given} {what}: at most {most} are possible"),
            Self::TooFew { what, given, least } => write!(f, "{given} {what}: at least {least} are needed"),
            Self::Conflict { rule, .. } => f.write_str(rule),
            Self::TooLong { what, given, most } => write!(f, "{what} has {given}, and at most {most} are possible"),
        }
    }
}

impl error::Error for Limit {}
