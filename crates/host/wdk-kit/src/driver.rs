//! A driver's workspace as cargo sees it: which packages are drivers, of which kind, and which releases of the wdk crates they
//! use. Everything is known before anything is compiled.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Error;
use crate::stand_in::Release;

/// What a build of a driver's workspace needs to know.
#[derive(Debug)]
pub struct Workspace {
    /// Its folder.
    pub root: PathBuf,
    /// Its target directory.
    pub target: PathBuf,
    /// How many of its packages have no driver.
    pub others: usize,
    /// The drivers by their model, as JSON: one build can have one model only.
    pub groups: BTreeMap<String, Vec<Package>>,
    /// The `wdk-build` that they use; none for drivers that do not use Microsoft's crates.
    pub release: Option<Release>,
}

/// A package with a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// The package's name.
    pub name: String,
    /// The name of its library.
    pub library: String,
    /// Its folder.
    pub folder: PathBuf,
    /// Whether its library enables unstable features.
    pub is_unstable: bool,
}

impl Workspace {
    /// Asks cargo about the workspace of `manifest`. `wanted` are names of packages; without any the drivers are that of the
    /// manifest, or all of a workspace that has no package at its root.
    ///
    /// # Errors
    ///
    /// If cargo fails, there is no driver, or the kit cannot build it: the message says what to change.
    pub fn read(manifest: &Path, triple: &str, wanted: &[String]) -> Result<Self, Error> {
        let metadata = cargo_metadata(manifest, triple)?;
        let root = PathBuf::from(metadata["workspace_root"].as_str().unwrap_or_default());
        let target = PathBuf::from(metadata["target_directory"].as_str().unwrap_or_default());
        let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let members = metadata["workspace_members"].as_array().map(Vec::as_slice).unwrap_or_default();
        let members: Vec<&Value> = packages.iter().filter(|package| members.contains(&package["id"])).collect();
        let others = members.iter().filter(|package| cdylib(package).is_none()).count();
        let release =
            find(packages, "wdk-build").map(|found| Release::of(found, find(packages, "wdk-sys"))).transpose()?;

        let mut groups = BTreeMap::<String, Vec<Package>>::new();
        let default = metadata["workspace_default_members"].as_array().map(Vec::as_slice).unwrap_or_default();
        let chosen = chosen(&members, default, manifest, wanted)?;
        // A workspace has other packages than drivers; a package that was named has to be one.
        let may_skip = wanted.is_empty() && chosen.len() > 1;
        for package in chosen {
            let name = package["name"].as_str().unwrap_or_default();
            let Some(library) = cdylib(package) else {
                if may_skip {
                    continue;
                }
                return Err(Error(format!(
                    "the package {name} has no driver: add crate-type = [\"cdylib\"] to [lib] in {}",
                    package["manifest_path"].as_str().unwrap_or_default()
                )));
            };
            let model = match model(package, &members, &metadata["metadata"])? {
                Some(model) => model,
                None if release.is_none() => String::new(),
                // A library of user mode in the same workspace.
                None if may_skip && !uses_wdk(package) => continue,
                None => {
                    return Err(Error(format!(
                        "the package {name} does not say what kind of driver it is: add [package.metadata.wdk.driver-model] \
                         with driver-type = \"KMDF\" or \"WDM\" to {}",
                        package["manifest_path"].as_str().unwrap_or_default()
                    )));
                }
            };
            check_model(name, &model)?;
            groups.entry(model).or_default().push(library);
        }
        if groups.is_empty() {
            return Err(Error(format!(
                "no package of {} is a driver: a driver's [lib] has crate-type = [\"cdylib\"]",
                root.display()
            )));
        }
        Ok(Self { root, target, others, groups, release })
    }
}

/// `WDF_FIRST_VERSION_SUPPORTING_CLIENT_VERSION_HIGHER_THAN_FRAMEWORK`; the WDK's headers reject other minimums.
const OLDEST_MINIMUM: u64 = 25;

fn cargo_metadata(manifest: &Path, triple: &str) -> Result<Value, Error> {
    let folder = manifest.parent().unwrap_or(manifest);
    // The driver's own toolchain, if it asks for one.
    let mut cargo = match env::var_os("WDK_KIT_TOOLCHAIN") {
        Some(toolchain) => {
            let mut cargo = Command::new("cargo");
            cargo.env("RUSTUP_TOOLCHAIN", toolchain);
            cargo
        }
        None => Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into())),
    };
    let output = cargo
        .args(["metadata", "--format-version", "1", "--filter-platform", triple, "--manifest-path"])
        .arg(manifest)
        .current_dir(folder)
        .output()
        .map_err(|error| Error(format!("cargo could not be started: {error}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        if said.contains("to learn about target-specific information") {
            let reason = said.lines().rev().find_map(|line| line.trim().strip_prefix("error: ")).unwrap_or(&said);
            return Err(Error(format!(
                "rustc does not understand the `rustflags` in a .cargo/config.toml in or above {}: {reason}; correct them there",
                folder.display()
            )));
        }
        return Err(Error(format!("cargo does not understand {}:\n{said}", manifest.display())));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| Error(format!("cargo metadata: {error}")))
}

fn find<'a>(packages: &'a [Value], name: &str) -> Option<&'a Value> {
    // Of several releases the newest: it is the one that has to work.
    packages.iter().filter(|package| package["name"] == name).max_by_key(|package| package["version"].to_string())
}

/// The packages that are asked for.
fn chosen<'a>(
    members: &[&'a Value],
    default: &[Value],
    manifest: &Path,
    wanted: &[String],
) -> Result<Vec<&'a Value>, Error> {
    if let Some(unknown) = wanted.iter().find(|name| !members.iter().any(|member| member["name"] == name.as_str())) {
        let names: Vec<&str> = members.iter().filter_map(|member| member["name"].as_str()).collect();
        return Err(Error(format!("the workspace has no package `{unknown}`; it has {}", names.join(", "))));
    }
    if !wanted.is_empty() {
        return Ok(members
            .iter()
            .copied()
            .filter(|member| wanted.iter().any(|name| member["name"] == name.as_str()))
            .collect());
    }
    let own: Vec<&Value> = members
        .iter()
        .copied()
        .filter(|member| member["manifest_path"].as_str().map(Path::new) == Some(manifest))
        .collect();
    let is_default = |member: &&&Value| default.is_empty() || default.contains(&member["id"]);
    Ok(if own.is_empty() { members.iter().filter(is_default).copied().collect() } else { own })
}

/// The library of a package, if it can be a driver.
fn cdylib(package: &Value) -> Option<Package> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let targets = package["targets"].as_array()?;
    let is_cdylib =
        |target: &&Value| target["crate_types"].as_array().is_some_and(|all| all.iter().any(|one| one == "cdylib"));
    let library = targets.iter().find(is_cdylib)?;
    let source = fs::read_to_string(text(&library["src_path"])).unwrap_or_default();
    Some(Package {
        name: text(&package["name"]),
        library: text(&library["name"]).replace('-', "_"),
        folder: Path::new(&text(&package["manifest_path"])).parent()?.to_path_buf(),
        is_unstable: source.lines().any(|line| line.trim_start().starts_with("#![feature(")),
    })
}

fn uses_wdk(package: &Value) -> bool {
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    dependencies
        .into_iter()
        .any(|one| one["name"].as_str().is_some_and(|name| name == "wdk" || name.starts_with("wdk-")))
}

/// The driver model of a package: its own, the workspace's, or the only one that its workspace has.
fn model(package: &Value, members: &[&Value], workspace: &Value) -> Result<Option<String>, Error> {
    let table = |value: &Value| {
        let model = &value["wdk"]["driver-model"];
        (!model.is_null()).then(|| model.to_string())
    };
    if let Some(own) = table(&package["metadata"]).or_else(|| table(workspace)) {
        return Ok(Some(own));
    }
    let mut others: Vec<String> = members.iter().filter_map(|member| table(&member["metadata"])).collect();
    others.sort();
    others.dedup();
    match others.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only.clone())),
        _ => Err(Error(format!(
            "the package {} has no driver model of its own, and its workspace has several: {}",
            package["name"].as_str().unwrap_or_default(),
            others.join(" and ")
        ))),
    }
}

/// What can be said about a model before anything is compiled.
fn check_model(name: &str, model: &str) -> Result<(), Error> {
    let table: Value = serde_json::from_str(model).unwrap_or_default();
    let number = |key: &str| table[key].as_u64();
    match table["driver-type"].as_str() {
        Some("WDM") | None => Ok(()),
        Some("KMDF") => match (number("kmdf-version-major"), number("target-kmdf-version-minor")) {
            (Some(1), Some(minor)) if crate::wdf::MINORS.iter().any(|known| u64::from(*known) == minor) => {
                match number("minimum-kmdf-version-minor") {
                    Some(minimum) if !(OLDEST_MINIMUM..=minor).contains(&minimum) => Err(Error(format!(
                        "the package {name} has minimum-kmdf-version-minor = {minimum}; the framework allows {OLDEST_MINIMUM} to \
                         {minor}, the target version"
                    ))),
                    _ => Ok(()),
                }
            }
            (major, minor) => {
                let shown = |number: Option<u64>| number.map_or_else(|| String::from("?"), |number| number.to_string());
                let known: Vec<String> = crate::wdf::MINORS.iter().map(|minor| format!("1.{minor}")).collect();
                Err(Error(format!(
                    "the package {name} is built for KMDF {}.{}, which the kit does not have; set kmdf-version-major and \
                     target-kmdf-version-minor to one of {}",
                    shown(major),
                    shown(minor),
                    known.join(", ")
                )))
            }
        },
        Some("UMDF") => Err(Error(format!(
            "the package {name} is a UMDF driver, a program of user mode; the kit builds KMDF and WDM drivers, and UMDF needs \
             Windows and the WDK"
        ))),
        Some(other) => Err(Error(format!("the package {name} has the driver-type \"{other}\"; it can be KMDF or WDM"))),
    }
}

#[cfg(test)]
mod tests {
    use super::check_model;

    fn kmdf(target: u8, minimum: Option<u8>) -> String {
        let minimum = minimum.map_or(String::new(), |minor| format!(",\"minimum-kmdf-version-minor\":{minor}"));
        format!("{{\"driver-type\":\"KMDF\",\"kmdf-version-major\":1,\"target-kmdf-version-minor\":{target}{minimum}}}")
    }

    #[test]
    fn every_version_from_1_15_on_can_be_built_for() {
        for minor in [15, 17, 19, 21, 23, 25, 27, 29, 31, 33] {
            assert_eq!(check_model("it", &kmdf(minor, None)), Ok(()));
        }
        let error = check_model("it", &kmdf(13, None)).unwrap_err().to_string();
        assert!(error.contains("KMDF 1.13") && error.contains("1.15, 1.17"), "{error}");
    }

    #[test]
    fn a_minimum_that_the_wdk_rejects_is_rejected() {
        for (minimum, allowed) in [(24, false), (25, true), (33, true), (34, false)] {
            assert_eq!(check_model("it", &kmdf(33, Some(minimum))).is_ok(), allowed, "{minimum}");
        }
        let error = check_model("it", &kmdf(33, Some(9))).unwrap_err().to_string();
        assert!(error.contains("minimum-kmdf-version-minor = 9") && error.contains("25 to 33"), "{error}");
    }

    #[test]
    fn a_user_mode_driver_is_refused() {
        let error = check_model("it", "{\"driver-type\":\"UMDF\"}").unwrap_err().to_string();
        assert!(error.contains("it is a UMDF driver".trim_start_matches("it ")), "{error}");
    }
}
