//! Writes packages that replace packages for Windows. `wdk-build` has the sources in `stand-in/src`, and the version and the
//! dependencies of the release that a driver uses. `winreg` is for build scripts that look for the WDK in the registry.
//!
//! Cargo gets them through a `paths` entry in its configuration. The entry replaces packages with that name and version from any
//! source (crates.io, git or a folder), and does not change Cargo.lock.

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};

use crate::files::{FileError, write_if_changed};
use crate::metadata::{Metadata, Package};
use crate::model::Model;
use crate::prepare_error::PrepareError;

/// The sources of a package, each with its path in `stand-in`.
macro_rules! sources {
    ($dir:literal: $($file:literal),+ $(,)?) => {
        &[$(($file, include_str!(concat!("../stand-in/", $dir, "/", $file)))),+]
    };
}

const WDK_BUILD: &[(&str, &str)] = sources!("src":
    "builder.rs", "config.rs", "driver_config.rs", "error.rs", "kit.rs", "lib.rs", "link.rs",
    "release/v0_2.rs", "release/v0_3.rs", "release/v0_4.rs", "release/v0_6.rs");
const WINREG: &[(&str, &str)] = sources!("winreg": "lib.rs");

/// A release of `wdk-build`: the properties in which stand-ins differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Release {
    version: String,
    /// Its signatures. `stand-in/src/release` has them, or those of the release after it.
    signatures: &'static str,
    /// Its version requirements for packages that the stand-in uses too.
    bindgen: String,
    serde_json: String,
    /// Bindgen gets patterns that ignore case. For these, `regex` needs a feature that bindgen does not enable.
    regex: Option<String>,
}

/// Words in the build script of `wdk-sys` that identify a release, in the order in which they are tried. The version is not
/// sufficient, because development versions have the number of the release before them.
const SIGNATURES: [(&str, &str); 6] = [
    ("bindgen_library_link_raw_lines", "v0_6"),
    ("IoError", FIFTH),
    ("DriverConfig::KMDFConfig(", FIRST),
    ("KMDFConfig::new()", SECOND),
    ("get_include_paths", "v0_3"),
    ("", "v0_4"),
];
/// `wdk-build` 0.1 and 0.2, which do not read driver models from manifests. They have one source file; 0.1 has an older bindgen, which
/// makes arrays of C strings.
const FIRST: &str = "v0_1";
const SECOND: &str = "v0_2";
/// What bindgen of `wdk-build` 0.1 has in place of a newer one.
const OLD_BINDGEN: [(&str, &str); 2] =
    [("CargoCallbacks::new()", "CargoCallbacks"), ("generate_cstr(true)", "generate_cstr(false)")];
/// `wdk-build` 0.5, which has the signatures of 0.6. Its bindings do not link the libraries: the build script of the driver does.
const FIFTH: &str = "v0_5";
const LINKS_IN_SCRIPT: [(&str, &str); 1] = [("LINKS_IN_BINDINGS: bool = true", "LINKS_IN_BINDINGS: bool = false")];

impl Release {
    /// Identifies a release from its package and that of `wdk-sys`.
    fn from_packages(build: &Package, sys: Option<&Package>) -> Result<Self, PrepareError> {
        let version = build.version.clone();
        let minor: u32 = version.split('.').nth(1).and_then(|minor| minor.parse().ok()).unwrap_or_default();
        let script = sys.and_then(|sys| fs::read_to_string(sys.dir().join("build.rs")).ok());
        let signatures = match script {
            Some(script) => SIGNATURES.iter().find(|(word, _)| script.contains(word)).map_or("v0_6", |(_, name)| name),
            None if version.starts_with("0.") => {
                [FIRST, FIRST, SECOND, "v0_3", "v0_4", FIFTH].get(minor as usize).copied().unwrap_or("v0_6")
            }
            None => "v0_6",
        };
        let requirement = |name: &str| {
            let found = build.dependencies.iter().find(|one| one.name == name && one.is_normal);
            found.map(|one| one.requirement.clone())
        };
        match (requirement("bindgen"), requirement("serde_json")) {
            (Some(bindgen), Some(serde_json)) => {
                Ok(Self { version, signatures, bindgen, serde_json, regex: requirement("regex") })
            }
            _ => Err(PrepareError::Release { version }),
        }
    }

    /// Returns the only model that the bindings of this release have, if it does not read models from manifests.
    pub(crate) fn fixed_model(&self) -> Option<Model> {
        self.is_early().then_some(Model::Kmdf { minor: 33, minimum: None })
    }

    /// Whether the release has its own `lib.rs`.
    fn is_early(&self) -> bool {
        [FIRST, SECOND].contains(&self.signatures)
    }

    /// Returns the file of `stand-in/src/release` with its signatures, and what to replace in the sources.
    fn source(&self) -> (&'static str, &'static [(&'static str, &'static str)]) {
        match self.signatures {
            FIRST => (SECOND, &OLD_BINDGEN),
            FIFTH => ("v0_6", &LINKS_IN_SCRIPT),
            signatures => (signatures, &[]),
        }
    }

    /// Writes the package below `dir` and returns its folder.
    pub(crate) fn write(&self, dir: &Path) -> Result<PathBuf, FileError> {
        let Self { version, signatures, bindgen, serde_json, regex } = self;
        let regex = regex.as_ref().map_or_else(String::new, |version| {
            format!("regex = {{ version = {version:?}, features = [\"unicode-case\"] }}\n")
        });
        let package = dir.join(format!("wdk-build-{version}-{signatures}"));
        let manifest = format!(
            "# Generated: takes the place of wdk-build {version}.\n[workspace]\n\n[package]\nname = \"wdk-build\"\n\
             version = {version:?}\nedition = \"2021\"\n\n[features]\nnightly = []\n\n\
             [dependencies]\nbindgen = {bindgen:?}\nserde_json = {serde_json:?}\n{regex}"
        );
        write_if_changed(&package.join("Cargo.toml"), &manifest)?;
        let (file, changes) = self.source();
        let release = format!("release/{file}.rs");
        for (path, text) in WDK_BUILD {
            let text = changes.iter().fold((*text).to_owned(), |text, (new, old)| text.replace(new, old));
            if self.is_early() && (*path == "lib.rs" || *path == release) {
                if *path == release {
                    write_if_changed(&package.join("src/lib.rs"), &text)?;
                }
            } else if *path == "lib.rs" {
                write_if_changed(&package.join("src/lib.rs"), &text.replace("release/v0_6.rs", &release))?;
            } else if !path.starts_with("release/") || *path == release {
                write_if_changed(&package.join("src").join(path), &text)?;
            }
        }
        Ok(package)
    }
}

/// Returns every release of `wdk-build`, newest first. The sources of `wdk-sys` show which signatures its `wdk-build` has. This is
/// done only for the newest release; the signatures of the others follow from their version.
pub(crate) fn releases(metadata: &Metadata) -> Result<Vec<Release>, PrepareError> {
    let version = |package: &&Package| numbers(&package.version);
    let newest = metadata.named("wdk-sys").max_by_key(version);
    let mut found: Vec<&Package> = metadata.named("wdk-build").collect();
    found.sort_by_key(|package| Reverse(version(package)));
    found.iter().enumerate().map(|(at, build)| Release::from_packages(build, newest.filter(|_| at == 0))).collect()
}

/// Returns the numbers of a version, which compare as versions do.
pub(crate) fn numbers(version: &str) -> Vec<u32> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

/// Writes the package that replaces a release of `winreg`, and returns its folder.
pub(crate) fn write_registry(version: &str, dir: &Path) -> Result<PathBuf, FileError> {
    let package = dir.join(format!("winreg-{version}"));
    let manifest = format!(
        "# Generated: takes the place of winreg {version}.\n[workspace]\n\n[package]\nname = \"winreg\"\n\
         version = {version:?}\nedition = \"2021\"\n\n[features]\ntransactions = []\nserialization-serde = []\n"
    );
    write_if_changed(&package.join("Cargo.toml"), &manifest)?;
    for (path, text) in WINREG {
        write_if_changed(&package.join("src").join(path), text)?;
    }
    Ok(package)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{Release, WDK_BUILD, WINREG, releases};
    use crate::metadata::{Dependency, Metadata, Package};

    fn original(version: &str) -> Package {
        let dependency =
            |name: &str, req: &str| Dependency { name: name.into(), requirement: req.into(), is_normal: true };
        Package {
            name: "wdk-build".into(),
            version: version.into(),
            dependencies: vec![dependency("bindgen", "^0.71.0"), dependency("serde_json", "^1.0")],
            ..Package::default()
        }
    }

    #[test]
    fn a_release_is_known_by_its_version_and_asks_for_what_the_original_asks_for() {
        for (version, signatures) in [
            ("0.1.0", "v0_1"),
            ("0.2.0", "v0_2"),
            ("0.3.0", "v0_3"),
            ("0.4.0", "v0_4"),
            ("0.5.1", "v0_5"),
            ("0.6.0", "v0_6"),
            ("1.0.0", "v0_6"),
        ] {
            let release = Release::from_packages(&original(version), None).unwrap();
            assert_eq!(release.signatures, signatures);
            assert_eq!(release.bindgen.as_str(), "^0.71.0");
        }
    }

    #[test]
    fn the_newest_release_is_the_one_with_the_largest_numbers() {
        let packages = ["0.9.0", "0.10.1", "0.10.0"].map(original).into();
        let found = releases(&Metadata { packages, ..Metadata::default() }).unwrap();
        let versions: Vec<&str> = found.iter().map(|release| release.version.as_str()).collect();
        assert_eq!(versions, ["0.10.1", "0.10.0", "0.9.0"]);
    }

    #[test]
    fn every_source_of_the_stand_ins_is_written() {
        let stand_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("stand-in");
        let count = |dir: &str| {
            fs::read_dir(stand_in.join(dir)).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_file()).count()
        };
        assert_eq!(count("src") + count("src/release"), WDK_BUILD.len());
        assert_eq!(count("winreg"), WINREG.len());
    }
}
