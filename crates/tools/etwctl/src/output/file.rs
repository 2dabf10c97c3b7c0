//! The output of a command.

use std::io::{self, BufWriter, Stdout, Write};
use std::path::Path;

use command_line::{Content, Inputs, Partial, Screen};
use etw_etl::NewFile;

use crate::failure::Failure;

/// Names standard output in an error, as errors of files name their path.
pub(super) fn about_stdout(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write to standard output: {error}"))
}

/// Creates a file that an interrupt removes until it is complete. A device is written directly.
pub(crate) fn new_file(path: &Path) -> io::Result<(NewFile, Partial)> {
    let beside = |file: &NewFile| (file.beside() != path).then(|| file.beside().to_owned());
    Partial::create(|| NewFile::create(path), beside)
}

/// The output of a command: standard output, or a file.
#[derive(Debug)]
pub(crate) enum Output {
    /// Standard output.
    Stdout(BufWriter<Screen<Stdout>>),
    /// A file, which an interrupt removes until it is complete.
    File(NewFile, Partial),
}

impl Output {
    /// Fails if the file of `--output`, or standard output, is one of `inputs`. Commands call this before they read any.
    pub(crate) fn check(path: Option<&Path>, inputs: &Inputs) -> Result<(), String> {
        path.map_or_else(|| inputs.check_stdout(), |path| inputs.check("--output", path))
    }

    /// The file of `--output`, or standard output.
    pub(crate) fn create(path: Option<&Path>, content: Content) -> Result<Self, String> {
        match path {
            Some(path) => {
                new_file(path).map(|(file, partial)| Self::File(file, partial)).map_err(|error| error.to_string())
            }
            None => Ok(Self::Stdout(BufWriter::new(Screen::new(io::stdout(), content)))),
        }
    }

    /// Writes the rest, and gives a file its name.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Stdout(out) => {
                let written = out.into_inner().map_err(io::IntoInnerError::into_error).and_then(Screen::finish);
                Ok(written.map(drop).map_err(|error| about_stdout(&error))?)
            }
            Self::File(file, _partial) => Ok(file.finish()?),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes).map_err(|error| about_stdout(&error)),
            Self::File(file, _) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush().map_err(|error| about_stdout(&error)),
            Self::File(file, _) => file.flush(),
        }
    }
}
