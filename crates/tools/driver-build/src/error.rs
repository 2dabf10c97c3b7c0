//! The ways a command ends badly, and the exit code of each.

use std::fmt;

/// Why a command did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The command line or an environment variable makes no sense.
    Usage(String),
    /// Something is needed that could not be installed; the text says how to get it.
    Missing(String),
    /// A step ran and failed.
    Failed(String),
    /// A program of ours ended with this exit code and has said why.
    Said(u8),
}

impl Error {
    /// 1 for a failed step, 2 where the user has to change something first; that of a program of ours as it is.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Failed(_) => 1,
            Self::Usage(_) | Self::Missing(_) => 2,
            Self::Said(code) => *code,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Missing(text) | Self::Failed(text) => f.write_str(text),
            Self::Said(code) => write!(f, "exit code {code}"),
        }
    }
}
