//! Finds Microsoft's metadata and bindings in the packages `windows-bindgen` and `wdk-sys`, which cargo downloads.
//!
//! The packages are not compiled. This module writes a package that depends on them to the kit's folder, and `cargo metadata`
//! returns the folders of the dependencies.

use std::env;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::{Error, layout};

/// The last release that has `Windows.Wdk.winmd`, and the only one of `wdk-sys` that has its bindings.
const PACKAGES: [(&str, &str); 2] = [("windows-bindgen", "0.66.0"), ("wdk-sys", "0.2.0")];

/// The dependencies of `wdk-sys`, with the features that it enables. Empty packages replace them, because nothing is compiled.
const UNUSED: [(&str, &str, &str); 8] = [
    ("anyhow", "1.0.99", ""),
    ("bindgen", "0.69.5", ""),
    ("lazy_static", "1.5.0", "spin_no_std = []"),
    ("rustversion", "1.0.99", ""),
    ("thiserror", "1.0.99", ""),
    ("tracing-subscriber", "0.3.99", "env-filter = []"),
    ("wdk-build", "0.2.0", ""),
    ("wdk-macros", "0.2.0", "nightly = []"),
];

/// The folders of the downloaded files.
pub(crate) struct Sources {
    /// The folder with `Windows.Wdk.winmd` and `Windows.Win32.winmd`.
    pub(crate) metadata: PathBuf,
    /// The folder with `constants.rs`, `types.rs` and `ntddk.rs`.
    pub(crate) bindings: PathBuf,
}

/// Downloads the packages if they are missing, and returns their folders. The package that depends on them is written to `package`.
pub(crate) fn find(package: &Path) -> Result<Sources, Error> {
    let manifest = package.join("Cargo.toml");
    let mut text = format!("[workspace]\n{}[dependencies]\n", head("source", "0.0.0"));
    for (name, version) in PACKAGES {
        let _ = writeln!(text, "{name} = \"={version}\"");
    }
    text += "[patch.crates-io]\n";
    for (name, version, features) in UNUSED {
        let unused = package.join("unused").join(name);
        layout::write(&unused.join("Cargo.toml"), &format!("{}[features]\n{features}\n", head(name, version)))?;
        layout::write(&unused.join("src/lib.rs"), "")?;
        let _ = writeln!(text, "{name} = {{ path = \"unused/{name}\" }}");
    }
    layout::write(&manifest, &text)?;
    layout::write(&package.join("src/lib.rs"), "")?;

    let output = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--format-version", "1", "--quiet", "--manifest-path"])
        .arg(&manifest)
        .current_dir(package)
        .output()
        .map_err(|error| Error::Program { command: String::from("cargo metadata"), reason: error.to_string() })?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let packages = PACKAGES.map(|(name, version)| format!("{name} {version}")).join(" and ");
        return Err(Error::Download { packages, reason });
    }
    let metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|error| Error::Source(format!("cargo metadata: {error}")))?;
    let dir_of = |name: &str| {
        let packages = metadata.get("packages").and_then(Value::as_array).into_iter().flatten();
        let found = packages.into_iter().find(|package| package["name"] == name);
        let path = found.and_then(|package| package["manifest_path"].as_str()).map(Path::new).and_then(Path::parent);
        path.map(Path::to_path_buf).ok_or_else(|| Error::Source(format!("cargo metadata has no path for {name}")))
    };
    let [(metadata_package, _), (bindings_package, _)] = PACKAGES;
    Ok(Sources {
        metadata: dir_of(metadata_package)?.join("default"),
        bindings: dir_of(bindings_package)?.join("generated_bindings"),
    })
}

fn head(name: &str, version: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"{version}\"\nedition = \"2021\"\n")
}
