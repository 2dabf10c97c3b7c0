//! Copies files of this machine to the volume.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// Adds a copy of a folder of this machine to the files of the volume. Symbolic links are not followed.
pub(super) fn copy(dir: &Path, at: &str, files: &mut Vec<(String, Option<Vec<u8>>)>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let path = format!("{at}\\{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            files.push((path.clone(), None));
            copy(&entry.path(), &path, files)?;
        } else if kind.is_file() {
            files.push((path, Some(fs::read(entry.path())?)));
        }
    }
    Ok(())
}

/// Adds the paths of the files that [`copy`] would read.
pub(super) fn list(dir: &Path, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            list(&entry.path(), paths)?;
        } else if kind.is_file() {
            paths.push(entry.path());
        }
    }
    Ok(())
}
