//! Why a kit cannot be made.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a kit cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A file or a folder cannot be read or written.
    File {
        /// Its path.
        path: PathBuf,
        /// The system's message.
        reason: String,
    },
    /// Programs are not installed.
    MissingPrograms(Vec<&'static str>),
    /// A program cannot be started, or fails.
    Program {
        /// The program with its arguments.
        command: String,
        /// What it or the system reports.
        reason: String,
    },
    /// Cargo cannot download the packages that the kit is made from.
    Download {
        /// The packages.
        packages: String,
        /// What cargo reports.
        reason: String,
    },
    /// A build has overwritten Microsoft's bindings in cargo's copy of `wdk-sys`.
    OverwrittenBindings(PathBuf),
    /// The metadata, the bindings or a file of `kit` is not as expected; the text says where.
    Source(String),
}

impl Error {
    pub(crate) fn io(path: &Path, error: &io::Error) -> Self {
        Self::File { path: path.to_path_buf(), reason: error.to_string() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, reason } => write!(f, "{}: {reason}", path.display()),
            Self::MissingPrograms(names) => write!(
                f,
                "the driver kit needs {}; on Debian and Ubuntu: apt-get install clang lld llvm libclang-dev",
                names.join(", ")
            ),
            Self::Program { command, reason } => write!(f, "{command} failed: {reason}"),
            Self::Download { packages, reason } => {
                write!(f, "cargo could not download {packages}, which the kit is made from: {reason}")
            }
            Self::OverwrittenBindings(dir) => write!(
                f,
                "a build has overwritten the bindings in {}: delete the folder of that package, then cargo unpacks it again",
                dir.display()
            ),
            Self::Source(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}

impl From<String> for Error {
    fn from(text: String) -> Self {
        Self::Source(text)
    }
}
