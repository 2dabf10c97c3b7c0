//! The packages that are published: their order, and what prevents it.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use command_line::shown;
use driver_build::{Error, Tool};
use serde_json::Value;

/// A package that is not marked `publish = false`.
#[derive(Clone, Debug)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) manifest: PathBuf,
    /// Whether it belongs to the workspace.
    pub(super) is_member: bool,
    /// The packages of this repository that must be in the registry before it.
    needs: Vec<String>,
    readme: Option<PathBuf>,
    has_repository: bool,
}

impl fmt::Display for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}

/// Returns the packages of a workspace, and those of the folders `crates/*/*` that are not its members.
pub(super) fn packages(root: &Path, cargo: impl Fn() -> Tool) -> Result<Vec<Package>, Error> {
    let mut found = metadata(&root.join("Cargo.toml"), true, &cargo)?;
    let mut manifests: Vec<PathBuf> = folders(&root.join("crates"))
        .iter()
        .flat_map(|product| folders(product))
        .map(|dir| dir.join("Cargo.toml"))
        .collect();
    manifests.sort();
    for manifest in manifests.iter().filter(|manifest| manifest.is_file()) {
        let text = fs::read_to_string(manifest).map_err(|error| failed(manifest, &error))?;
        // Members are known from the workspace, whether they are published or not.
        let is_known = found.iter().any(|package| package.manifest == *manifest);
        if !is_known && !text.contains("publish = false") {
            found.extend(metadata(manifest, false, &cargo)?);
        }
    }
    Ok(found)
}

fn folders(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()).collect()
}

fn failed(path: &Path, error: &dyn fmt::Display) -> Error {
    Error::Failed(format!("{}: {error}", shown(path)))
}

/// Asks cargo for the published packages of a manifest.
fn metadata(manifest: &Path, is_member: bool, cargo: impl Fn() -> Tool) -> Result<Vec<Package>, Error> {
    let tool = cargo().args(["metadata", "--no-deps", "--format-version", "1"]);
    let (text, messages, result) = tool.args(super::manifest_path(manifest)).run_silently();
    result.map_err(|error| Error::Failed(format!("{error}\n{messages}")))?;
    let metadata: Value = serde_json::from_str(&text).map_err(|error| failed(manifest, &error))?;
    let packages = metadata.get("packages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    // `publish = false` is an empty list of registries.
    let published = packages.iter().filter(|package| package["publish"].as_array().is_none_or(|list| !list.is_empty()));
    Ok(published.map(|package| self::package(package, is_member)).collect())
}

fn package(described: &Value, is_member: bool) -> Package {
    let text = |key: &str| described[key].as_str().unwrap_or_default().to_owned();
    let manifest = PathBuf::from(text("manifest_path"));
    let dependencies = described["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
    // Cargo leaves a dependency without a version out of the package. Only tests may have one.
    let needs = dependencies.iter().filter(|one| one["path"].is_string() && one["req"] != "*");
    Package {
        name: text("name"),
        version: text("version"),
        is_member,
        needs: needs.filter_map(|one| one["name"].as_str()).map(str::to_owned).collect(),
        readme: described["readme"].as_str().map(|readme| manifest.with_file_name(readme)),
        has_repository: described["repository"].is_string(),
        manifest,
    }
}

/// Puts each package after those that it needs, otherwise in the order of their names.
pub(super) fn ordered(mut packages: Vec<Package>) -> Result<Vec<Package>, Error> {
    packages.sort_by(|one, other| one.name.cmp(&other.name));
    let mut ordered: Vec<Package> = Vec::with_capacity(packages.len());
    while !packages.is_empty() {
        let is_ready = |package: &Package| !packages.iter().any(|other| package.needs.contains(&other.name));
        let Some(next) = packages.iter().position(is_ready) else {
            let names: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
            return Err(Error::Failed(format!("these crates need each other: {}", names.join(", "))));
        };
        ordered.push(packages.remove(next));
    }
    Ok(ordered)
}

/// Why a package must not be published as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Obstacle {
    package: String,
    reason: Reason,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Reason {
    NoRepository,
    UnreadableReadme(String),
    /// The README says that the crate is not published.
    Denial {
        line: usize,
    },
    /// A link of the README to a file that is not in the package.
    Link {
        line: usize,
        target: String,
    },
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.package)?;
        match &self.reason {
            Reason::NoRepository => f.write_str("Cargo.toml has no `repository`"),
            Reason::UnreadableReadme(error) => f.write_str(error),
            Reason::Denial { line } => write!(f, "README.md:{line} says that it is not published yet"),
            Reason::Link { line, target } => {
                write!(f, "README.md:{line} links to {target}, which is not in the package")
            }
        }
    }
}

/// Returns what prevents the publication of the packages.
pub(super) fn obstacles(packages: &[Package]) -> Vec<Obstacle> {
    let of_one = |package: &Package| {
        let obstacle = |reason| Obstacle { package: package.name.clone(), reason };
        reasons(package).into_iter().map(obstacle).collect::<Vec<_>>()
    };
    packages.iter().flat_map(of_one).collect()
}

fn reasons(package: &Package) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if !package.has_repository {
        reasons.push(Reason::NoRepository);
    }
    let Some(readme) = &package.readme else { return reasons };
    let text = match fs::read_to_string(readme) {
        Ok(text) => text,
        Err(error) => {
            reasons.push(Reason::UnreadableReadme(failed(readme, &error).to_string()));
            return reasons;
        }
    };
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if line.contains("not published yet") {
            reasons.push(Reason::Denial { line: number });
        }
        let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|target| target.starts_with("../")) {
            reasons.push(Reason::Link { line: number, target: target.to_owned() });
        }
    }
    reasons
}
