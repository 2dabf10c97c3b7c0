//! Why a file did not become schemas.

use std::path::{Path, PathBuf};
use std::{error, fmt, io};

/// Why a file of schemas could not be read. The path is part of the message.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The system refused.
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The content is not what the file's kind needs.
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong, with its place if there is one.
        reason: String,
    },
}

impl Error {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    pub(crate) fn content(path: &Path, reason: impl Into<String>) -> Self {
        Self::Content { path: path.to_owned(), reason: reason.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, source } => write!(f, "cannot read {}: {source}", path.display()),
            Self::Content { path, reason } => write!(f, "{}: {reason}", path.display()),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Content { .. } => None,
        }
    }
}
