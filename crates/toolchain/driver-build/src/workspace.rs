//! Finds the drivers of a workspace: which packages are drivers, which models they have, and what their builds need. Errors are found
//! before anything is compiled.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::driver_settings::DriverSettings;
use crate::metadata::{Metadata, Package};
use crate::model::Model;
use crate::options::Options;
use crate::prepare_error::PrepareError;
use crate::stand_in::{Release, releases};

/// A driver's workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workspace {
    /// Its folder.
    pub root: PathBuf,
    /// Its target directory.
    pub target: PathBuf,
    /// The number of its packages that are not drivers.
    pub others: usize,
    /// The drivers, grouped by their models.
    pub(crate) groups: Vec<Group>,
    /// Drivers that are built separately, because cargo reads the settings in their folders only if it is started there.
    pub(crate) separate: Vec<Driver>,
    /// The releases of `wdk-build` that the drivers use; empty if they do not use Microsoft's crates.
    pub(crate) releases: Vec<Release>,
    /// The releases of `winreg` that build scripts use.
    pub(crate) registries: Vec<String>,
    /// Whether some of the compiler's flags are unstable.
    pub(crate) has_unstable_flags: bool,
    /// Whether a local package passes `/ENTRY` to the linker.
    pub(crate) names_entry: bool,
    /// Libraries of local packages that enable unstable features: those of the drivers, and others.
    pub(crate) unstable: Vec<String>,
}

/// Drivers of one model. One run of cargo generates bindings for one model only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) model: Model,
    pub(crate) drivers: Vec<Driver>,
}

/// A package with a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Driver {
    /// The package's name.
    pub(crate) package: String,
    /// The name of its library, which is the name of its image.
    pub(crate) library: String,
    pub(crate) manifest: PathBuf,
    pub(crate) settings: DriverSettings,
}

/// The crate type that a driver needs.
const CRATE_TYPE: &str = "cdylib";

/// Files that cargo and rustup read in the folder in which they are started, and in the folders above it.
const SETTINGS: [&str; 4] = [".cargo/config.toml", ".cargo/config", "rust-toolchain.toml", "rust-toolchain"];

impl Workspace {
    /// The names of the packages that are drivers.
    pub fn drivers(&self) -> impl Iterator<Item = &str> {
        let grouped = self.groups.iter().flat_map(|group| &group.drivers);
        grouped.chain(&self.separate).map(|driver| driver.package.as_str())
    }

    /// The settings of the first driver.
    #[must_use]
    pub fn settings(&self) -> DriverSettings {
        let mut all = self.groups.iter().flat_map(|group| &group.drivers).chain(&self.separate);
        all.next().map(|driver| driver.settings.clone()).unwrap_or_default()
    }

    /// Finds the drivers that the options ask for. If they name no packages, the drivers are the package of the manifest, or the
    /// default members if the manifest has no package.
    pub(crate) fn find(metadata: &Metadata, manifest: &Path, options: &Options) -> Result<Self, PrepareError> {
        let releases = releases(metadata)?;
        let chosen = chosen(metadata, manifest, options)?;
        // A workspace can also have packages that are not drivers, but a package that was requested must be a driver.
        let may_skip = options.packages.is_empty() && (options.is_workspace || chosen.len() > 1);
        let mut groups = BTreeMap::<Model, Vec<Driver>>::new();
        let mut separate = Vec::new();
        for package in chosen {
            let Some(library) = package.library(CRATE_TYPE) else {
                if may_skip {
                    continue;
                }
                return Err(PrepareError::NotADriver {
                    package: package.name.clone(),
                    manifest: package.manifest.clone(),
                    is_static: package.library("staticlib").is_some(),
                    others: libraries(metadata),
                });
            };
            let driver = Driver {
                package: package.name.clone(),
                library: library.crate_name(),
                manifest: package.manifest.clone(),
                settings: settings(package)?,
            };
            let fixed = releases.first().and_then(Release::fixed_model).filter(|_| uses_wdk(package));
            let table = if fixed.is_some() { None } else { model_table(metadata, package)? };
            if fixed.is_none() && table.is_none() && !releases.is_empty() {
                if may_skip && !uses_wdk(package) {
                    // A user-mode library in the same workspace.
                    continue;
                }
                return Err(PrepareError::NoModel { package: driver.package, manifest: driver.manifest });
            }
            if package.manifest != manifest && SETTINGS.iter().any(|name| package.dir().join(name).is_file()) {
                separate.push(driver);
                continue;
            }
            let model = match table {
                Some(table) => Model::from_table(table)
                    .map_err(|error| PrepareError::Model { package: driver.package.clone(), error })?,
                None => fixed.unwrap_or(Model::Unspecified),
            };
            if uses_wdk(package) && !has_script(package) {
                let call = if fixed.is_some() {
                    "Config::from_env_auto()?.configure_binary_build()"
                } else {
                    "configure_wdk_binary_build()"
                };
                return Err(PrepareError::NoBuildScript { package: driver.package, manifest: driver.manifest, call });
            }
            groups.entry(model).or_default().push(driver);
        }
        if groups.is_empty() && separate.is_empty() {
            return Err(PrepareError::NoDriver { workspace: metadata.root.clone(), others: libraries(metadata) });
        }
        let local = || metadata.packages.iter().filter(|package| package.is_local);
        Ok(Self {
            root: metadata.root.clone(),
            target: metadata.target.clone(),
            others: metadata.members().filter(|package| package.library(CRATE_TYPE).is_none()).count(),
            groups: groups.into_iter().map(|(model, drivers)| Group { model, drivers }).collect(),
            separate,
            releases,
            registries: metadata.named("winreg").map(|package| package.version.clone()).collect(),
            has_unstable_flags: metadata.has_unstable_flags,
            // Build scripts can share a local package that sets the arguments of the linker, so all local packages are searched.
            names_entry: local().any(names_entry),
            unstable: local().filter_map(unstable).collect(),
        })
    }
}

/// The settings in a package's manifest.
fn settings(package: &Package) -> Result<DriverSettings, PrepareError> {
    let parsed = package.settings.as_ref().map(|table| DriverSettings::parse(table, package.dir()));
    parsed
        .transpose()
        .map(Option::unwrap_or_default)
        .map_err(|error| PrepareError::Settings { package: package.name.clone(), error })
}

/// The names of the members that could be drivers.
fn libraries(metadata: &Metadata) -> Vec<String> {
    metadata.members().filter(|member| member.library(CRATE_TYPE).is_some()).map(|member| member.name.clone()).collect()
}

/// Returns the packages to build.
fn chosen<'a>(metadata: &'a Metadata, manifest: &Path, options: &Options) -> Result<Vec<&'a Package>, PrepareError> {
    let wanted = &options.packages;
    let members: Vec<&Package> = metadata.members().collect();
    if let Some(unknown) = wanted.iter().find(|name| !members.iter().any(|member| member.name == **name)) {
        let members = members.iter().map(|member| member.name.clone()).collect();
        return Err(PrepareError::UnknownPackage { name: unknown.clone(), members });
    }
    if !wanted.is_empty() {
        return Ok(members.into_iter().filter(|member| wanted.contains(&member.name)).collect());
    }
    if options.is_workspace {
        return Ok(members);
    }
    let own: Vec<&Package> = members.iter().copied().filter(|member| member.manifest == manifest).collect();
    Ok(if own.is_empty() { members.into_iter().filter(|member| member.is_default).collect() } else { own })
}

/// Returns the name of a package's library, if the library enables unstable features.
fn unstable(package: &Package) -> Option<String> {
    let kinds = ["lib", "rlib", "cdylib", "staticlib"];
    let is_library = |kinds_of: &[String]| kinds.iter().any(|kind| kinds_of.iter().any(|own| own == kind));
    let target = package.targets.iter().find(|target| is_library(&target.kinds))?;
    let source = fs::read_to_string(&target.source).ok()?;
    let is_unstable = source.lines().any(|line| line.trim_start().starts_with("#![feature("));
    is_unstable.then(|| target.crate_name())
}

/// Whether a build script or the root of a crate contains `/ENTRY:`.
fn names_entry(package: &Package) -> bool {
    let sources = package.targets.iter().filter_map(|target| fs::read_to_string(&target.source).ok());
    sources.into_iter().any(|source| source.to_ascii_lowercase().contains("/entry:"))
}

fn has_script(package: &Package) -> bool {
    package.targets.iter().any(|target| target.kinds.iter().any(|kind| kind == "custom-build"))
}

fn uses_wdk(package: &Package) -> bool {
    package.dependencies.iter().any(|one| one.name == "wdk" || one.name.starts_with("wdk-"))
}

/// Returns the driver model of a package: from its manifest, from the manifest of the workspace, or from other members if all of
/// them have the same model.
fn model_table<'a>(metadata: &'a Metadata, package: &'a Package) -> Result<Option<&'a Value>, PrepareError> {
    if let Some(own) = package.model.as_ref().or(metadata.model.as_ref()) {
        return Ok(Some(own));
    }
    let mut others: Vec<&Value> = Vec::new();
    for table in metadata.members().filter_map(|member| member.model.as_ref()) {
        if !others.contains(&table) {
            others.push(table);
        }
    }
    match others.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        _ => {
            let mut models: Vec<String> = others.iter().map(ToString::to_string).collect();
            models.sort();
            Err(PrepareError::SeveralModels { package: package.name.clone(), models })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Workspace;
    use crate::metadata::{Dependency, Metadata, Package, Target};
    use crate::model::{Model, ModelError};
    use crate::options::Options;
    use crate::prepare_error::PrepareError;
    use serde_json::{Value, json};
    use std::path::Path;

    fn package(name: &str, crate_type: &str, model: Option<Value>) -> Package {
        let target = |kind: &str| Target {
            name: name.into(),
            kinds: vec![kind.into()],
            crate_types: vec![kind.into()],
            source: "/no/such/file".into(),
        };
        let wdk = Dependency { name: "wdk-sys".into(), requirement: "^0.5".into(), is_normal: true };
        Package {
            name: name.into(),
            version: "0.1.0".into(),
            manifest: format!("/w/{name}/Cargo.toml").into(),
            is_local: true,
            is_member: true,
            is_default: true,
            targets: vec![target(crate_type), target("custom-build")],
            dependencies: if crate_type == "cdylib" { vec![wdk] } else { Vec::new() },
            model,
            settings: None,
        }
    }

    fn find(packages: Vec<Package>, wanted: &[&str]) -> Result<Workspace, PrepareError> {
        let packages_wanted = wanted.iter().map(|name| (*name).to_owned()).collect();
        let options = Options { packages: packages_wanted, ..Options::new("/w/Cargo.toml".into()) };
        let metadata = Metadata { root: "/w".into(), target: "/w/target".into(), packages, ..Metadata::default() };
        Workspace::find(&metadata, Path::new("/w/Cargo.toml"), &options)
    }

    fn wdm() -> Value {
        json!({ "driver-type": "WDM" })
    }

    #[test]
    fn drivers_of_one_model_are_one_group_and_other_packages_are_counted() {
        let kmdf = json!({ "driver-type": "KMDF", "kmdf-version-major": 1, "target-kmdf-version-minor": 33 });
        let packages = vec![
            package("a-b", "cdylib", Some(wdm())),
            package("tool", "bin", None),
            package("c", "cdylib", Some(kmdf)),
            package("d", "cdylib", Some(wdm())),
        ];
        let workspace = find(packages, &[]).unwrap();
        let groups: Vec<(Model, Vec<&str>)> = workspace
            .groups
            .iter()
            .map(|group| (group.model, group.drivers.iter().map(|driver| driver.library.as_str()).collect()))
            .collect();
        let kmdf = Model::Kmdf { minor: 33, minimum: None };
        assert_eq!(groups, [(Model::Wdm, vec!["a_b", "d"]), (kmdf, vec!["c"])]);
        assert_eq!(workspace.others, 1);
        assert_eq!(workspace.drivers().collect::<Vec<_>>(), ["a-b", "d", "c"]);
    }

    #[test]
    fn packages_that_cannot_be_built_are_errors_of_their_own() {
        let unknown = find(vec![package("a", "cdylib", Some(wdm()))], &["b"]).unwrap_err();
        assert_eq!(unknown, PrepareError::UnknownPackage { name: "b".into(), members: vec!["a".into()] });
        let tool = find(vec![package("tool", "staticlib", None)], &["tool"]).unwrap_err();
        assert!(matches!(tool, PrepareError::NotADriver { is_static: true, .. }), "{tool:?}");
        let two = vec![package("tool", "bin", None), package("other", "bin", None)];
        assert!(matches!(find(two, &[]), Err(PrepareError::NoDriver { .. })));
        let mixed = vec![package("tool", "bin", None), package("a", "cdylib", Some(wdm()))];
        let error = find(mixed, &["tool"]).unwrap_err().to_string();
        assert!(error.ends_with("the workspace has these drivers; choose one with --package: a"), "{error}");
        let user = package("u", "cdylib", Some(json!({ "driver-type": "UMDF" })));
        let error = PrepareError::Model { package: "u".into(), error: ModelError::UserMode };
        assert_eq!(find(vec![user], &[]), Err(error));
        let mut plain = package("p", "cdylib", Some(wdm()));
        plain.targets.truncate(1);
        assert!(matches!(find(vec![plain], &[]), Err(PrepareError::NoBuildScript { .. })));
        let models = vec![
            package("one", "cdylib", Some(wdm())),
            package("two", "cdylib", Some(json!({ "driver-type": "KMDF" }))),
            package("three", "cdylib", None),
        ];
        assert!(
            matches!(find(models, &["three"]), Err(PrepareError::SeveralModels { models, .. }) if models.len() == 2)
        );
    }
}
