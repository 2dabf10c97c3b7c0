//! Where Microsoft's metadata is: in the package `windows-bindgen`, which cargo downloads.
//!
//! The package is not compiled. A package of ours that depends on it is written to the kit's folder, and cargo is asked where
//! the dependency is.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Error;

/// The last release that has `Windows.Wdk.winmd`.
const PACKAGE: &str = "windows-bindgen";
const VERSION: &str = "0.66.0";

/// The folder with `Windows.Wdk.winmd` and `Windows.Win32.winmd`.
pub(crate) fn find(folder: &Path) -> Result<PathBuf, Error> {
    let package = folder.join("source");
    fs::create_dir_all(package.join("src")).map_err(|error| Error::io(&package, &error))?;
    let manifest = package.join("Cargo.toml");
    let text = format!(
        "[workspace]\n[package]\nname = \"source\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [dependencies]\n{PACKAGE} = \"={VERSION}\"\n"
    );
    fs::write(&manifest, text).map_err(|error| Error::io(&manifest, &error))?;
    let library = package.join("src/lib.rs");
    fs::write(&library, "").map_err(|error| Error::io(&library, &error))?;

    let output = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--format-version", "1", "--quiet", "--manifest-path"])
        .arg(&manifest)
        .current_dir(&package)
        .output()
        .map_err(|error| Error(format!("cargo could not be started: {error}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Error(format!(
            "cargo could not download {PACKAGE} {VERSION}, which has Microsoft's metadata: {said}"
        )));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).map_err(|error| Error(error.to_string()))?;
    let found = metadata["packages"].as_array().into_iter().flatten().find(|package| package["name"] == PACKAGE);
    let path = found.and_then(|package| package["manifest_path"].as_str()).map(Path::new).and_then(Path::parent);
    path.map(|path| path.join("default")).ok_or_else(|| Error(format!("cargo does not say where {PACKAGE} is")))
}
