//! The errors of commands, and the exit code of each.

use std::fmt;

use command_line::OutputError;

/// Why a command did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The command line or an environment variable is not valid.
    Usage(String),
    /// Something that is needed is not installed; the text says how to get it.
    Missing(String),
    /// A step ran and failed.
    Failed(String),
    /// A program of this project ended with this exit code and has printed the reason.
    Reported(u8),
}

impl Error {
    /// Returns 1 for a failed step, 2 if the user has to change or install something first. The exit code of a program of this
    /// project is returned as it is.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Failed(_) => 1,
            Self::Usage(_) | Self::Missing(_) => 2,
            Self::Reported(code) => *code,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Missing(text) | Self::Failed(text) => f.write_str(text),
            Self::Reported(code) => write!(f, "exit code {code}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<OutputError> for Error {
    fn from(error: OutputError) -> Self {
        Self::Usage(error.to_string())
    }
}
