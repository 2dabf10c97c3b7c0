//! What can go wrong outside of a trace's own bytes.

use std::path::PathBuf;
use std::{error, fmt, io};

/// Why a file could not be opened, read or written. Where a file is meant, its path is part of the message.
///
/// Damage within a file is not an error: see [`Report`](crate::Report).
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The system refused.
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The file does not start as a trace does.
    NotATrace {
        /// The file.
        path: PathBuf,
        /// What was missed.
        reason: &'static str,
    },
    /// An event has more bytes than a buffer or than any event can hold.
    EventTooLarge {
        /// Bytes of the event; of what is countable where it has more than 65535.
        size: usize,
        /// Most that fits.
        limit: usize,
    },
    /// Options of a writer do not fit together.
    Options(&'static str),
}

impl Error {
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
