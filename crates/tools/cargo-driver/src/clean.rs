//! `cargo driver clean`, and the limit for the cache.
//!
//! Only folders that this program makes are removed. Nothing is removed while cargo works in the cache.

use std::env;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use command_line::units::size;
use driver_build::setup::note;
use driver_build::{BUILD_LOCK, Error, Host, target_dir};

use crate::arguments::{Clean, here, manifest};

/// What commands write to a driver's target directory. The folder `signing` is not among them: a machine may trust its certificate.
const OUTPUT: [&str; 3] = ["driver", "package", "deploy"];
/// The folders of the cache with compiled crates.
const COMPILED: [&str; 3] = ["build", "build-unstable", "host-tests"];
/// The other folders of the cache.
const OTHERS: [&str; 7] = ["kit", "stand-in", "tools", "wdk", "exports", "driver-client", "llvm"];
/// The variable with the limit, and its default.
const LIMIT: (&str, &str) = ("CARGO_DRIVER_CACHE_LIMIT", "4GiB");
/// The file that says when the size of the cache was last checked.
const CHECKED: &str = "size.checked";
const DAY: Duration = Duration::from_hours(24);

/// Removes what the command line asks for.
pub(crate) fn clean(host: &Host, line: &Clean) -> Result<(), Error> {
    if line.cache {
        let removed = remove(host.cache(), COMPILED.into_iter().chain(OTHERS))?;
        note(&format!("removed {} from {}", shown(removed), host.cache().display()));
        return Ok(());
    }
    let target_dir = match &line.target_dir {
        Some(dir) => here(dir),
        None => target_dir(host, &manifest(line.manifest_path.as_deref())?)?,
    };
    let removed = remove(&target_dir, OUTPUT)?;
    note(&format!("removed {} from {}", shown(removed), target_dir.display()));
    Ok(())
}

/// Removes the compiled crates if the cache is larger than its limit. It is measured once a day.
pub(crate) fn limit(cache: &Path) -> Result<(), Error> {
    let (name, default) = LIMIT;
    let text = env::var(name).ok().filter(|text| !text.is_empty());
    let text = text.as_deref().unwrap_or(default);
    let limit = size(text).map_err(|reason| Error::Usage(format!("{name}: {reason}")))?;
    let stamp = cache.join(CHECKED);
    let age = fs::metadata(&stamp).and_then(|file| file.modified()).ok();
    if age.is_some_and(|time| SystemTime::now().duration_since(time).is_ok_and(|age| age < DAY)) {
        return Ok(());
    }
    let used: u64 = COMPILED.iter().map(|name| used(&cache.join(name))).sum();
    // If it cannot be written, the next command measures again.
    let _ = fs::write(&stamp, "");
    if used <= limit || COMPILED.iter().any(|name| is_in_use(&cache.join(name))) {
        return Ok(());
    }
    remove(cache, COMPILED)?;
    note(&format!(
        "the cache {} had more than {text} ({name}): removed {} of compiled crates, which are compiled again when they are needed",
        cache.display(),
        shown(used)
    ));
    Ok(())
}

/// Removes these folders of `dir`; returns how many bytes they had.
fn remove<'a>(dir: &Path, names: impl IntoIterator<Item = &'a str>) -> Result<u64, Error> {
    let mut removed = 0;
    for path in names.into_iter().map(|name| dir.join(name)).filter(|path| path.is_dir()) {
        if is_in_use(&path) {
            return Err(Error::Failed(format!("cargo works in {}: try again when it has ended", path.display())));
        }
        removed += used(&path);
        fs::remove_dir_all(&path).map_err(|error| Error::Failed(format!("{}: {error}", path.display())))?;
    }
    Ok(removed)
}

/// Whether a build works in a target directory: cargo locks a file for each profile, and a build of drivers one for all.
fn is_in_use(dir: &Path) -> bool {
    let profiles = |dir: &Path| -> Vec<PathBuf> {
        fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    };
    let dirs = profiles(dir).into_iter().flat_map(|dir| profiles(&dir).into_iter().chain([dir]));
    let locks =
        dirs.flat_map(|dir| [".cargo-lock", ".cargo-build-lock", ".cargo-artifact-lock"].map(|name| dir.join(name)));
    locks
        .chain([dir.join(BUILD_LOCK)])
        .any(|path| File::open(path).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock))))
}

/// How many bytes the files below a folder have. Links are not followed.
fn used(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(about) if about.is_dir() => used(&entry.path()),
            Ok(about) => about.len(),
            Err(_) => 0,
        })
        .sum()
}

fn shown(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::path::PathBuf;

    use super::{COMPILED, is_in_use, remove, used};

    fn cache(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("cargo-driver-clean-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        for path in ["build/release", "build/x/release", "other"] {
            fs::create_dir_all(dir.join(path)).unwrap();
            fs::write(dir.join(path).join("file"), [0; 100]).unwrap();
        }
        dir
    }

    #[test]
    fn only_our_folders_are_removed() {
        let cache = cache("ours");
        assert_eq!(used(&cache), 300);
        assert_eq!(remove(&cache, COMPILED), Ok(200));
        assert!(!cache.join("build").exists() && cache.join("other/file").is_file());
        assert_eq!(remove(&cache, COMPILED), Ok(0), "there is nothing left");
        fs::remove_dir_all(cache).unwrap();
    }

    #[test]
    fn a_folder_in_which_cargo_works_stays() {
        let cache = cache("in use");
        for profile in ["build/release", "build/x/release"] {
            let lock = File::create(cache.join(profile).join(".cargo-lock")).unwrap();
            lock.lock().unwrap();
            assert!(is_in_use(&cache.join("build")), "{profile}");
            assert!(remove(&cache, COMPILED).unwrap_err().to_string().contains("cargo works in"));
            lock.unlock().unwrap();
        }
        assert!(!is_in_use(&cache.join("build")));
        fs::remove_dir_all(cache).unwrap();
    }
}
