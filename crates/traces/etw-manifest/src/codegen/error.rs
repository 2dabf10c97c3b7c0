//! Errors of compiling a manifest.

use std::path::{Path, PathBuf};
use std::{error, fmt, io};

use crate::manifest::ParseError;

/// The reason that a manifest could not be compiled. `Debug` prints the same text as `Display`, because a build
/// script's `main` prints errors with `Debug`.
#[non_exhaustive]
pub enum Error {
    /// The manifest has errors.
    Mistakes {
        /// The file. Empty if the manifest did not come from a file.
        path: PathBuf,
        /// The errors, in the order of the file.
        mistakes: Vec<ParseError>,
    },
    /// Two parts would have the same name in the generated module.
    SameName {
        /// The name.
        name: String,
        /// The parts with this name.
        parts: [String; 2],
    },
    /// The language identifier of this culture is not known.
    UnknownCulture(String),
    /// A file could not be read or written.
    File {
        /// The file.
        path: PathBuf,
        /// The operation that failed.
        what: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// `OUT_DIR` is not set.
    NoBuildScript,
}

impl Error {
    pub(super) fn mistakes(mistakes: Vec<ParseError>) -> Self {
        Self::Mistakes { path: PathBuf::new(), mistakes }
    }

    pub(super) fn with_path(self, path: &Path) -> Self {
        match self {
            Self::Mistakes { mistakes, .. } => Self::Mistakes { path: path.to_owned(), mistakes },
            other => other,
        }
    }

    pub(super) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        |source| Self::File { path, what: "read", source }
    }

    pub(super) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        |source| Self::File { path, what: "write", source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mistakes { path, mistakes } => {
                for (number, mistake) in mistakes.iter().enumerate() {
                    if number > 0 {
                        writeln!(f)?;
                    }
                    write!(f, "{}", path.display())?;
                    if let Some((line, column)) = mistake.place() {
                        write!(f, ":{line}:{column}")?;
                    }
                    write!(f, ": {}", mistake.reason())?;
                }
                Ok(())
            }
            Self::SameName { name, parts: [one, other] } => {
                write!(f, "{one} and {other} both become `{name}` in the module: give one of them another symbol")
            }
            Self::UnknownCulture(culture) => {
                write!(
                    f,
                    "the culture '{culture}' has no language number in Microsoft's list: use another one, such as en-US or de"
                )
            }
            Self::File { path, what, source } => write!(f, "cannot {what} {}: {source}", path.display()),
            Self::NoBuildScript => f.write_str("OUT_DIR is not set: call this from a build script"),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::File { source, .. } => Some(source),
            _ => None,
        }
    }
}
