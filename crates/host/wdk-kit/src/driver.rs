//! Reads a driver's workspace with `cargo metadata`: which packages are drivers, which driver models they have, and which releases
//! of the wdk crates they use. Errors are found before anything is compiled.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::Error;
use crate::stand_in::{Release, write_registry};
use crate::wdk;

/// The properties of a driver's workspace that a build needs.
#[derive(Debug)]
pub struct Workspace {
    /// Its folder.
    pub root: PathBuf,
    /// Its target directory.
    pub target: PathBuf,
    /// The number of its packages without a driver.
    pub others: usize,
    /// The drivers, grouped by their model as JSON. One build can have only one model.
    pub groups: BTreeMap<String, Vec<Package>>,
    /// Drivers that are built separately, because cargo reads the settings in their folders only if it is started there.
    pub separate: Vec<Package>,
    /// The releases of `wdk-build` that the drivers use; empty if they do not use Microsoft's crates.
    pub releases: Vec<Release>,
    /// The releases of `winreg` that build scripts use.
    pub registries: Vec<String>,
    /// Whether some of the compiler's flags are unstable.
    pub has_unstable_flags: bool,
    /// Whether a local package passes `/ENTRY` to the linker.
    pub names_entry: bool,
    /// Libraries of local packages that enable unstable features: those of the drivers, and others.
    pub unstable: Vec<String>,
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
}

/// Files that cargo and rustup read in the folder in which they are started, and in the folders above it.
const SETTINGS: [&str; 4] = [".cargo/config.toml", ".cargo/config", "rust-toolchain.toml", "rust-toolchain"];

impl Package {
    /// Whether the package has settings that apply only if cargo is started in its folder.
    fn has_settings(&self) -> bool {
        SETTINGS.iter().any(|name| self.folder.join(name).is_file())
    }
}

impl Workspace {
    /// Reads the workspace of `manifest` with `cargo metadata`. `wanted` has the names of packages. If it is empty, the drivers are
    /// the package of the manifest, or the default members if the manifest has no package.
    ///
    /// # Errors
    ///
    /// Fails if cargo fails, if there is no driver, or if the kit cannot build it. The message says what to change.
    #[expect(clippy::indexing_slicing, reason = "a JSON value without the key gives null")]
    pub fn read(manifest: &Path, triple: &str, wanted: &[String]) -> Result<Self, Error> {
        let (metadata, has_unstable_flags) = cargo_metadata(manifest, triple)?;
        let root = PathBuf::from(metadata["workspace_root"].as_str().unwrap_or_default());
        let target = PathBuf::from(metadata["target_directory"].as_str().unwrap_or_default());
        let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let members = metadata["workspace_members"].as_array().map(Vec::as_slice).unwrap_or_default();
        let members: Vec<&Value> = packages.iter().filter(|package| members.contains(&package["id"])).collect();
        let others = members.iter().filter(|package| library(package, "cdylib").is_none()).count();
        let releases = releases(packages)?;
        let registries = all(packages, "winreg").filter_map(|found| found["version"].as_str().map(str::to_owned));

        let mut groups = BTreeMap::<String, Vec<Package>>::new();
        let mut separate = Vec::new();
        let default = metadata["workspace_default_members"].as_array().map(Vec::as_slice).unwrap_or_default();
        let chosen = chosen(&members, default, manifest, wanted)?;
        // A workspace can also have packages that are not drivers, but a package that was requested must be a driver.
        let may_skip = wanted.is_empty() && chosen.len() > 1;
        for package in chosen {
            let name = package["name"].as_str().unwrap_or_default();
            let path = package["manifest_path"].as_str().unwrap_or_default();
            let Some(library) = library(package, "cdylib") else {
                if may_skip {
                    continue;
                }
                let reason = match library(package, "staticlib") {
                    Some(_) => "is a static library and not a driver",
                    None => "has no driver",
                };
                return Err(Error(format!(
                    "the package {name} {reason}: add crate-type = [\"cdylib\"] to [lib] in {path}"
                )));
            };
            let fixed = releases.first().and_then(Release::fixed_model).filter(|_| uses_wdk(package));
            let model = match fixed
                .map(str::to_owned)
                .map_or_else(|| model(package, &members, &metadata["metadata"]), |fixed| Ok(Some(fixed)))?
            {
                Some(model) => model,
                None if releases.is_empty() => String::new(),
                // A user-mode library in the same workspace.
                None if may_skip && !uses_wdk(package) => continue,
                None => {
                    return Err(Error(format!(
                        "the package {name} does not say what kind of driver it is: add [package.metadata.wdk.driver-model] \
                         with driver-type = \"KMDF\" or \"WDM\" to {path}"
                    )));
                }
            };
            if Path::new(path) != manifest && library.has_settings() {
                separate.push(library);
                continue;
            }
            check_model(name, &model)?;
            if uses_wdk(package) && !has_script(package) {
                return Err(Error(format!(
                    "the package {name} has no build script, so it would be linked as a user-mode DLL and not as a driver: \
                     add wdk-build to [build-dependencies] in {path}, and a build.rs whose main() calls wdk_build::{}",
                    if fixed.is_some() {
                        "Config::from_env_auto()?.configure_binary_build()"
                    } else {
                        "configure_wdk_binary_build()"
                    }
                )));
            }
            groups.entry(model).or_default().push(library);
        }
        if groups.is_empty() && separate.is_empty() {
            return Err(Error(format!(
                "no package of {} is a driver: add crate-type = [\"cdylib\"] to [lib] in the driver's Cargo.toml",
                root.display()
            )));
        }
        let registries = registries.collect();
        let own = packages.iter().filter(|package| package["source"].is_null());
        // Build scripts can share a local package that sets the arguments of the linker, so all local packages are searched.
        let names_entry = own.clone().any(names_entry);
        let unstable = own.filter_map(unstable).collect();
        Ok(Self {
            root,
            target,
            others,
            groups,
            separate,
            releases,
            registries,
            has_unstable_flags,
            names_entry,
            unstable,
        })
    }
}

impl Workspace {
    /// Writes the packages that replace `wdk-build` and `winreg` below `folder`, and returns their folders.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be written.
    pub fn write_replacements(&self, folder: &Path) -> Result<Vec<PathBuf>, Error> {
        let releases = self.releases.iter().map(|release| release.write(folder));
        releases.chain(self.registries.iter().map(|version| write_registry(version, folder))).collect()
    }
}

/// `WDF_FIRST_VERSION_SUPPORTING_CLIENT_VERSION_HIGHER_THAN_FRAMEWORK`; the WDK's headers reject a smaller minimum.
const OLDEST_MINIMUM: u64 = 25;

/// Part of rustc's error message if a stable release gets an unstable flag.
const UNSTABLE_FLAG: &str = "is only accepted on the nightly compiler";

/// Returns the output of `cargo metadata`, and whether some of the compiler's flags are unstable.
fn cargo_metadata(manifest: &Path, triple: &str) -> Result<(Value, bool), Error> {
    let output = run_cargo_metadata(manifest, triple, false)?;
    if !output.status.success() && String::from_utf8_lossy(&output.stderr).contains(UNSTABLE_FLAG) {
        return Ok((parse_metadata(manifest, &run_cargo_metadata(manifest, triple, true)?)?, true));
    }
    Ok((parse_metadata(manifest, &output)?, false))
}

fn run_cargo_metadata(manifest: &Path, triple: &str, is_unstable: bool) -> Result<Output, Error> {
    let folder = manifest.parent().unwrap_or(manifest);
    // The toolchain that the driver requires, if it requires one.
    let mut cargo = match env::var_os("WDK_KIT_TOOLCHAIN") {
        Some(toolchain) => {
            let mut cargo = Command::new("cargo");
            cargo.env("RUSTUP_TOOLCHAIN", toolchain);
            cargo
        }
        None => Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into())),
    };
    if is_unstable {
        cargo.env("RUSTC_BOOTSTRAP", "1");
    }
    cargo
        .args(["metadata", "--format-version", "1", "--filter-platform", triple, "--manifest-path"])
        .arg(manifest)
        .current_dir(folder)
        .output()
        .map_err(|error| Error(format!("cargo could not be started: {error}")))
}

fn parse_metadata(manifest: &Path, output: &Output) -> Result<Value, Error> {
    let folder = manifest.parent().unwrap_or(manifest);
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        if said.contains("to learn about target-specific information") {
            let reason = said.lines().rev().find_map(|line| line.trim().strip_prefix("error: ")).unwrap_or(&said);
            return Err(Error(format!(
                "rustc rejects the `rustflags` in a .cargo/config.toml in or above {}: {reason}; correct the flags in that file",
                folder.display()
            )));
        }
        if let Some(reason) = download_error(&said).filter(|_| !said.contains("failed to read `")) {
            return Err(Error(reason));
        }
        // A path dependency that was not published with the driver.
        let absent =
            said.split_once("failed to read `").and_then(|(_, rest)| rest.split_once('`')).map(|(path, _)| path);
        if let Some(path) = absent.filter(|path| !Path::new(path).exists()) {
            return Err(Error(format!(
                "the driver depends on a package that is missing: {path} does not exist; add the package, or depend on a published \
                 release of it"
            )));
        }
        // Skip the warnings, which come first and have other causes.
        let error = said.split_once("error: ").map_or(&*said, |(_, error)| error);
        let advice = if said.contains("requires a nightly version of Cargo") {
            "\nadd a rust-toolchain.toml with channel = \"nightly\" in the same folder"
        } else {
            ""
        };
        return Err(Error(format!("cargo rejects {}: {error}{advice}", manifest.display())));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| Error(format!("cargo metadata: {error}")))
}

/// Returns why cargo could not download a dependency, or `None` if cargo reports another error.
fn download_error(said: &str) -> Option<String> {
    let source = said.lines().find_map(|line| line.trim().strip_prefix("unable to update "))?;
    let cause = said.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(format!("cargo could not download {source}, which the driver depends on: {cause}"))
}

fn all<'a>(packages: &'a [Value], name: &'a str) -> impl Iterator<Item = &'a Value> {
    packages.iter().filter(move |package| package["name"] == name)
}

/// Returns every release of `wdk-build`, newest first. The sources of `wdk-sys` show which signatures its `wdk-build` has. This is
/// done only for the newest release; the signatures of the others follow from their version.
fn releases(packages: &[Value]) -> Result<Vec<Release>, Error> {
    let version = |package: &&Value| wdk::numbers(package["version"].as_str().unwrap_or_default());
    let newest = all(packages, "wdk-sys").max_by_key(version);
    let mut found: Vec<&Value> = all(packages, "wdk-build").collect();
    found.sort_by_key(|package| Reverse(version(package)));
    found.iter().enumerate().map(|(at, build)| Release::of(build, newest.filter(|_| at == 0))).collect()
}

/// Returns the packages to build.
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

/// Returns the library of a package that has this crate type.
fn library(package: &Value, kind: &str) -> Option<Package> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let targets = package["targets"].as_array()?;
    let is_meant =
        |target: &&Value| target["crate_types"].as_array().is_some_and(|all| all.iter().any(|one| one == kind));
    let library = targets.iter().find(is_meant)?;
    Some(Package {
        name: text(&package["name"]),
        library: text(&library["name"]).replace('-', "_"),
        folder: Path::new(&text(&package["manifest_path"])).parent()?.to_path_buf(),
    })
}

/// Returns the name of a package's library, if the library enables unstable features.
fn unstable(package: &Value) -> Option<String> {
    let kinds = ["lib", "rlib", "cdylib", "staticlib"];
    let is_library = |target: &&Value| {
        kinds.iter().any(|kind| target["kind"].as_array().is_some_and(|all| all.contains(&(*kind).into())))
    };
    let target = package["targets"].as_array()?.iter().find(is_library)?;
    let source = fs::read_to_string(target["src_path"].as_str()?).ok()?;
    let is_unstable = source.lines().any(|line| line.trim_start().starts_with("#![feature("));
    is_unstable.then(|| target["name"].as_str().unwrap_or_default().replace('-', "_"))
}

/// Whether a build script or the root of a crate contains `/ENTRY:`.
fn names_entry(package: &Value) -> bool {
    let targets = package["targets"].as_array().into_iter().flatten();
    let sources = targets.into_iter().filter_map(|target| fs::read_to_string(target["src_path"].as_str()?).ok());
    sources.into_iter().any(|source| source.to_ascii_lowercase().contains("/entry:"))
}

fn has_script(package: &Value) -> bool {
    let targets = package["targets"].as_array().into_iter().flatten();
    targets
        .into_iter()
        .any(|target| target["kind"].as_array().is_some_and(|kinds| kinds.contains(&"custom-build".into())))
}

fn uses_wdk(package: &Value) -> bool {
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    dependencies
        .into_iter()
        .any(|one| one["name"].as_str().is_some_and(|name| name == "wdk" || name.starts_with("wdk-")))
}

/// Returns the driver model of a package: from its manifest, from the manifest of the workspace, or from other members if all of
/// them have the same model.
#[expect(clippy::indexing_slicing, reason = "a JSON value without the key gives null")]
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
            "the package {} has no [package.metadata.wdk.driver-model], and its workspace has several models: {}",
            package["name"].as_str().unwrap_or_default(),
            others.join(" and ")
        ))),
    }
}

/// Rejects a model that the kit cannot build, before anything is compiled.
#[expect(clippy::indexing_slicing, reason = "a JSON value without the key gives null")]
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
            "the package {name} is a UMDF driver, which runs in user mode; the kit builds only KMDF and WDM drivers: build it on \
             Windows with the WDK"
        ))),
        Some(other) => Err(Error(format!("the package {name} has the driver-type \"{other}\"; expected KMDF or WDM"))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{check_model, download_error, releases};

    #[test]
    fn the_newest_release_is_the_one_with_the_largest_numbers() {
        let dependencies = ["bindgen", "serde_json"].map(|name| json!({ "name": name, "req": "^1", "kind": null }));
        let packages = ["0.9.0", "0.10.1", "0.10.0"]
            .map(|version| json!({ "name": "wdk-build", "version": version, "dependencies": dependencies }));
        let versions: Vec<String> = releases(&packages).unwrap().into_iter().map(|release| release.version).collect();
        assert_eq!(versions, ["0.10.1", "0.10.0", "0.9.0"]);
    }

    #[test]
    fn a_failed_download_is_told_in_one_sentence() {
        let said = "    Updating git repository `https://example.com/a.git`\nerror: failed to get `a` as a dependency\n\nCaused by:\n  \
                    unable to update https://example.com/a.git?tag=1\n\nCaused by:\n  failed to resolve address\n";
        assert_eq!(
            download_error(said).as_deref(),
            Some(
                "cargo could not download https://example.com/a.git?tag=1, which the driver depends on: failed to resolve address"
            )
        );
        assert_eq!(download_error("error: failed to parse manifest"), None);
    }

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
