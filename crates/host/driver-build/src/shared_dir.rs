//! The folder that all drivers are built in: removes stale files that cargo does not notice.

use std::fs;
use std::path::{Path, PathBuf};

use crate::artifacts::Artifacts;
use crate::files::{FileError, write_if_changed};
use crate::host::Host;
use crate::model::Model;
use crate::prepare::Plan;
use crate::workspace::Group;

/// The file with the list of folders in which `wdk-macros` caches what it read from the bindings.
const MACROS: &str = "wdk-macros.folders";

/// The folder in which a plan's drivers are built. Drivers with unstable features have a separate folder, because packages such as
/// `proc-macro2` are compiled again whenever `RUSTC_BOOTSTRAP` changes.
pub(crate) fn path(host: &Host, plan: &Plan) -> PathBuf {
    let is_stable = plan.workspace.unstable.is_empty() && !plan.workspace.has_unstable_flags;
    host.cache().join(if is_stable { "build" } else { "build-unstable" })
}

/// Makes the folder ready for these drivers. It removes two kinds of stale files that cargo does not notice: an image with the same
/// library name from another workspace, because cargo names an image by its library only; and the cache of `wdk-macros`, which it
/// keeps even if the kit or the version of the framework has changed.
pub(crate) fn take_over(plan: &Plan, group: &Group, build: &Path) -> Result<(), FileError> {
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
