//! The plan of a build, which `wdk-kit prepare` prints, and the state that is kept between builds.

use std::fs;
use std::path::{Path, PathBuf};

use crate::artifacts::Artifacts;
use crate::build::Options;
use crate::error::Error;
use crate::files::{describe, write_if_changed};
use crate::host::Host;
use crate::output::manner;
use crate::setup::WindowsToolchain;

/// The file with the list of folders in which `wdk-macros` caches what it read from the bindings.
const MACROS: &str = "wdk-macros.folders";

/// Everything that is known about a driver's workspace before cargo compiles.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The folder of the kit, or of a WDK.
    pub(crate) root: PathBuf,
    /// The folders of packages that replace others, such as the stand-in for `wdk-build`.
    pub(crate) replacements: Vec<PathBuf>,
    /// The folder of programs that have the names of Microsoft's tools.
    pub(crate) tools: PathBuf,
    /// Whether the compiler's flags include unstable ones.
    pub(crate) has_unstable_flags: bool,
    /// Whether a build script sets the entry point of drivers.
    pub(crate) names_entry: bool,
    /// The manifests of drivers that need a separate run of cargo, and their names.
    pub(crate) separate: Vec<PathBuf>,
    pub(crate) separate_packages: Vec<String>,
    /// The folder of the manifest in the options. Cargo runs in it, so that it reads the configuration in and above it.
    pub(crate) folder: PathBuf,
    /// The driver's workspace.
    pub(crate) workspace: PathBuf,
    /// Its target directory.
    pub(crate) target: PathBuf,
    pub(crate) groups: Vec<Group>,
    /// The number of packages of the workspace that are not drivers.
    pub(crate) others: usize,
}

/// Drivers of one model. One run of cargo generates bindings for one model only.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Group {
    /// The driver model of the manifest as JSON; empty if there is none.
    pub(crate) model: String,
    pub(crate) packages: Vec<String>,
    libraries: Vec<String>,
    /// Libraries that enable unstable features.
    pub(crate) unstable: Vec<String>,
}

impl Group {
    /// A short name of the model, such as `kmdf-1-33`.
    pub(crate) fn name(&self) -> String {
        let words = self.model.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| {
            word.chars().all(|c| c.is_ascii_digit()) || ["WDM", "KMDF", "UMDF", "minimum"].contains(word)
        });
        let name: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        if name.is_empty() { String::from("plain") } else { name.join("-").to_lowercase() }
    }
}

impl Plan {
    /// Runs `wdk-kit prepare`, which reads the workspace and makes what is missing: the kit, and the stand-in for `wdk-build`.
    pub(crate) fn make(
        host: &Host,
        toolchain: &WindowsToolchain,
        options: &Options,
        manifest: &Path,
    ) -> Result<Self, Error> {
        let mut tool = host.program("wdk-kit").args(["prepare", "--target", options.arch.triple()]).args([
            "--out".as_ref(),
            host.cache().as_os_str(),
            "--manifest-path".as_ref(),
            manifest.as_os_str(),
        ]);
        for package in &options.packages {
            tool = tool.args(["--package", package]);
        }
        if let Some(wdk) = &options.wdk {
            tool = tool.args(["--wdk".as_ref(), wdk.as_os_str()]);
        }
        if let Some(name) = toolchain.name() {
            // The cargo of the driver's toolchain reads its manifests: they can be too new for the cargo that runs here.
            tool = tool.hidden_env("WDK_KIT_TOOLCHAIN", name);
        }
        let activity = (manner().activity)("preparing the driver kit");
        let (account, said, result) = tool.run_silently();
        drop(activity);
        result.map_err(|error| match error {
            Error::Failed(_) => Error::Failed(said.trim().to_owned()),
            other => other,
        })?;
        let folder = manifest.parent().map(Path::to_path_buf).unwrap_or_default();
        Ok(Self { folder, ..Self::parse(&account) })
    }

    fn parse(account: &str) -> Self {
        let mut plan = Self::default();
        for (key, value) in account.lines().filter_map(|line| line.split_once('=')) {
            let group = plan.groups.last_mut();
            match (key, group) {
                ("root", _) => plan.root = value.into(),
                ("workspace", _) => plan.workspace = value.into(),
                ("target", _) => plan.target = value.into(),
                ("others", _) => plan.others = value.parse().unwrap_or_default(),
                ("override", _) => plan.replacements.push(value.into()),
                ("tools", _) => plan.tools = value.into(),
                ("unstable-flags", _) => plan.has_unstable_flags = true,
                ("names-entry", _) => plan.names_entry = true,
                ("separate", _) => plan.separate.push(value.into()),
                ("separate-package", _) => plan.separate_packages.push(value.to_owned()),
                ("model", _) => plan.groups.push(Group { model: value.to_owned(), ..Group::default() }),
                ("package", Some(group)) => group.packages.push(value.to_owned()),
                ("library", Some(group)) => group.libraries.push(value.to_owned()),
                ("unstable", Some(group)) => group.unstable.push(value.to_owned()),
                _ => {}
            }
        }
        plan
    }

    /// Makes the shared build folder ready for these drivers. It removes two kinds of stale files that cargo does not notice: an
    /// image with the same library name from another workspace, because cargo names an image by its library only; and the cache
    /// of `wdk-macros`, which it keeps even if the kit or the version of the framework has changed.
    pub(crate) fn take_over(&self, group: &Group, build: &Path, triple: &str) -> Result<(), Error> {
        for library in &group.libraries {
            let owner = build.join("owners").join(library);
            let workspace = self.workspace.to_string_lossy();
            if fs::read_to_string(&owner).is_ok_and(|old| old != workspace) {
                for profile in ["debug", "release"] {
                    for place in ["", "deps"] {
                        let image = build.join(triple).join(profile).join(place).join(library).with_extension("dll");
                        // It is no error if there is no such image.
                        let _ = fs::remove_file(image);
                    }
                }
            }
            write_if_changed(&owner, &workspace)?;
        }
        if !group.model.contains("KMDF") {
            return Ok(());
        }
        let seen = build.join("kit.seen");
        let root = format!("{}\n{}", self.root.display(), group.name());
        if !fs::read_to_string(&seen).is_ok_and(|old| old == root) {
            for folder in fs::read_to_string(build.join(MACROS)).unwrap_or_default().lines() {
                // It is no error if there is no such folder.
                let _ = fs::remove_dir_all(Path::new(folder).join("wdk_macros_ast_fragments"));
            }
        }
        write_if_changed(&seen, &root)
    }

    /// Records the folders in which `wdk-macros` keeps its cache: the `OUT_DIR` of the package `scratch`, one for each profile and
    /// toolchain.
    pub(crate) fn remember_macros(build: &Path, artifacts: &Artifacts) -> Result<(), Error> {
        let path = build.join(MACROS);
        let mut folders = fs::read_to_string(&path).unwrap_or_default();
        for script in artifacts.scripts.iter().filter(|script| script.package.contains("#scratch@")) {
            let folder = script.out_dir.display().to_string();
            if !folders.lines().any(|known| known == folder) {
                folders = folders + &folder + "\n";
            }
        }
        if folders.is_empty() { Ok(()) } else { write_if_changed(&path, &folders) }
    }
}

/// The text of a file, or an empty text if there is no such file.
pub(crate) fn read(path: &Path) -> Result<String, Error> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(describe(path, &error)),
    }
}

#[cfg(test)]
mod tests {
    use super::{Group, Plan};
    use std::path::Path;

    #[test]
    fn groups_are_read_with_their_drivers() {
        let plan = Plan::parse(
            "root=/k\nworkspace=/w with space\noverride=/o\noverride=/p\ntools=/t\nmodel={\"driver-type\":\"WDM\"}\npackage=a-b\nlibrary=a_b\n\
             model={}\npackage=c\nlibrary=c\nunstable=c\n",
        );
        assert_eq!(plan.workspace.to_str(), Some("/w with space"));
        assert_eq!(plan.replacements, [Path::new("/o"), Path::new("/p")]);
        assert_eq!(plan.groups.len(), 2);
        assert_eq!(plan.groups[0].packages, ["a-b"]);
        assert_eq!(plan.groups[1].unstable, ["c"]);
    }

    #[test]
    fn drivers_of_one_model_share_a_folder() {
        let name = |model: &str| Group { model: model.into(), ..Group::default() }.name();
        let kmdf = r#"{"driver-type":"KMDF","kmdf-version-major":1,"target-kmdf-version-minor":33}"#;
        assert_eq!(name(kmdf), "kmdf-1-33");
        let older = r#"{"driver-type":"KMDF","kmdf-version-major":1,"minimum-kmdf-version-minor":25,"target-kmdf-version-minor":33}"#;
        assert_eq!(name(older), "kmdf-1-minimum-25-33");
        assert_eq!(name(r#"{"driver-type":"WDM"}"#), "wdm");
        assert_eq!(name(""), "plain");
    }
}
