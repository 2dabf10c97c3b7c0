//! Writes packages that replace packages for Windows. `wdk-build` has the sources in `stand-in/src`, and the version and the
//! dependencies of the release that a driver uses. `winreg` is for build scripts that look for the WDK in the registry.
//!
//! Cargo gets them through a `paths` entry in its configuration. The entry replaces packages with that name and version from any
//! source (crates.io, git or a folder), and does not change Cargo.lock.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{Error, files, layout};

/// A release of `wdk-build`: the properties in which stand-ins differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Its version.
    pub version: String,
    /// The file of `stand-in/src/release` with its signatures.
    signatures: &'static str,
    /// Its version requirements for packages that the stand-in uses too.
    bindgen: String,
    serde_json: String,
    /// Bindgen gets patterns that ignore case. For these, `regex` needs a feature that bindgen does not enable.
    regex: Option<String>,
}

/// Words in the build script of `wdk-sys` that identify a release, in the order in which they are tried. The version is not
/// sufficient, because development versions have the number of the release before them.
const SIGNATURES: [(&str, &str); 5] = [
    ("bindgen_library_link_raw_lines", "v0_6"),
    ("IoError", "v0_5"),
    ("KMDFConfig::new()", OLDEST),
    ("get_include_paths", "v0_3"),
    ("", "v0_4"),
];
/// `wdk-build` 0.2, which does not read driver models from manifests.
const OLDEST: &str = "v0_2";

impl Release {
    /// Identifies a release from the entries of `wdk-build` and `wdk-sys` in `cargo metadata`.
    pub(crate) fn of(build: &Value, sys: Option<&Value>) -> Result<Self, Error> {
        let version = build["version"].as_str().unwrap_or_default().to_owned();
        let minor: u32 = version.split('.').nth(1).and_then(|minor| minor.parse().ok()).unwrap_or_default();
        if version.starts_with("0.") && minor < 2 {
            return Err(Error(format!(
                "the driver uses wdk-build {version}, which the kit does not support; change Cargo.toml to wdk-build = \"0.2\" or \
                 later, with wdk, wdk-sys, wdk-alloc and wdk-panic of the same release"
            )));
        }
        let script = sys
            .and_then(|sys| Path::new(sys["manifest_path"].as_str()?).parent().map(|folder| folder.join("build.rs")));
        let script = script.and_then(|path| fs::read_to_string(path).ok());
        let signatures = match script {
            Some(script) => SIGNATURES.iter().find(|(word, _)| script.contains(word)).map_or("v0_6", |(_, name)| name),
            None if version.starts_with("0.") => {
                [OLDEST, "v0_3", "v0_4", "v0_5"].get(minor as usize - 2).copied().unwrap_or("v0_6")
            }
            None => "v0_6",
        };
        let requirement = |name: &str| {
            let dependencies = build["dependencies"].as_array().into_iter().flatten();
            let found = dependencies.into_iter().find(|one| one["name"] == name && one["kind"].is_null());
            found.and_then(|one| one["req"].as_str()).map(str::to_owned)
        };
        match (requirement("bindgen"), requirement("serde_json")) {
            (Some(bindgen), Some(serde_json)) => {
                Ok(Self { version, signatures, bindgen, serde_json, regex: requirement("regex") })
            }
            _ => Err(Error(format!("the kit does not support wdk-build {version}; use 0.2 to 0.6"))),
        }
    }

    /// Returns the only model that the bindings of this release have, if it does not read models from manifests.
    pub(crate) fn fixed_model(&self) -> Option<&'static str> {
        const KMDF: &str = r#"{"driver-type":"KMDF","kmdf-version-major":1,"target-kmdf-version-minor":33}"#;
        (self.signatures == OLDEST).then_some(KMDF)
    }

    /// Writes the package below `folder` and returns the folder of the package.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, Error> {
        let Self { version, signatures, bindgen, serde_json, regex } = self;
        let regex = regex.as_ref().map_or_else(String::new, |version| {
            format!("regex = {{ version = {version:?}, features = [\"unicode-case\"] }}\n")
        });
        let package = folder.join(format!("wdk-build-{version}-{signatures}"));
        let manifest = format!(
            "# Generated: takes the place of wdk-build {version}.\n[workspace]\n\n[package]\nname = \"wdk-build\"\n\
             version = {version:?}\nedition = \"2021\"\n\n[features]\nnightly = []\n\n\
             [dependencies]\nbindgen = {bindgen:?}\nserde_json = {serde_json:?}\n{regex}"
        );
        write_if_changed(&package.join("Cargo.toml"), &manifest)?;
        let release = format!("release/{signatures}.rs");
        for (path, text) in files::below("stand-in/src") {
            if *signatures == OLDEST && (path == "lib.rs" || path == release) {
                if path == release {
                    write_if_changed(&package.join("src/lib.rs"), text)?;
                }
            } else if path == "lib.rs" {
                write_if_changed(&package.join("src/lib.rs"), &text.replace("release/v0_6.rs", &release))?;
            } else if !path.starts_with("release/") || path == release {
                write_if_changed(&package.join("src").join(path), text)?;
            }
        }
        Ok(package)
    }
}

/// Writes the package that replaces a release of `winreg`, and returns its folder.
pub(crate) fn write_registry(version: &str, folder: &Path) -> Result<PathBuf, Error> {
    let package = folder.join(format!("winreg-{version}"));
    let manifest = format!(
        "# Generated: takes the place of winreg {version}.\n[workspace]\n\n[package]\nname = \"winreg\"\n\
         version = {version:?}\nedition = \"2021\"\n\n[features]\ntransactions = []\nserialization-serde = []\n"
    );
    write_if_changed(&package.join("Cargo.toml"), &manifest)?;
    for (path, text) in files::below("stand-in/winreg") {
        write_if_changed(&package.join("src").join(path), text)?;
    }
    Ok(package)
}

/// Writes a file only if its text changes, so that cargo does not compile it again.
fn write_if_changed(path: &Path, text: &str) -> Result<(), Error> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) { Ok(()) } else { layout::write(path, text) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Release;

    fn original(version: &str) -> serde_json::Value {
        let dependency = |name: &str, req: &str| json!({ "name": name, "req": req, "kind": null });
        json!({ "version": version, "dependencies": [dependency("bindgen", "^0.71.0"), dependency("serde_json", "^1.0")] })
    }

    #[test]
    fn a_release_is_known_by_its_version_and_asks_for_what_the_original_asks_for() {
        for (version, signatures) in [
            ("0.2.0", "v0_2"),
            ("0.3.0", "v0_3"),
            ("0.4.0", "v0_4"),
            ("0.5.1", "v0_5"),
            ("0.6.0", "v0_6"),
            ("1.0.0", "v0_6"),
        ] {
            let release = Release::of(&original(version), None).unwrap();
            assert_eq!((release.signatures, release.bindgen.as_str()), (signatures, "^0.71.0"));
        }
    }

    #[test]
    fn an_old_release_is_refused_with_what_to_change() {
        let error = Release::of(&original("0.1.0"), None).unwrap_err().to_string();
        assert!(error.contains("wdk-build 0.1.0") && error.contains("wdk-build = \"0.2\""), "{error}");
    }
}
