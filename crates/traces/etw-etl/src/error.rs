//! Errors that are not damage within a trace.

use std::path::PathBuf;
use std::{error, fmt, io};

/// Why a file could not be opened, read or written. If the error concerns a file, the message includes its path.
///
/// Damage within a file is not an error: see [`Report`](crate::Report).
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The operating system reported an error.
    Io {
        /// The attempted action, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file does not start like a trace.
    NotATrace {
        /// The file.
        path: PathBuf,
        /// What is missing.
        reason: &'static str,
    },
    /// An event is larger than a buffer, or larger than any event can be.
    EventTooLarge {
        /// Size of the event in bytes; only the part that can be counted if it has more than 65535 bytes.
        size: usize,
        /// Maximum size in bytes.
        limit: usize,
    },
    /// The options of a writer contradict each other.
    Options(&'static str),
}

impl Error {
    /// Names another file, such as the one that a temporary file will become.
    #[must_use]
    pub fn about(self, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        match self {
            Self::Io { action, source, .. } => Self::Io { action, path, source },
            Self::NotATrace { reason, .. } => Self::NotATrace { path, reason },
            other => other,
        }
    }

    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { action, path, source } => write!(f, "cannot {action} {}: {source}", path.display()),
            Self::NotATrace { path, reason } => write!(f, "{} is not an .etl trace: {reason}", path.display()),
            Self::EventTooLarge { size, limit } => {
                write!(f, "the event has {size} bytes in a trace, and at most {limit} fit")
            }
            Self::Options(reason) => f.write_str(reason),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Error;
    use std::error::Error as _;
    use std::io;
    use std::path::PathBuf;

    #[test]
    fn an_error_says_what_happened_to_which_file_and_why() {
        let io = Error::io("read", "a.etl")(io::Error::other("broken"));
        assert_eq!(io.source().map(ToString::to_string).as_deref(), Some("broken"));
        for (error, text) in [
            (io, "cannot read a.etl: broken"),
            (Error::NotATrace { path: PathBuf::from("b"), reason: "empty" }, "b is not an .etl trace: empty"),
            (Error::EventTooLarge { size: 9, limit: 8 }, "the event has 9 bytes in a trace, and at most 8 fit"),
            (Error::Options("no"), "no"),
        ] {
            assert_eq!(error.to_string(), text);
            assert_eq!(error.source().is_some(), matches!(error, Error::Io { .. }));
            let has_file = matches!(error, Error::Io { .. } | Error::NotATrace { .. });
            assert_eq!(error.about("other.etl").to_string().contains("other.etl"), has_file);
        }
    }
}
