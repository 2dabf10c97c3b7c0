//! A file that appears under its name only when it is complete.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
#[cfg(unix)]
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

/// A file that is written next to its final path and moved there by [`NewFile::finish`]. Until then an existing file at that path
/// stays unchanged; the new one gets its mode. Dropping a `NewFile` without finishing it leaves nothing behind. Errors name the path
/// that was given to [`NewFile::create`], not the temporary one.
///
/// Devices and pipes, such as `/dev/stdout` and `NUL`, are written directly.
///
/// ```
/// use etw_etl::NewFile;
/// use std::io::Write as _;
///
/// let path = std::env::temp_dir().join(format!("etw-etl-new-{}.csv", std::process::id()));
/// let mut file = NewFile::create(&path)?;
/// file.write_all(b"time,event\n")?;
/// assert!(!path.exists() && file.beside().exists());
/// file.finish()?;
/// assert_eq!(std::fs::read(&path)?, b"time,event\n");
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct NewFile {
    /// The path as it was given, and the file that it leads to.
    given: PathBuf,
    path: PathBuf,
    out: BufWriter<Target>,
}

#[derive(Debug)]
enum Target {
    Beside(NamedTempFile),
    Direct(File),
}

impl NewFile {
    /// Creates the file.
    ///
    /// # Errors
    ///
    /// Fails if the path has no file name or names a directory, or if its folder is not writable.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let given = path.as_ref();
        let about = |error: io::Error| named(given, &error);
        let known = match fs::metadata(given) {
            Ok(known) if known.is_dir() => return Err(about(io::ErrorKind::IsADirectory.into())),
            Ok(known) if known.is_file() => Some(known),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            // A device or a pipe. Windows opens its devices, such as NUL, but describes none of them.
            _ => {
                let file = File::options().write(true).open(given).map_err(about)?;
                let given = given.to_owned();
                return Ok(Self { path: given.clone(), given, out: BufWriter::new(Target::Direct(file)) });
            }
        };
        let name = given.file_name().ok_or_else(|| about(io::ErrorKind::InvalidInput.into()))?;
        // Replace the target of a symbolic link, not the link itself.
        let path = if known.is_some() { fs::canonicalize(given).map_err(about)? } else { given.to_owned() };
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut prefix = name.to_owned();
        prefix.push(".");
        let mut builder = Builder::new();
        builder.prefix(&prefix).suffix(".partial");
        // Errors of `Builder::tempfile_in` name the temporary file.
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        // A new file gets the mode of a normally created one: by default a temporary file is accessible only to its owner.
        #[cfg(unix)]
        options.mode(0o666);
        let file = builder.make_in(dir, |path| options.open(path)).map_err(about)?;
        // A file that is replaced keeps its mode.
        #[cfg(unix)]
        if let Some(known) = &known {
            // The process's mask does not apply to it.
            file.as_file().set_permissions(known.permissions()).map_err(about)?;
        }
        Ok(Self { given: given.to_owned(), path, out: BufWriter::new(Target::Beside(file)) })
    }

    /// Returns the path of the file until it is complete.
    #[must_use]
    pub fn beside(&self) -> &Path {
        match self.out.get_ref() {
            Target::Beside(file) => file.path(),
            Target::Direct(_) => &self.path,
        }
    }

    /// Moves the complete file to its final path.
    ///
    /// # Errors
    ///
    /// Fails if the file could not be written completely. An existing file is then unchanged.
    pub fn finish(self) -> io::Result<()> {
        let Self { given, path, out } = self;
        let about = |error: io::Error| named(&given, &error);
        match out.into_inner().map_err(|error| about(error.into_error()))? {
            Target::Beside(file) => {
                file.as_file().sync_all().map_err(about)?;
                file.persist(&path).map(drop).map_err(|error| about(error.error))
            }
            Target::Direct(_) => Ok(()),
        }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes).map_err(|error| named(&self.given, &error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush().map_err(|error| named(&self.given, &error))
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Beside(file) => file.as_file_mut().write(bytes),
            Self::Direct(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    #[cfg(unix)]
    use std::os::unix::fs::PermissionsExt as _;

    use super::NewFile;

    #[test]
    fn the_old_file_stays_until_the_new_one_is_complete() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.txt");
        fs::write(&path, "old").unwrap();
        let mut file = NewFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        file.flush().unwrap();
        assert_eq!(fs::read_to_string(file.beside()).unwrap(), "half");
        drop(file);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "something is left");
        let mut file = NewFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        file.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let dir = tempfile::tempdir().unwrap();
        for path in [dir.path().join("missing/a"), dir.path().to_owned(), dir.path().join("..")] {
            let error = NewFile::create(&path).unwrap_err().to_string();
            assert!(error.starts_with(&format!("cannot write {}: ", path.display())), "{error}");
            assert!(!error.contains("partial"), "{error}");
        }
    }

    /// A name that is not too long, although that of the temporary file is.
    #[test]
    fn a_temporary_file_that_cannot_be_created_is_not_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("n".repeat(250));
        let error = NewFile::create(&path).unwrap_err().to_string();
        assert!(error.starts_with(&format!("cannot write {}: ", path.display())), "{error}");
        assert!(!error.contains("partial"), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_device_is_an_error() {
        let mut file = NewFile::create("/dev/full").unwrap();
        assert_eq!(file.beside().to_str(), Some("/dev/full"));
        file.write_all(b"some").unwrap();
        assert!(file.flush().unwrap_err().to_string().starts_with("cannot write /dev/full: "));
        assert!(file.finish().unwrap_err().to_string().starts_with("cannot write /dev/full: "));
    }

    #[cfg(unix)]
    #[test]
    fn a_replaced_file_keeps_its_mode() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.txt");
        fs::write(&path, "old").unwrap();
        for mode in [0o600, 0o666, 0o640] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let file = NewFile::create(&path).unwrap();
            assert_eq!(fs::metadata(file.beside()).unwrap().permissions().mode() & 0o777, mode, "until it is complete");
            file.finish().unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        let link = dir.path().join("link");
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let mut new = NewFile::create(&link).unwrap();
        new.write_all(b"new").unwrap();
        new.finish().unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        // A folder takes the place of the file, so the new one cannot be moved there.
        let new = NewFile::create(&link).unwrap();
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        let error = new.finish().unwrap_err().to_string();
        assert!(error.starts_with(&format!("cannot write {}: ", link.display())), "{error}");
    }
}
