//! The output of a command.

use std::io::{self, BufWriter, Stdout, Write};
use std::path::Path;

use command_line::{Content, Inputs, Screen};
use etw_etl::NewFile;

use crate::failure::Failure;

/// The output of a command: standard output, or a file.
#[derive(Debug)]
pub(crate) enum Output {
    /// Standard output.
    Stdout(BufWriter<Screen<Stdout>>),
    /// A file.
    File(NewFile),
}

impl Output {
    /// Fails if the file of `--output`, or standard output, is one of `inputs`. Commands call this before they read any.
    pub(crate) fn check(path: Option<&Path>, inputs: &Inputs) -> Result<(), String> {
        path.map_or_else(|| inputs.check_stdout(), |path| inputs.check("--output", path))
    }

    /// The file of `--output`, or standard output.
    pub(crate) fn create(path: Option<&Path>, content: Content) -> Result<Self, String> {
        match path {
            Some(path) => NewFile::create(path).map(Self::File).map_err(|error| error.to_string()),
            None => Ok(Self::Stdout(BufWriter::new(Screen::new(io::stdout(), content)))),
        }
    }

    /// Writes the rest, and gives a file its name.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Stdout(out) => {
                out.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?;
                Ok(())
            }
            Self::File(file) => Ok(file.finish()?),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::File(file) => file.flush(),
        }
    }
}
