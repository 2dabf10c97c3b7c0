//! The folder that all drivers are built in: one build at a time, without stale files that cargo does not notice.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::artifacts::Artifacts;
use crate::files::{FileError, write_if_changed};
use crate::host::Host;
use crate::model::Model;
use crate::output::note;
use crate::prepare::Plan;
use crate::workspace::Group;

/// The file with the list of folders in which `wdk-macros` caches what it read from the bindings.
const MACROS: &str = "wdk-macros.folders";

/// The file in the folder that a build locks.
pub const LOCK: &str = "lock";

/// The folder, for one build. Other builds wait until this is dropped: they would remove files that this one needs.
#[derive(Debug)]
pub(crate) struct SharedDir {
    pub(crate) path: PathBuf,
    _lock: File,
}

impl SharedDir {
    /// Waits for the folder, and makes it ready for these drivers.
    pub(crate) fn take_over(host: &Host, plan: &Plan, group: &Group) -> Result<Self, FileError> {
        let path = path(host, plan);
        let file = path.join(LOCK);
        let lock = fs::create_dir_all(&path).and_then(|()| lock(&file));
        let lock = lock.map_err(|error| FileError::new(&file, &error))?;
        remove_stale(plan, group, &path)?;
        Ok(Self { path, _lock: lock })
    }
}

fn lock(path: &Path) -> io::Result<File> {
    let file = File::create(path)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            note("waiting for another build of a driver");
            file.lock()?;
        }
        // As cargo does on file systems without locks.
        Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Unsupported => return Err(error),
        Ok(()) | Err(TryLockError::Error(_)) => {}
    }
    Ok(file)
}

/// The folder in which a plan's drivers are built. Drivers with unstable features have a separate folder, because packages such as
/// `proc-macro2` are compiled again whenever `RUSTC_BOOTSTRAP` changes.
pub(crate) fn path(host: &Host, plan: &Plan) -> PathBuf {
    let is_stable = plan.workspace.unstable.is_empty() && !plan.workspace.has_unstable_flags;
    host.cache().join(if is_stable { "build" } else { "build-unstable" })
}

/// Removes two kinds of stale files that cargo does not notice: an image with the same library name from another workspace, because
/// cargo names an image by its library only; and the cache of `wdk-macros`, which it keeps even if the kit or the version of the
/// framework has changed.
fn remove_stale(plan: &Plan, group: &Group, build: &Path) -> Result<(), FileError> {
    let triple = plan.options.arch.triple();
    let workspace = plan.workspace.root.to_string_lossy();
    for library in group.drivers.iter().map(|driver| &driver.library) {
        let owner = build.join("owners").join(library);
        if fs::read_to_string(&owner).is_ok_and(|old| old != workspace) {
            for profile in fs::read_dir(build.join(triple)).into_iter().flatten().flatten() {
                for dir in ["", "deps"] {
                    let image = profile.path().join(dir).join(library).with_extension("dll");
                    // It is no error if there is no such image.
                    let _ = fs::remove_file(image);
                }
            }
        }
        write_if_changed(&owner, &workspace)?;
    }
    if !matches!(group.model, Model::Kmdf { .. }) {
        return Ok(());
    }
    let seen = build.join("kit.seen");
    let kit = format!("{}\n{}", plan.kit.display(), group.model.name());
    if !fs::read_to_string(&seen).is_ok_and(|old| old == kit) {
        for dir in fs::read_to_string(build.join(MACROS)).unwrap_or_default().lines() {
            // It is no error if there is no such folder.
            let _ = fs::remove_dir_all(Path::new(dir).join("wdk_macros_ast_fragments"));
        }
    }
    write_if_changed(&seen, &kit)
}

/// Records the folders in which `wdk-macros` keeps its cache: the `OUT_DIR` of the package `scratch`, one for each profile and
/// toolchain.
pub(crate) fn remember_macros(build: &Path, artifacts: &Artifacts) -> Result<(), FileError> {
    let path = build.join(MACROS);
    let mut dirs = fs::read_to_string(&path).unwrap_or_default();
    for script in artifacts.scripts.iter().filter(|script| script.package.contains("#scratch@")) {
        let dir = script.out_dir.display().to_string();
        if !dirs.lines().any(|listed| listed == dir) {
            dirs = dirs + &dir + "\n";
        }
    }
    if dirs.is_empty() { Ok(()) } else { write_if_changed(&path, &dirs) }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, TryLockError};

    use super::{LOCK, lock};

    #[test]
    fn two_builds_do_not_have_the_folder_at_the_same_time() {
        let dir = std::env::temp_dir().join(format!("driver-build-lock-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join(LOCK);
        let first = lock(&path).unwrap();
        let second = File::open(&path).unwrap();
        assert!(matches!(second.try_lock(), Err(TryLockError::WouldBlock)));
        drop(first);
        second.try_lock().unwrap();
        fs::remove_dir_all(dir).unwrap();
    }
}
