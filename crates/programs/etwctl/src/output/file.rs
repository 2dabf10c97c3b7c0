//! The output of a command.

use std::fmt;
use std::io::{self, BufWriter, Stdout, Write};

use command_line::{Content, Inputs, OutputError, OutputPath, Outputs, Partial, Screen};
use etw_etl::NewFile;

use crate::failure::Failure;

/// Standard output could not be written, or its reader has closed it. `command_line` has reported it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StdoutError;

impl fmt::Display for StdoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot write to standard output")
    }
}

impl std::error::Error for StdoutError {}

/// Reports an error of standard output, and tells it from others: a connection can be closed, too.
pub(super) fn about_stdout(error: &io::Error) -> io::Error {
    command_line::stdout_failed(error);
    io::Error::new(error.kind(), StdoutError)
}

/// Creates a file that an interrupt removes until it is complete. A device is written directly.
#[expect(clippy::disallowed_methods, reason = "the output was checked")]
pub(crate) fn new_file(output: &command_line::Output) -> io::Result<(NewFile, Partial)> {
    let beside = |file: &NewFile| (file.beside() != output.as_ref()).then(|| file.beside().to_owned());
    Partial::create(|| NewFile::create(output), beside)
}

/// Where a command writes: a file, or standard output. It is none of the command's inputs.
#[derive(Debug)]
pub(crate) struct Destination(Option<command_line::Output>);

impl Destination {
    /// Checks the file of `option`, or standard output. Commands call this before they read any input.
    pub(crate) fn check(option: &str, path: Option<&OutputPath>, inputs: Inputs) -> Result<Self, OutputError> {
        let mut outputs = Outputs::new(inputs);
        if let Some(path) = path {
            return Ok(Self(Some(outputs.file(option, path)?)));
        }
        outputs.stdout()?;
        Ok(Self(None))
    }

    /// Creates the file. It gets its name when it is complete.
    pub(crate) fn create(&self, content: Content) -> Result<Output, Failure> {
        match &self.0 {
            Some(output) => {
                let (file, partial) = new_file(output).map_err(|error| Failure::Usage(error.to_string()))?;
                Ok(Output::File(file, partial))
            }
            None => Ok(Output::Stdout(BufWriter::new(Screen::new(io::stdout(), content)))),
        }
    }
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
