//! A shadow of a driver's workspace: the same sources, seen through symbolic links, with a lock file of its own.
//!
//! Replacing `wdk-build` makes cargo rewrite Cargo.lock, and the committed one must keep crates.io's. So the build runs in
//! a folder that looks like the workspace and all that is around it: for every folder from the file system's root down
//! to the workspace a real one in the shadow, in which each neighbour is a link. Relative paths in manifests
//! (`../crates/x`) and configuration files (`.cargo/config.toml`) are found as ever; sources are the real ones, at once.
//! Only `Cargo.lock` is a copy, without `wdk-build`, and `target` is the shadow's own.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::files::{describe, write_if_changed};
use super::lock;
use crate::artifacts::Artifacts;
use crate::error::Error;
use crate::setup::note;

const REPLACED: &str = "wdk-build";
/// The list of folders in which `wdk-macros` keeps what it read.
const MACROS: &str = "wdk-macros.folders";

/// One workspace's shadow.
pub(super) struct Shadow {
    /// Where the file system's root is in it.
    root: PathBuf,
    /// The real workspace.
    workspace: PathBuf,
}

impl Shadow {
    /// Makes or refreshes it below `folder`.
    pub(super) fn create(folder: &Path, workspace: &Path) -> Result<Self, Error> {
        let name = workspace.to_string_lossy().trim_start_matches('/').replace('/', "+");
        let shadow = Self { root: folder.join(name), workspace: workspace.to_path_buf() };
        let mut real = PathBuf::new();
        let mut parts = workspace.components().peekable();
        while let Some(part) = parts.next() {
            real.push(part);
            let next = parts.peek().and_then(|next| match next {
                Component::Normal(name) => Some(name.to_os_string()),
                _ => None,
            });
            let own: Vec<OsString> = next.map_or_else(|| vec!["Cargo.lock".into(), "target".into()], |name| vec![name]);
            mirror(&real, &shadow.inside(&real), &own).map_err(|error| describe(&shadow.inside(&real), &error))?;
        }
        shadow.refresh_lock()?;
        Ok(shadow)
    }

    /// Where a real path is in the shadow.
    pub(super) fn inside(&self, real: &Path) -> PathBuf {
        let below = real.strip_prefix("/").unwrap_or(real);
        if below.as_os_str().is_empty() { self.root.clone() } else { self.root.join(below) }
    }

    /// Where the workspace is in it.
    pub(super) fn workspace(&self) -> PathBuf {
        self.inside(&self.workspace)
    }

    /// Where cargo builds: below the lock file, from which `wdk-build` finds the manifest.
    pub(super) fn target(&self) -> PathBuf {
        self.workspace().join("target")
    }

    /// Copies the committed lock when it changed since it was last copied.
    fn refresh_lock(&self) -> Result<(), Error> {
        let Ok(committed) = fs::read_to_string(self.workspace.join("Cargo.lock")) else {
            return Ok(());
        };
        let copied = self.root.join("Cargo.lock.copied");
        let ours = self.workspace().join("Cargo.lock");
        if ours.exists() && fs::read_to_string(&copied).is_ok_and(|text| text == committed) {
            return Ok(());
        }
        write_if_changed(&ours, &lock::without(&committed, REPLACED))?;
        write_if_changed(&copied, &committed)
    }

    /// Says which packages were built at another version than the committed lock has: there should be none.
    pub(super) fn report_lock(&self) {
        let read = |path: PathBuf| fs::read_to_string(path).ok();
        let committed = read(self.workspace.join("Cargo.lock"));
        let built = read(self.workspace().join("Cargo.lock"));
        if let (Some(committed), Some(built)) = (committed, built) {
            let mut additions = lock::additions(&built, &committed);
            additions.retain(|name| *name != REPLACED);
            if !additions.is_empty() {
                note(&format!("not as in Cargo.lock: {}", additions.join(", ")));
            }
        }
    }

    /// `wdk-macros` keeps what it once read of the bindings; it has to read them again when the kit's table changed.
    pub(super) fn forget_macros_of_another_kit(&self, table: &Path) -> Result<(), Error> {
        let text = fs::read_to_string(table).map_err(|error| describe(table, &error))?;
        let seen = self.root.join("wdf-functions.seen");
        if fs::read_to_string(&seen).is_ok_and(|old| old == text) {
            return Ok(());
        }
        for folder in self.macros().lines() {
            // If there is none there is nothing to forget.
            let _ = fs::remove_dir_all(Path::new(folder).join("wdk_macros_ast_fragments"));
        }
        write_if_changed(&seen, &text)
    }

    /// Keeps where `wdk-macros` keeps it: in the folder of the build script of the package `scratch`, one for each profile
    /// and toolchain.
    pub(super) fn remember_macros(&self, artifacts: &Artifacts) -> Result<(), Error> {
        let mut folders = self.macros();
        for script in artifacts.scripts.iter().filter(|script| script.package.contains("#scratch@")) {
            let folder = script.out_dir.display().to_string();
            if !folders.lines().any(|known| known == folder) {
                folders = folders + &folder + "\n";
            }
        }
        write_if_changed(&self.root.join(MACROS), &folders)
    }

    fn macros(&self) -> String {
        fs::read_to_string(self.root.join(MACROS)).unwrap_or_default()
    }

    /// The compiler flags that drivers need, as a `--config` argument; none where the driver sets `build.rustflags`,
    /// which cargo would drop in favour of these.
    pub(super) fn flags(&self, triple: &str) -> Option<String> {
        let own = self.workspace.ancestors().map(|folder| folder.join(".cargo/config.toml"));
        if own.filter_map(|path| fs::read_to_string(path).ok()).any(|text| sets_build_flags(&text)) {
            return None;
        }
        // Paths in the image are those of the sources, not of the links to them.
        let remap = format!("--remap-path-prefix={}=", self.root.display());
        Some(format!("target.{triple}.rustflags=[\"-Ctarget-feature=+crt-static\", {remap:?}]"))
    }
}

/// Makes `shadow` a folder with a link to each entry of `real` but those in `own`, which are left alone.
fn mirror(real: &Path, shadow: &Path, own: &[OsString]) -> io::Result<()> {
    fs::create_dir_all(shadow)?;
    let names = |folder: &Path| -> io::Result<BTreeSet<OsString>> {
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.file_name())).collect()
    };
    // A folder that may be entered but not listed has no neighbours one could refer to.
    let wanted = names(real).unwrap_or_default();
    let present = names(shadow)?;
    for stale in present.difference(&wanted).filter(|name| !own.contains(name)) {
        let path = shadow.join(stale);
        if path.is_symlink() {
            fs::remove_file(path)?;
        }
    }
    for missing in wanted.difference(&present).filter(|name| !own.contains(name)) {
        link(&real.join(missing), &shadow.join(missing))?;
    }
    Ok(())
}

#[cfg(unix)]
fn link(real: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(real, link)
}

#[cfg(not(unix))]
fn link(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::Error::other("there is a WDK for this system"))
}

/// Whether a configuration file has `build.rustflags`.
fn sets_build_flags(config: &str) -> bool {
    let mut section = "";
    config.lines().map(str::trim).any(|line| {
        if line.starts_with('[') {
            section = line;
        }
        line.starts_with("build.rustflags") || (section == "[build]" && line.starts_with("rustflags"))
    })
}

#[cfg(test)]
mod tests {
    use super::sets_build_flags;

    #[test]
    fn flags_for_all_targets_are_noticed() {
        assert!(sets_build_flags("[build]\nrustflags = [\"-Cx\"]\n"));
        assert!(sets_build_flags("build.rustflags = [\"-Cx\"]\n"));
        assert!(!sets_build_flags("[build]\njobs = 2\n[target.x]\nrustflags = [\"-Cx\"]\n"));
        assert!(!sets_build_flags(""));
    }
}
