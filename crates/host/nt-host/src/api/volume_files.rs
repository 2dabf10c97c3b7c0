//! Copies files of this machine to the volume.

use std::path::Path;
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
