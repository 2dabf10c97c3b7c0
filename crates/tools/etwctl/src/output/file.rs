//! An output file: written beside its place, and put there when it is complete.

use std::fs::{self, File};
use std::io::{self, BufWriter, Stdout, Write};
use std::path::{Path, PathBuf};

use crate::context::Failure;

/// Where a command writes: standard output, or a file.
#[derive(Debug)]
pub(crate) enum Output {
    /// Standard output.
    Stdout(BufWriter<Stdout>),
    /// A file.
    File(OutputFile),
}

impl Output {
    /// The file of `--output`, or standard output.
    pub(crate) fn of(path: Option<&Path>, inputs: &[&Path]) -> Result<Self, String> {
        match path {
            Some(path) => OutputFile::create(path, inputs).map(Self::File),
            None => Ok(Self::Stdout(BufWriter::new(io::stdout()))),
        }
    }

    /// Writes what is left, and puts a file in its place.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Stdout(mut out) => Ok(out.flush()?),
            Self::File(file) => file.finish().map_err(|message| Failure::Io(io::Error::other(message))),
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

/// A file that takes its name when it is complete. Until then the file that was there stays as it is.
#[derive(Debug)]
pub(crate) struct OutputFile {
    path: PathBuf,
    beside: PathBuf,
    out: Option<BufWriter<File>>,
}

impl OutputFile {
    /// Begins a file that must not be one of `inputs`. The message of an error names the path.
    pub(crate) fn create(path: &Path, inputs: &[&Path]) -> Result<Self, String> {
        if let Some(input) = inputs.iter().find(|input| is_same(path, input)) {
            return Err(format!("--output {} is the input {}: choose another file", path.display(), input.display()));
        }
        let name = path.file_name().ok_or_else(|| format!("--output {} does not name a file", path.display()))?;
        if path.is_dir() {
            return Err(format!("--output {} is a folder: name a file in it", path.display()));
        }
        let mut beside = name.to_owned();
        beside.push(format!(".{}.partial", std::process::id()));
        let beside = path.with_file_name(beside);
        let file = File::create(&beside).map_err(|error| format!("cannot write {}: {error}", beside.display()))?;
        Ok(Self { path: path.to_owned(), beside, out: Some(BufWriter::new(file)) })
    }

    /// Puts the complete file in its place.
    pub(crate) fn finish(mut self) -> Result<(), String> {
        let cannot = |error: io::Error| format!("cannot write {}: {error}", self.path.display());
        if let Some(out) = self.out.take() {
            out.into_inner().map_err(|error| cannot(error.into_error()))?.sync_all().map_err(cannot)?;
        }
        fs::rename(&self.beside, &self.path).map_err(cannot)
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let out = self.out.as_mut().ok_or_else(|| io::Error::other("the file is complete"))?;
        out.write(bytes).map_err(|error| named(&self.beside, &error))
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.out {
            Some(out) => out.flush().map_err(|error| named(&self.beside, &error)),
            None => Ok(()),
        }
    }
}

impl Drop for OutputFile {
    /// A file that is not complete leaves nothing behind; after `finish` there is nothing of this name.
    fn drop(&mut self) {
        drop(self.out.take());
        let _ = fs::remove_file(&self.beside);
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display()))
}

/// Whether two paths lead to one file, through links as well.
fn is_same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}
