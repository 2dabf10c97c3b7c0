//! The files that a command writes: checked against everything that it reads, before the driver runs.

use std::path::PathBuf;
use std::{fmt, io};

use command_line::{Inputs, Output, OutputError, Outputs};
use etw_etl::NewFile;

use super::args::{Coverage, Options};
use nt_host::{Builder, Error};

/// Why the files of a command cannot be used.
#[derive(Debug)]
pub(super) enum FilesError {
    /// What the run reads is not known.
    Run(Error),
    /// An output is an input, or cannot be checked or written.
    Output(OutputError),
    /// This file or folder cannot be read or created.
    Path(PathBuf, io::Error),
    /// Writing failed; the error names the file.
    Write(io::Error),
    /// The file is not an input of the fuzzer.
    NotAnInput(PathBuf),
}

impl fmt::Display for FilesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(error) => error.fmt(f),
            Self::Output(error) => error.fmt(f),
            Self::Path(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Write(error) => error.fmt(f),
            Self::NotAnInput(path) => {
                write!(f, "{} is not an input: expected an option of `run` in each line", path.display())
            }
        }
    }
}

impl std::error::Error for FilesError {}

/// Finds what a run with these options reads, besides `others`. The outputs of its command must be none of that.
pub(super) fn outputs(builder: &Builder, options: &Options, others: &[PathBuf]) -> Result<Outputs, FilesError> {
    let files = builder.files().map_err(FilesError::Run)?;
    let inputs = Inputs::new().files(files).files(options.hardware.files()).files(options.steps.files()).files(others);
    let outputs = Outputs::new(inputs);
    outputs.stdout().map_err(FilesError::Output)?;
    Ok(outputs)
}

/// Adds `--coverage` to a run: with a file, or without.
pub(super) fn with_coverage(
    builder: Builder,
    coverage: &Coverage,
    outputs: &mut Outputs,
) -> Result<Builder, FilesError> {
    Ok(match &coverage.file {
        Some(Some(path)) => builder.coverage(outputs.file("--coverage", path).map_err(FilesError::Output)?),
        Some(None) => builder.measure_coverage(),
        None => builder,
    })
}

/// Creates a file. It gets its name when it is complete.
#[expect(clippy::disallowed_methods, reason = "the output was checked")]
pub(super) fn create(output: &Output) -> io::Result<NewFile> {
    NewFile::create(output)
}
