//! The facts about a workspace that `cargo metadata` reports, as types. Nothing else reads a driver's workspace.
//!
//! The types are filled by hand from [`serde_json::Value`]: serde's derive would bring syn to `xtask`, which must compile in seconds.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::Error;
use crate::host::Host;
use crate::options::{CargoOptions, Options};
use crate::prepare_error::PrepareError;
use crate::toolchain::WindowsToolchain;

/// A workspace.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Metadata {
    /// Its folder.
    pub(crate) root: PathBuf,
    /// Its target directory.
    pub(crate) target: PathBuf,
    /// Its packages and all packages that they depend on.
    pub(crate) packages: Vec<Package>,
    /// The driver model that packages without one have.
    pub(crate) model: Option<Value>,
    /// Whether some of the compiler's flags are unstable.
    pub(crate) has_unstable_flags: bool,
}

/// Returns the target directory of a manifest's workspace.
///
/// # Errors
///
/// If cargo rejects the manifest.
pub fn target_dir(host: &Host, manifest: &Path) -> Result<PathBuf, Error> {
    let words = ["metadata", "--no-deps", "--format-version", "1", "--manifest-path"];
    let (output, messages, result) = host.cargo().args(words).args([manifest]).run_silently();
    result.map_err(|error| if messages.is_empty() { error } else { rejected(manifest, messages.trim()).into() })?;
    let metadata = Metadata::parse(&output).map_err(|reason| PrepareError::Metadata { reason })?;
    Ok(metadata.target)
}

/// A package.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) manifest: PathBuf,
    /// Whether it is in a folder of the user and not in a registry or a repository.
    pub(crate) is_local: bool,
    /// Whether it is a member of the workspace, and one that cargo builds by default.
    pub(crate) is_member: bool,
    pub(crate) is_default: bool,
    pub(crate) targets: Vec<Target>,
    pub(crate) dependencies: Vec<Dependency>,
    /// Its own driver model.
    pub(crate) model: Option<Value>,
    /// The table `[package.metadata.driver]`.
    pub(crate) settings: Option<Value>,
}

/// A library, a program or a build script of a package.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) kinds: Vec<String>,
    pub(crate) crate_types: Vec<String>,
    pub(crate) source: PathBuf,
}

/// A dependency as the manifest has it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// The version requirement.
    pub(crate) requirement: String,
    /// Whether it is neither for tests nor for the build script.
    pub(crate) is_normal: bool,
}

impl Metadata {
    /// Runs `cargo metadata` for the target in the folder of the manifest.
    pub(crate) fn read(
        host: &Host,
        toolchain: &WindowsToolchain,
        manifest: &Path,
        options: &Options,
    ) -> Result<Self, PrepareError> {
        let CargoOptions { features, lock, .. } = &options.cargo;
        let run = |is_unstable: bool| {
            // The cargo of the driver's toolchain reads its manifests: they can be too new for the cargo that runs here.
            let cargo = match toolchain.name() {
                Some(name) => host.tool("cargo").hidden_env("RUSTUP_TOOLCHAIN", name),
                None => host.cargo(),
            };
            let cargo = if is_unstable {
                // Cargo keeps what rustc says, also that it rejects flags, and does not notice this variable.
                cargo.hidden_env("RUSTC_BOOTSTRAP", "1").hidden_env("CARGO_CACHE_RUSTC_INFO", "0")
            } else {
                cargo
            };
            // Cargo has no such option here, but reads the variable.
            let target_dir = options.target_dir.iter();
            target_dir
                .fold(cargo, |cargo, dir| cargo.hidden_env("CARGO_TARGET_DIR", dir))
                .args([
                    "metadata",
                    "--format-version",
                    "1",
                    "--filter-platform",
                    options.arch.triple(),
                    "--manifest-path",
                ])
                .args([manifest])
                .args(features)
                .args(lock)
                .current_dir(manifest.parent().unwrap_or(manifest))
                .run_silently()
        };
        let (mut output, mut messages, mut result) = run(false);
        let has_unstable_flags = result.is_err() && messages.contains(UNSTABLE_FLAG);
        if has_unstable_flags {
            (output, messages, result) = run(true);
        }
        match result {
            Ok(()) => Self::parse(&output)
                .map(|metadata| Self { has_unstable_flags, ..metadata })
                .map_err(|reason| PrepareError::Metadata { reason }),
            Err(error @ Error::Missing(_)) => Err(PrepareError::Toolchain(error)),
            Err(error) if messages.trim().is_empty() => Err(PrepareError::Metadata { reason: error.to_string() }),
            Err(_) => Err(rejected(manifest, messages.trim())),
        }
    }

    /// Reads the output of cargo. Fails if something is missing that every cargo writes.
    fn parse(output: &str) -> Result<Self, String> {
        let all: Value = serde_json::from_str(output).map_err(|error| error.to_string())?;
        let members = list(&all, "workspace_members")?;
        let default = all.get("workspace_default_members");
        // Cargo before 1.71 does not have the default members; then all members are.
        let default = default.and_then(Value::as_array).filter(|list| !list.is_empty()).unwrap_or(members);
        let package = |value: &Value| {
            let id = value.get("id").ok_or("a package has no `id`")?;
            Package::parse(value, members.contains(id), default.contains(id))
        };
        Ok(Self {
            root: text(&all, "workspace_root")?.into(),
            target: text(&all, "target_directory")?.into(),
            packages: list(&all, "packages")?.iter().map(package).collect::<Result<_, String>>()?,
            model: model(&all),
            has_unstable_flags: false,
        })
    }

    /// The members of the workspace.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| package.is_member)
    }

    /// The packages with this name, in all versions.
    pub(crate) fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Package> {
        self.packages.iter().filter(move |package| package.name == name)
    }
}

impl Package {
    fn parse(value: &Value, is_member: bool, is_default: bool) -> Result<Self, String> {
        let target = |value: &Value| {
            Ok::<_, String>(Target {
                name: text(value, "name")?,
                kinds: texts(value, "kind")?,
                crate_types: texts(value, "crate_types")?,
                source: text(value, "src_path")?.into(),
            })
        };
        let dependency = |value: &Value| {
            Ok::<_, String>(Dependency {
                name: text(value, "name")?,
                requirement: text(value, "req")?,
                is_normal: value.get("kind").is_none_or(Value::is_null),
            })
        };
        Ok(Self {
            name: text(value, "name")?,
            version: text(value, "version")?,
            manifest: text(value, "manifest_path")?.into(),
            is_local: value.get("source").is_none_or(Value::is_null),
            is_member,
            is_default,
            targets: list(value, "targets")?.iter().map(target).collect::<Result<_, _>>()?,
            dependencies: list(value, "dependencies")?.iter().map(dependency).collect::<Result<_, _>>()?,
            model: model(value),
            settings: value.get("metadata").and_then(|all| all.get("driver")).cloned(),
        })
    }

    /// The folder of the package.
    pub(crate) fn dir(&self) -> &Path {
        self.manifest.parent().unwrap_or(&self.manifest)
    }

    /// The library with this crate type.
    pub(crate) fn library(&self, crate_type: &str) -> Option<&Target> {
        self.targets.iter().find(|target| target.crate_types.iter().any(|one| one == crate_type))
    }
}

impl Target {
    /// The name in code and in file names.
    pub(crate) fn crate_name(&self) -> String {
        self.name.replace('-', "_")
    }
}

fn model(value: &Value) -> Option<Value> {
    value.get("metadata")?.get("wdk")?.get("driver-model").filter(|model| !model.is_null()).cloned()
}

fn text(value: &Value, key: &str) -> Result<String, String> {
    value.get(key).and_then(Value::as_str).map(str::to_owned).ok_or_else(|| format!("`{key}` is not a text"))
}

fn list<'a>(value: &'a Value, key: &str) -> Result<&'a Vec<Value>, String> {
    value.get(key).and_then(Value::as_array).ok_or_else(|| format!("`{key}` is not a list"))
}

fn texts(value: &Value, key: &str) -> Result<Vec<String>, String> {
    let text = |one: &Value| one.as_str().map(str::to_owned).ok_or_else(|| format!("`{key}` has more than texts"));
    list(value, key)?.iter().map(text).collect()
}

/// Part of rustc's error message if a stable release gets an unstable flag.
const UNSTABLE_FLAG: &str = "is only accepted on the nightly compiler";

/// Finds the reason in the messages of cargo, which reports errors only as text.
fn rejected(manifest: &Path, messages: &str) -> PrepareError {
    let dir = manifest.parent().unwrap_or(manifest);
    if messages.contains("to learn about target-specific information") {
        let reason = messages.lines().rev().find_map(|line| line.trim().strip_prefix("error: ")).unwrap_or(messages);
        return PrepareError::RejectedFlags { dir: dir.to_path_buf(), reason: reason.to_owned() };
    }
    let unreadable = messages.split_once("failed to read `").and_then(|(_, rest)| rest.split_once('`'));
    if unreadable.is_none()
        && let Some((source, cause)) = download_error(messages)
    {
        return PrepareError::Download { source, cause };
    }
    // A path dependency that was not published with the driver.
    if let Some((path, _)) = unreadable.filter(|(path, _)| !Path::new(path).exists()) {
        return PrepareError::MissingDependency { manifest: path.into() };
    }
    PrepareError::Rejected {
        manifest: manifest.to_path_buf(),
        // Skip the warnings, which come first and have other causes.
        reason: messages.split_once("error: ").map_or(messages, |(_, error)| error).to_owned(),
        needs_nightly: messages.contains("requires a nightly version of Cargo"),
    }
}

/// Returns what cargo could not download, and why, or `None` if cargo reports another error.
fn download_error(messages: &str) -> Option<(String, String)> {
    let source = messages.lines().find_map(|line| line.trim().strip_prefix("unable to update "))?;
    let cause = messages.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some((source.to_owned(), cause.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{Metadata, rejected};
    use crate::prepare_error::PrepareError;
    use serde_json::json;
    use std::path::Path;

    fn metadata(members: &[&str], default: Option<&[&str]>) -> Metadata {
        let package = |name: &str| {
            json!({
                "id": name, "name": name, "version": "0.1.0", "source": null, "manifest_path": format!("/w/{name}/Cargo.toml"),
                "targets": [{ "name": format!("{name}-a"), "kind": ["cdylib"], "crate_types": ["cdylib"], "src_path": "/w/lib.rs" }],
                "dependencies": [{ "name": "wdk", "req": "^0.5", "kind": null }, { "name": "x", "req": "*", "kind": "dev" }],
                "metadata": { "wdk": { "driver-model": { "driver-type": "WDM" } } },
            })
        };
        let mut all = json!({
            "packages": (["one", "two", "other"].map(package)), "workspace_members": members,
            "workspace_root": "/w with space", "target_directory": "/t", "metadata": null,
        });
        if let Some(default) = default {
            all["workspace_default_members"] = json!(default);
        }
        Metadata::parse(&all.to_string()).unwrap()
    }

    #[test]
    fn the_packages_of_a_workspace_are_distinguished_from_its_dependencies() {
        let found = metadata(&["one", "two"], Some(&["two"]));
        assert_eq!(found.root, Path::new("/w with space"));
        let names: Vec<&str> = found.members().map(|package| package.name.as_str()).collect();
        assert_eq!(names, ["one", "two"]);
        let [one, two, other] = found.packages.as_slice() else { panic!("{found:?}") };
        assert!(!one.is_default);
        assert!(two.is_default);
        assert!(!other.is_member);
        assert_eq!(one.library("cdylib").unwrap().crate_name(), "one_a");
        assert_eq!(one.library("staticlib"), None);
        assert!(one.dependencies[0].is_normal);
        assert!(!one.dependencies[1].is_normal);
        assert_eq!(one.model, Some(json!({ "driver-type": "WDM" })));
        assert!(found.model.is_none());
        assert!(metadata(&["one", "two"], None).packages[0].is_default);
    }

    #[test]
    fn output_without_what_every_cargo_writes_is_an_error() {
        assert_eq!(Metadata::parse("{}"), Err(String::from("`workspace_members` is not a list")));
        let without =
            r#"{"workspace_members":[],"workspace_root":"/w","target_directory":"/t","packages":[{"id":"a"}]}"#;
        assert_eq!(Metadata::parse(without), Err(String::from("`name` is not a text")));
        assert!(Metadata::parse("").is_err());
    }

    #[test]
    fn a_failed_download_is_an_error_of_its_own() {
        let messages = "    Updating git repository `https://example.com/a.git`\nerror: failed to get `a` as a dependency\n\nCaused by:\n  \
                    unable to update https://example.com/a.git?tag=1\n\nCaused by:\n  failed to resolve address\n";
        let error = rejected(Path::new("/w/Cargo.toml"), messages);
        assert_eq!(
            error,
            PrepareError::Download {
                source: "https://example.com/a.git?tag=1".into(),
                cause: "failed to resolve address".into()
            }
        );
    }

    #[test]
    fn other_messages_of_cargo_are_distinguished() {
        let manifest = Path::new("/w/Cargo.toml");
        let missing = "error: failed to get `a`\n\nCaused by:\n  failed to read `/no/such/Cargo.toml`\n";
        assert_eq!(
            rejected(manifest, missing),
            PrepareError::MissingDependency { manifest: "/no/such/Cargo.toml".into() }
        );
        let nightly = "warning: x\nerror: the feature `y` requires a nightly version of Cargo";
        assert_eq!(
            rejected(manifest, nightly),
            PrepareError::Rejected {
                manifest: manifest.into(),
                reason: "the feature `y` requires a nightly version of Cargo".into(),
                needs_nightly: true
            }
        );
    }
}
