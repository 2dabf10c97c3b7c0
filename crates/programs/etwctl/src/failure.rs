//! Why a command failed: its exit code and its message.

use std::io;

use command_line::{OutputError, error, exit};
use etw_session::{Error, Limit};
use etw_types::Win32Error;

use crate::output::StdoutError;
use crate::values::InvalidValue;

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line was not understood.
    Usage(String),
    /// This system, or this build, does not support it.
    Unsupported(String),
    /// The system refused a call, or a limit was exceeded.
    Session(Error),
    /// There is no such session, but one with this similar name.
    NotFound(Error, String),
    /// A trace could not be opened.
    Trace(etw_etl::Error),
    /// A trace is damaged; the readable part was written.
    Damaged(String),
    /// Events or buffers were lost, or a file could not be written to its end. The rest was written.
    Lost(String),
    /// clap refused a line of a batch.
    CommandLine(Box<clap::Error>),
    /// Reading or writing failed.
    Io(io::Error),
    /// Standard output failed, which was printed, or its reader has closed it. What that means for the exit code depends on the
    /// command.
    Unread,
    /// A driver that was run was not loaded (1), did something wrong (3), or was not exercised completely (4).
    Driver(u8, String),
    /// The failure was already printed; this is its exit code.
    Reported(u8),
}

impl Failure {
    /// The exit code: see docs/conventions.md.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Unsupported(_) => exit::UNSUPPORTED,
            Self::Session(error) if error.is_unsupported() => exit::UNSUPPORTED,
            Self::Unread => exit::SUCCESS,
            Self::Usage(_) | Self::CommandLine(_) | Self::Trace(_) | Self::Io(_) => exit::USAGE,
            Self::Session(error) if matches!(error.code(), Win32Error::DiskFull | Win32Error::PathNotFound) => {
                exit::USAGE
            }
            Self::Session(_) | Self::NotFound(..) => exit::FAILED,
            Self::Damaged(_) | Self::Lost(_) => exit::INCOMPLETE,
            Self::Driver(code, _) | Self::Reported(code) => *code,
        }
    }

    /// Whether a session or provider was not found.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Session(error) if error.code() == Win32Error::WmiInstanceNotFound)
    }

    /// The failure in one line, for a list of failures.
    #[cfg(feature = "parquet")]
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Usage(message) | Self::Unsupported(message) | Self::Lost(message) | Self::Driver(_, message) => {
                message.clone()
            }
            Self::CommandLine(refusal) => refusal.to_string(),
            Self::Session(failure) | Self::NotFound(failure, _) => failure.to_string(),
            Self::Trace(failure) => failure.to_string(),
            Self::Damaged(message) => format!("the trace is damaged: {message}"),
            Self::Io(failure) => failure.to_string(),
            Self::Unread => StdoutError.to_string(),
            Self::Reported(code) => format!("exit code {code}"),
        }
    }

    /// Prints the failure to standard error.
    pub(crate) fn report(&self) {
        match self {
            Self::Usage(message) | Self::Unsupported(message) | Self::Lost(message) => error(message),
            Self::CommandLine(refusal) => {
                let _ = command_line::explain(refusal);
            }
            Self::Session(failure) => error(&failure.to_string()),
            Self::NotFound(failure, near) => error(&format!("{failure}; did you mean '{near}'?")),
            Self::Trace(failure) => error(&failure.to_string()),
            Self::Damaged(message) => error(&format!("the trace is damaged: {message}")),
            Self::Driver(_, message) => error(&format!("the driver under test: {message}")),
            Self::Io(failure) => error(&failure.to_string()),
            Self::Unread | Self::Reported(_) => {}
        }
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::Usage(message)
    }
}

impl From<InvalidValue> for Failure {
    fn from(refusal: InvalidValue) -> Self {
        Self::Usage(refusal.to_string())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Session(error)
    }
}

impl From<Limit> for Failure {
    fn from(limit: Limit) -> Self {
        Self::Session(limit.into())
    }
}

impl From<etw_etl::Error> for Failure {
    fn from(error: etw_etl::Error) -> Self {
        Self::Trace(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let stdout = error.get_ref().and_then(|inner| inner.downcast_ref::<StdoutError>());
        if stdout.is_some() { Self::Unread } else { Self::Io(error) }
    }
}

impl From<OutputError> for Failure {
    fn from(error: OutputError) -> Self {
        Self::Usage(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use command_line::exit;

    use super::{Failure, StdoutError};

    /// A collector that closes its connection is no reader that has seen enough.
    #[test]
    fn only_a_closed_standard_output_is_no_error() {
        let connection = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!(connection.exit_code(), exit::USAGE);
        let stdout = Failure::from(io::Error::new(io::ErrorKind::BrokenPipe, StdoutError));
        assert_eq!(stdout.exit_code(), exit::SUCCESS);
    }
}
