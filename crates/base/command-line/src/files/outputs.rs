//! The files that a command writes. What the command line names has no path that could be opened: only [`Outputs`] makes an
//! [`Output`] of it, and checks first that it replaces none of the command's inputs and no other output.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::inputs::{Identity, Inputs};
use super::{OutputError, OwnDir, partial};
use crate::shown;

/// A file or folder to write, as the command line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputPath(PathBuf);

impl From<OsString> for OutputPath {
    fn from(path: OsString) -> Self {
        Self(path.into())
    }
}

impl From<PathBuf> for OutputPath {
    fn from(path: PathBuf) -> Self {
        Self(path)
    }
}

impl fmt::Display for OutputPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.0))
    }
}

/// A file that may be written: it is none of the inputs of its command, or it is in a folder of the program's own.
#[derive(Clone, Debug)]
pub struct Output(PathBuf);

impl Output {
    pub(super) fn unchecked(path: PathBuf) -> Self {
        Self(path)
    }

    /// Writes the file. It gets its name when it is complete, and the mode of a file that it replaces; until then that file stays
    /// unchanged. A device is written directly.
    ///
    /// # Errors
    ///
    /// If the file cannot be written: the error names it.
    pub fn write(&self, contents: impl AsRef<[u8]>) -> Result<(), OutputError> {
        let written = partial::write(&self.0, |file| io::Write::write_all(file, contents.as_ref()));
        written.map_err(|error| OutputError::Write(self.0.clone(), error))
    }

    /// Creates the file, or empties it, for another program that prints into it.
    ///
    /// # Errors
    ///
    /// If the file cannot be created: the error names it.
    pub fn create_log(&self) -> Result<fs::File, OutputError> {
        fs::File::create(&self.0).map_err(|error| OutputError::Write(self.0.clone(), error))
    }

    /// Lets another program write the file: `write` gets a path beside it. The file gets its name when `write` succeeds.
    ///
    /// # Errors
    ///
    /// The error of `write`, or if the file cannot be renamed.
    pub fn write_with<E: From<OutputError>>(&self, write: impl FnOnce(&Path) -> Result<(), E>) -> Result<(), E> {
        partial::write_with(&self.0, write, |error| OutputError::Write(self.0.clone(), error).into())
    }

    /// Writes a copy of a file, as [`write`](Self::write) does.
    ///
    /// # Errors
    ///
    /// If one cannot be read or the other not be written: the error names it.
    pub fn copy(&self, from: &Path) -> Result<(), OutputError> {
        let unreadable = |error| OutputError::Read(from.to_owned(), error);
        let mut source = fs::File::open(from).map_err(unreadable)?;
        // Opening a folder succeeds, reading it does not.
        if source.metadata().map_err(unreadable)?.is_dir() {
            return Err(unreadable(io::ErrorKind::IsADirectory.into()));
        }
        let written = partial::write(&self.0, |file| io::copy(&mut source, file).map(drop));
        written.map_err(|error| OutputError::Write(self.0.clone(), error))
    }
}

impl AsRef<Path> for Output {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

/// A folder whose files may be written, each after a check of its own.
#[derive(Clone, Debug)]
pub struct OutputDir {
    path: PathBuf,
    inputs: Inputs,
}

impl OutputDir {
    /// Returns the folder, for messages and to create and list it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a folder in this one.
    #[must_use]
    pub fn dir(&self, name: &str) -> Self {
        Self { path: self.path.join(name), inputs: self.inputs.clone() }
    }

    /// Creates the folder, and those above it, unless it exists.
    ///
    /// # Errors
    ///
    /// If it cannot be created: the error names it.
    pub fn create(&self) -> Result<(), OutputError> {
        fs::create_dir_all(&self.path).map_err(|error| OutputError::Write(self.path.clone(), error))
    }

    /// Checks a file in the folder.
    ///
    /// # Errors
    ///
    /// If it would replace an input: the error names both.
    pub fn file(&self, name: &str) -> Result<Output, OutputError> {
        let path = self.path.join(name);
        self.inputs.check("the output", &path)?;
        Ok(Output(path))
    }

    /// Checks a folder that is removed or replaced as a whole. Then it is the program's own.
    ///
    /// # Errors
    ///
    /// If an input is in the folder: the error names both.
    pub fn into_own(self) -> Result<OwnDir, OutputError> {
        self.inputs.check_removed(&self.path)?;
        Ok(OwnDir::new(self.path))
    }
}

/// Checks the outputs of a command.
///
/// ```
/// use command_line::{Inputs, Outputs, OutputPath};
///
/// let dir = std::env::temp_dir().join(format!("command-line-outputs-{}", std::process::id()));
/// std::fs::create_dir_all(&dir)?;
/// let input = dir.join("driver.sys");
/// std::fs::write(&input, "input")?;
/// let mut outputs = Outputs::new(Inputs::new().file(&input));
/// assert!(outputs.file("--etl", &OutputPath::from(input)).is_err());
/// let trace = OutputPath::from(dir.join("trace.etl"));
/// let output = outputs.file("--etl", &trace)?;
/// output.write("events")?;
/// assert_eq!(std::fs::read(dir.join("trace.etl"))?, b"events");
/// assert!(outputs.file("--coverage", &trace).is_err());
/// # std::fs::remove_dir_all(dir)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Outputs {
    inputs: Inputs,
    /// The files so far, with the options that name them.
    files: Vec<(String, PathBuf)>,
}

impl Outputs {
    /// Begins with all inputs of a command.
    #[must_use]
    pub const fn new(inputs: Inputs) -> Self {
        Self { inputs, files: Vec::new() }
    }

    /// Adds inputs, which files that are checked later must not replace.
    #[must_use]
    pub fn and(mut self, inputs: &Inputs) -> Self {
        self.inputs = self.inputs.and(inputs);
        self
    }

    /// Checks a file. `option` is how the user named it, such as `--output`.
    ///
    /// # Errors
    ///
    /// If it is an input or the file of another option: the error names both.
    pub fn file(&mut self, option: &str, path: &OutputPath) -> Result<Output, OutputError> {
        let OutputPath(path) = path;
        self.inputs.check(option, path)?;
        if let Some((other, _)) = self.files.iter().find(|(_, known)| is_same(known, path)) {
            return Err(OutputError::Twice { option: option.to_owned(), other: other.clone(), path: path.clone() });
        }
        self.files.push((option.to_owned(), path.clone()));
        Ok(Output(path.clone()))
    }

    /// Adds a folder, in which the command chooses the names of files.
    #[must_use]
    pub fn dir(&self, path: &OutputPath) -> OutputDir {
        OutputDir { path: path.0.clone(), inputs: self.inputs.clone() }
    }

    /// Checks that standard output is not redirected to one of the inputs.
    ///
    /// # Errors
    ///
    /// If it is: the error names the input.
    pub fn stdout(&self) -> Result<(), OutputError> {
        self.inputs.check_stdout()
    }
}

/// Returns whether two paths lead to one regular file, which need not exist yet.
fn is_same(one: &Path, other: &Path) -> bool {
    let name = |path: &Path| {
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(dir.canonicalize().ok()?.join(path.file_name()?))
    };
    match (one.exists(), other.exists()) {
        (true, true) => Identity::from_path(one).is_some_and(|identity| Identity::from_path(other) == Some(identity)),
        (false, false) => name(one).is_some_and(|path| name(other) == Some(path)),
        _ => false,
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
