//! Reads and writes files; errors have the path.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// A file or a folder that cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// Its path.
    pub path: PathBuf,
    /// The system's message.
    pub reason: String,
}

impl FileError {
    pub(crate) fn new(path: &Path, error: &io::Error) -> Self {
        Self { path: path.to_path_buf(), reason: error.to_string() }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.reason)
    }
}

impl std::error::Error for FileError {}

impl From<FileError> for Error {
    fn from(error: FileError) -> Self {
        // Exit code 2, as of all programs.
        Self::Usage(error.to_string())
    }
}

/// Writes a file and creates its folder.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), FileError> {
    let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, text));
    written.map_err(|error| FileError::new(path, &error))
}

/// Writes a text file and creates its folder. An equal file is left alone, so that cargo does not compile it again.
pub(crate) fn write_if_changed(path: &Path, text: &str) -> Result<(), FileError> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) { Ok(()) } else { write(path, text) }
}

/// Writes an executable script, unless it already exists with the same text.
pub(crate) fn write_script(file: &Path, text: &str) -> Result<(), FileError> {
    let is_link = fs::read_link(file).is_ok();
    if !is_link && fs::read_to_string(file).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let _ = fs::remove_file(file);
    write(file, text)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).map_err(|error| FileError::new(file, &error))?;
    }
    Ok(())
}

#[cfg(unix)]
pub(crate) fn make_link(real: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(real, link)
}

#[cfg(not(unix))]
pub(crate) fn make_link(real: &Path, link: &Path) -> io::Result<()> {
    fs::copy(real, link).map(drop)
}
