//! The old file that a recording replaces.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::PathBuf;

use command_line::Output;

/// An old file that is renamed until the recording has begun. If the recording does not begin, the file gets its name back.
#[derive(Debug)]
pub(crate) struct Aside {
    place: PathBuf,
    kept: Option<PathBuf>,
}

impl Aside {
    /// Renames the file at the path, if there is one. Fails if another recording writes to it.
    #[expect(clippy::disallowed_methods, reason = "the output was checked, and nothing is written to the old file")]
    pub(crate) fn new(output: &Output) -> io::Result<Self> {
        let path = output.as_ref();
        let named =
            |error: &dyn std::fmt::Display| io::Error::other(format!("cannot write {}: {error}", path.display()));
        let place = path.to_owned();
        if !path.is_file() {
            return Ok(Self { place, kept: None });
        }
        let file = File::options().write(true).open(path).map_err(|error| named(&error))?;
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(named(&"another recording writes to it"));
        }
        drop(file);
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.old", std::process::id()));
        let kept = path.with_file_name(name);
        fs::rename(path, &kept).map_err(|error| named(&error))?;
        Ok(Self { place, kept: Some(kept) })
    }

    /// Removes the old file. Called after the recording has begun.
    pub(crate) fn drop_old(mut self) -> io::Result<()> {
        self.kept.take().map_or(Ok(()), fs::remove_file)
    }
}

impl Drop for Aside {
    #[expect(clippy::disallowed_methods, reason = "gives the old file its name back")]
    fn drop(&mut self) {
        if let Some(kept) = self.kept.take()
            && let Err(error) = fs::rename(&kept, &self.place)
        {
            command_line::error(&format!(
                "cannot restore {}: {error}; the old file is now {}",
                self.place.display(),
                kept.display()
            ));
        }
    }
}
