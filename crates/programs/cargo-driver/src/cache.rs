//! The limit for the cache of compiled crates: the least recently used ones are removed.
//!
//! Only what cargo compiles again is removed, and nothing from a folder in which a build works.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use command_line::OwnDir;
use command_line::units::size;
use driver_build::setup::note;
use driver_build::{BUILD_LOCK, Error};

/// The folders of the cache with compiled crates: target directories of cargo.
pub(crate) const COMPILED: [&str; 3] = ["build", "build-unstable", "host-tests"];
/// The variable with the limit, and its default.
const LIMIT: (&str, &str) = ("CARGO_DRIVER_CACHE_LIMIT", "4GiB");
/// The file that says when the size of the cache was last checked.
const CHECKED: &str = "size.checked";
const DAY: Duration = Duration::from_hours(24);
/// The folders of a profile in which cargo keeps files for each crate. A crate without its fingerprint is compiled again, so
/// that folder comes first: whatever ends this program, no fingerprint is left without its files.
const PARTS: [&str; 5] = [".fingerprint", "build", "deps", "examples", "incremental"];

/// Removes the least recently used crates until the rest is within the limit. The size is measured once a day.
pub(crate) fn limit(cache: &Path) -> Result<(), Error> {
    let (name, default) = LIMIT;
    let text = env::var(name).ok().filter(|text| !text.is_empty());
    let text = text.as_deref().unwrap_or(default);
    let limit = size(text).map_err(|reason| Error::Usage(format!("{name}: {reason}")))?;
    let own = OwnDir::new(cache);
    let age = fs::metadata(own.file(CHECKED)).and_then(|file| file.modified()).ok();
    if age.is_some_and(|time| SystemTime::now().duration_since(time).is_ok_and(|age| age < DAY)) {
        return Ok(());
    }
    let dirs = COMPILED.map(|name| cache.join(name));
    let excess = dirs.iter().map(|dir| used(dir)).sum::<u64>().saturating_sub(limit);
    // If it cannot be written, the next command measures again.
    let _ = own.file(CHECKED).write("");
    if excess == 0 {
        return Ok(());
    }
    let locks: Vec<(&PathBuf, Vec<File>)> = dirs.iter().filter_map(|dir| Some((dir, lock(dir)?))).collect();
    let mut entries: Vec<Entry> = locks.iter().flat_map(|(dir, _)| entries(dir)).collect();
    entries.sort_by(|one, other| (one.last_used, &one.paths).cmp(&(other.last_used, &other.paths)));
    let mut removed = 0;
    for entry in entries {
        if removed >= excess {
            break;
        }
        entry.remove()?;
        removed += entry.size;
    }
    if removed > 0 {
        note(&format!(
            "the cache {} had more than {text} ({name}): removed {} of crates that were not used for the longest time; \
             they are compiled again when they are needed",
            cache.display(),
            shown(removed)
        ));
    }
    Ok(())
}

/// What cargo keeps for one crate with one set of options, or a file or folder that belongs to no such crate.
struct Entry {
    paths: Vec<PathBuf>,
    size: u64,
    last_used: SystemTime,
}

impl Default for Entry {
    fn default() -> Self {
        Self { paths: Vec::new(), size: 0, last_used: SystemTime::UNIX_EPOCH }
    }
}

impl Entry {
    fn add(&mut self, path: PathBuf) {
        self.measure(&path);
        self.paths.push(path);
    }

    /// Cargo reads a fingerprint whenever it needs the crate. A file system without times of access has the time of compilation.
    /// A folder's times say nothing: listing it changes them.
    fn measure(&mut self, path: &Path) {
        match fs::symlink_metadata(path) {
            Ok(about) if about.is_dir() => children(path).iter().for_each(|path| self.measure(path)),
            Ok(about) => {
                self.size += about.len();
                let times = [about.modified(), about.accessed()].into_iter().flatten();
                self.last_used = times.fold(self.last_used, SystemTime::max);
            }
            Err(_) => {}
        }
    }

    fn remove(&self) -> Result<(), Error> {
        for path in &self.paths {
            let is_dir = fs::symlink_metadata(path).is_ok_and(|about| about.is_dir());
            if is_dir {
                OwnDir::new(path).remove()?;
            } else {
                fs::remove_file(path).map_err(|error| Error::Usage(format!("{}: {error}", path.display())))?;
            }
        }
        Ok(())
    }
}

/// The entries of a target directory: those of its profiles, and of the profiles for each target.
fn entries(target_dir: &Path) -> Vec<Entry> {
    let dirs = children(target_dir).into_iter().flat_map(|dir| children(&dir).into_iter().chain([dir]));
    let profiles = dirs.filter(|dir| PARTS.iter().any(|part| dir.join(part).is_dir()));
    let mut entries: BTreeMap<(PathBuf, OsString), Entry> = BTreeMap::new();
    for profile in profiles {
        let parts = PARTS.iter().flat_map(|part| children(&profile.join(part)));
        let is_image = |path: &PathBuf| path.is_file() && !file_name(path).starts_with('.');
        for path in parts.chain(children(&profile).into_iter().filter(is_image)) {
            let key = hash(&file_name(&path)).map_or_else(|| path.clone().into(), OsString::from);
            entries.entry((profile.clone(), key)).or_default().add(path);
        }
    }
    entries.into_values().collect()
}

/// The hash with which cargo tells compilations of one crate apart: `libquote-0123456789abcdef.rlib`.
fn hash(name: &str) -> Option<&str> {
    let (_, hash) = name.split('.').next()?.rsplit_once('-')?;
    (hash.len() == 16 && hash.bytes().all(|digit| digit.is_ascii_hexdigit())).then_some(hash)
}

/// Locks a target directory against builds; `None` if one works in it. Cargo locks a file for each profile, and a build of drivers
/// one for all.
pub(crate) fn lock(target_dir: &Path) -> Option<Vec<File>> {
    let dirs = children(target_dir).into_iter().flat_map(|dir| children(&dir).into_iter().chain([dir]));
    let names = [".cargo-lock", ".cargo-build-lock", ".cargo-artifact-lock"];
    let paths = dirs.flat_map(|dir| names.map(|name| dir.join(name))).chain([target_dir.join(BUILD_LOCK)]);
    let files: Vec<File> = paths.filter_map(|path| File::open(path).ok()).collect();
    let is_free = files.iter().all(|file| !matches!(file.try_lock(), Err(TryLockError::WouldBlock)));
    is_free.then_some(files)
}

/// How many bytes the files of a folder have. Links are not followed.
pub(crate) fn used(dir: &Path) -> u64 {
    let mut all = Entry::default();
    all.measure(dir);
    all.size
}

pub(crate) fn shown(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

fn children(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::hash;

    #[test]
    fn hashes_of_cargo_are_found() {
        for (name, expected) in [
            ("libquote-0123456789abcdef.rlib", Some("0123456789abcdef")),
            ("wdk-sys-0123456789abcdef", Some("0123456789abcdef")),
            ("it-0123456789abcdef.it.1-cgu.0.rcgu.o", Some("0123456789abcdef")),
            ("driver_sample.dll", None),
            ("driver-sample", None),
            ("driver_sample-1x2y3z4k5j6h7", None),
        ] {
            assert_eq!(hash(name), expected, "{name}");
        }
    }
}
