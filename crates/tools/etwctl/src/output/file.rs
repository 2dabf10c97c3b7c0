//! The output of a command.

use std::io::{self, BufWriter, Stdout, Write};
use std::path::Path;

use etw_etl::NewFile;

use crate::context::Failure;

/// The output of a command: standard output, or a file.
#[derive(Debug)]
pub(crate) enum Output {
    /// Standard output.
    Stdout(BufWriter<Stdout>),
    /// A file.
    File(NewFile),
}

impl Output {
    /// The file of `--output`, or standard output. Fails if the file is one of `inputs`.
    pub(crate) fn of(path: Option<&Path>, inputs: &[&Path]) -> Result<Self, String> {
        match path {
            Some(path) => create(path, inputs).map(Self::File),
            None => Ok(Self::Stdout(BufWriter::new(io::stdout()))),
        }
    }

    /// Writes the rest, and gives a file its name.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Stdout(mut out) => Ok(out.flush()?),
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

/// Creates a file that must not be one of `inputs`.
fn create(path: &Path, inputs: &[&Path]) -> Result<NewFile, String> {
    if let Some(input) = inputs.iter().find(|input| is_same(path, input)) {
        return Err(format!("--output {} is the input {}: choose another file", path.display(), input.display()));
    }
    NewFile::create(path).map_err(|error| error.to_string())
}

/// Whether two paths are the same file, also through symbolic links.
fn is_same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}
