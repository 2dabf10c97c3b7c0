//! The manifest that a build is about.

use std::env;
use std::path::{Path, PathBuf};

use cargo_metadata::{Metadata, MetadataCommand};

use crate::ConfigError;

/// The manifest beside the lock file that this build uses, found from `OUT_DIR` upwards.
///
/// # Panics
///
/// Outside of a build script, or with a target folder outside of the workspace.
#[must_use]
pub fn find_top_level_cargo_manifest() -> PathBuf {
    let out_dir = PathBuf::from(env::var_os("OUT_DIR").expect("OUT_DIR is set by Cargo for build scripts"));
    out_dir
        .ancestors()
        .find(|folder| folder.join("Cargo.lock").exists())
        .expect("the target folder is inside of the workspace")
        .join("Cargo.toml")
}

/// What the workspace's own manifests say, without resolving dependencies: that could write the lock file.
pub(crate) fn workspace() -> Result<Metadata, ConfigError> {
    let manifest = find_top_level_cargo_manifest();
    let folder = manifest.parent().unwrap_or_else(|| Path::new("."));
    let metadata = MetadataCommand::new().current_dir(folder).manifest_path(&manifest).no_deps().exec()?;
    for package in &metadata.packages {
        println!("cargo::rerun-if-changed={}", package.manifest_path);
    }
    println!("cargo::rerun-if-changed={}", manifest.display());
    Ok(metadata)
}
