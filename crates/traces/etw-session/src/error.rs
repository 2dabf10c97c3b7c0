//! Errors, with the code, its name, its cause and advice.

use std::{error, fmt};

use etw_types::Win32Error;
use etw_types::session::info::Malformed;

use crate::Limit;
use crate::explain::{Call, Explanation, describe, explain};

/// Why an operation failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The system returned an error.
    System {
        /// The call that failed.
        call: Call,
        /// The code that it returned.
        code: Win32Error,
    },
    /// A limit was exceeded. The system was not called.
    Limit(Limit),
    /// The system's result does not have the layout of its class.
    Malformed(Malformed),
}

impl Error {
    /// Creates the error of a call.
    ///
    /// ```
    /// use etw_session::{Call, Error};
    /// use etw_types::Win32Error;
    ///
    /// let error = Error::from_code(Call::Consume, Win32Error::BadLength);
    /// assert_eq!(error.code(), Win32Error::BadLength);
    /// ```
    #[must_use]
    pub const fn from_code(call: Call, code: Win32Error) -> Self {
        Self::System { call, code }
    }

    pub(crate) fn from_call(call: Call) -> impl Fn(Win32Error) -> Self {
        move |code| Self::from_code(call, code)
    }

    /// Returns the Win32 code: the system's, or the one that the system would have returned.
    #[must_use]
    pub const fn code(&self) -> Win32Error {
        match self {
            Self::System { code, .. } => *code,
            Self::Limit(limit) => limit.code(),
            // The usual code for data that does not have the expected layout.
            Self::Malformed(_) => Win32Error::FileCorrupt,
        }
    }

    /// Returns name, cause and advice, if this crate has a text for the code.
    #[must_use]
    pub fn explanation(&self) -> Option<Explanation> {
        match self {
            Self::System { call, code } => explain(*call, *code),
            Self::Limit(_) | Self::Malformed(_) => None,
        }
    }

    /// Whether the system does not support the operation at all, or not in this version.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        matches!(self.code(), Win32Error::CallNotImplemented | Win32Error::NotSupported | Win32Error::ProcNotFound)
    }
}

/// One line: code, name, cause and advice. A code without a text in this crate gets the system's own message.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System { call, code } => {
                write!(f, "{call}: {}", code.as_int())?;
                match explain(*call, *code) {
                    Some(explanation) => write!(f, " {explanation}"),
                    None => write!(f, " {}", describe(*code)),
                }
            }
            Self::Limit(limit) => limit.fmt(f),
            Self::Malformed(malformed) => malformed.fmt(f),
        }
    }
}

impl error::Error for Error {}

impl From<Limit> for Error {
    fn from(limit: Limit) -> Self {
        Self::Limit(limit)
    }
}

impl From<Malformed> for Error {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}
