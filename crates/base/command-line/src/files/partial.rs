//! A file that appears under its name only when it is complete.
//!
//! `etw_etl::NewFile` is the same for long streams. Programs that use this module build without that crate, or have the whole
//! content in memory.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// Makes the names of this process different.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// Writes a file with `contents`. An existing file stays until the new one is complete, which then gets its mode; if that fails,
/// nothing is left. Devices and pipes are written directly.
pub(super) fn write(path: &Path, contents: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let known = match fs::metadata(path) {
        Ok(known) if known.is_file() => Some(known),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        // A device or a pipe. Windows opens its devices, such as NUL, but describes none of them.
        _ => return contents(&mut File::options().write(true).open(path)?),
    };
    let write = |partial: &Path| {
        let mut file = File::options().write(true).create_new(true).open(partial)?;
        if let Some(known) = known {
            file.set_permissions(known.permissions())?;
        }
        contents(&mut file)?;
        file.sync_all()
    };
    write_with(path, write, |error| error)
}

/// Lets `write` write a new file beside the path, and renames it.
pub(super) fn write_with<E>(
    path: &Path,
    write: impl FnOnce(&Path) -> Result<(), E>,
    failed: impl Fn(io::Error) -> E,
) -> Result<(), E> {
    // A link to the file stays a link.
    let place = if path.exists() { fs::canonicalize(path).map_err(&failed)? } else { path.to_owned() };
    let partial = beside(&place).map_err(&failed)?;
    let written = write(&partial).and_then(|()| fs::rename(&partial, &place).map_err(failed));
    if written.is_err() {
        let _ = fs::remove_file(&partial);
    }
    written
}

/// Returns a new path on the same file system.
fn beside(place: &Path) -> io::Result<PathBuf> {
    let mut name = place.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    name.push(format!(".{}-{number}.partial", process::id()));
    Ok(place.with_file_name(name))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{self, Write as _};
    use std::path::PathBuf;

    use super::write;

    fn dir(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("command-line-partial-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    #[test]
    fn the_old_file_stays_until_the_new_one_is_complete() {
        let dir = dir("old");
        let path = dir.join("a");
        fs::write(&path, "old").unwrap();
        let failed = write(&path, |file| {
            file.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        write(&path, |file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1, "something is left");
        fs::remove_dir_all(dir).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_replaced_file_keeps_its_mode_and_a_link_stays_a_link() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let dir = dir("mode");
        let path = dir.join("a");
        let link = dir.join("link");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&path, &link).unwrap();
        write(&link, |file| file.write_all(b"new")).unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        fs::remove_dir_all(dir).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_device_is_written_directly() {
        let error = write("/dev/full".as_ref(), |file| file.write_all(b"some")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        write("/dev/null".as_ref(), |file| file.write_all(b"some")).unwrap();
    }
}
