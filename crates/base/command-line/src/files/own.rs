//! Folders in which only this program writes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Output, OutputError};

/// A folder whose files belong to the program, so that none of them is an input of the user's: a cache, the program's part of a
/// target directory, a folder that it has just made. What a command line names is none: it is an [`OutputDir`](super::OutputDir),
/// which becomes one if it has no input.
///
/// ```
/// use command_line::OwnDir;
///
/// let cache = OwnDir::new(std::env::temp_dir().join(format!("command-line-own-{}", std::process::id())));
/// cache.empty()?;
/// cache.file("size.checked").write("")?;
/// assert!(cache.path().join("size.checked").is_file());
/// cache.remove()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct OwnDir(PathBuf);

impl OwnDir {
    /// States that a folder is the program's own. The path must not come from a command line.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Returns the folder, for messages and to create and list it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns a folder in this one.
    #[must_use]
    pub fn dir(&self, name: impl AsRef<Path>) -> Self {
        Self(self.0.join(name))
    }

    /// Removes the folder with all that is in it, if it exists.
    ///
    /// # Errors
    ///
    /// If it cannot be removed: the error names it.
    pub fn remove(&self) -> Result<(), OutputError> {
        match fs::remove_dir_all(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(OutputError::Write(self.0.clone(), error)),
            _ => Ok(()),
        }
    }

    /// Removes what is in the folder, or creates it.
    ///
    /// # Errors
    ///
    /// If that fails: the error names the folder.
    pub fn empty(&self) -> Result<(), OutputError> {
        self.remove()?;
        fs::create_dir_all(&self.0).map_err(|error| OutputError::Write(self.0.clone(), error))
    }

    /// Returns a file in the folder.
    #[must_use]
    pub fn file(&self, name: impl AsRef<Path>) -> Output {
        Output::unchecked(self.0.join(name))
    }
}
