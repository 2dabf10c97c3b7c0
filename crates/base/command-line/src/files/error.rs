//! Why an output cannot be written.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::shown;

/// Why an output is refused or could not be written.
#[derive(Debug)]
pub enum OutputError {
    /// The output is an input.
    Input {
        /// How the user named the output, such as `--output`.
        option: String,
        /// The output.
        output: PathBuf,
        /// The name of the input.
        input: String,
    },
    /// Standard output is redirected to an input.
    Stdout {
        /// The name of the input.
        input: String,
    },
    /// Two options name one file.
    Twice {
        /// The second option.
        option: String,
        /// The first option.
        other: String,
        /// The file.
        path: PathBuf,
    },
    /// An input is in a folder that would be removed or replaced.
    Removed {
        /// The folder.
        dir: PathBuf,
        /// The name of the input.
        input: String,
    },
    /// A file that is copied could not be read.
    Read(PathBuf, io::Error),
    /// The file or folder could not be written.
    Write(PathBuf, io::Error),
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input { option, output, input } => {
                write!(f, "{option} {} is the input {input}: choose another file", shown(output))
            }
            Self::Stdout { input } => write!(f, "standard output is the input {input}: choose another file"),
            Self::Twice { option, other, path } => {
                write!(f, "{option} and {other} are the same file, {}: choose another one", shown(path))
            }
            Self::Removed { dir, input } => {
                write!(f, "the folder {} would be removed with the input {input}: choose another folder", shown(dir))
            }
            Self::Read(path, error) => write!(f, "cannot read {}: {error}", shown(path)),
            Self::Write(path, error) => write!(f, "cannot write {}: {error}", shown(path)),
        }
    }
}

impl Error for OutputError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Read(_, error) | Self::Write(_, error) => Some(error),
            Self::Input { .. } | Self::Stdout { .. } | Self::Twice { .. } | Self::Removed { .. } => None,
        }
    }
}
