//! Prepares a build: finds the drivers of a workspace and makes what they need before cargo compiles.

use std::path::{Path, PathBuf};

use crate::additions::{self, Libraries};
use crate::files::FileError;
use crate::host::Host;
use crate::metadata::Metadata;
use crate::microsoft_tools;
use crate::model::Model;
use crate::options::Options;
use crate::output::manner;
use crate::prepare_error::PrepareError;
use crate::stand_in::write_registry;
use crate::toolchain::WindowsToolchain;
use crate::toolchain_file;
use crate::wdk::link_wdk;
use crate::workspace::Workspace;

/// A build that can start: the drivers, and everything that was made for them.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The driver's workspace.
    pub workspace: Workspace,
    /// What to build. The path of the manifest is absolute, and that of a file.
    pub(crate) options: Options,
    /// The toolchain that the driver asks for, or the host's.
    pub(crate) toolchain: WindowsToolchain,
    /// The folder of the kit, or of a WDK.
    pub(crate) kit: PathBuf,
    /// The folders of packages that replace others, such as the stand-in for `wdk-build`.
    pub(crate) replacements: Vec<PathBuf>,
    /// The import libraries of the driver's module definition files.
    pub(crate) libraries: Libraries,
    /// The folder of programs that have the names of Microsoft's tools.
    pub(crate) tools: PathBuf,
}

/// Reads the workspace of the manifest, and makes what its drivers need: the kit, the stand-ins for `wdk-build` and `winreg`, and the
/// programs for build scripts. A driver that cannot be built is rejected here, before anything is compiled.
///
/// # Errors
///
/// If something is missing, or the kit cannot build such a driver. The error says what to change.
pub fn prepare(host: &Host, options: &Options) -> Result<Plan, PrepareError> {
    let manifest = absolute(&options.manifest)?;
    let toolchain = toolchain(host, &manifest, options)?;
    let activity = (manner().activity)("preparing the driver kit");
    let metadata = Metadata::read(host, &toolchain, &manifest, options)?;
    let workspace = Workspace::find(&metadata, &manifest, options)?;
    let cache = host.cache();
    let kit = match &options.wdk {
        Some(dir) => link_wdk(dir, cache)?,
        None => wdk_kit::make_with(&cache.join("kit"), Some(&host.search_path()))?,
    };
    let stand_in = cache.join("stand-in");
    let releases = workspace.releases.iter().map(|release| release.write(&stand_in));
    let registries = workspace.registries.iter().map(|version| write_registry(version, &stand_in));
    let replacements = releases.chain(registries).collect::<Result<_, FileError>>()?;
    let libraries = additions::libraries(host, &workspace, options.arch)?;
    let tools = cache.join("tools");
    microsoft_tools::link(&tools, host)?;
    drop(activity);
    Ok(Plan {
        workspace,
        options: Options { manifest, ..options.clone() },
        toolchain,
        kit,
        replacements,
        libraries,
        tools,
    })
}

impl Plan {
    /// The folder of the manifest. Cargo runs in it, so that it reads the configuration in and above it.
    pub(crate) fn dir(&self) -> &Path {
        self.options.manifest.parent().unwrap_or(&self.options.manifest)
    }

    /// The same drivers for another version of KMDF 1, and without a minimum. Those that are built in a separate run of cargo keep theirs.
    #[must_use]
    pub fn with_framework(mut self, version: u8) -> Self {
        for group in &mut self.workspace.groups {
            if matches!(group.model, Model::Kmdf { .. }) {
                group.model = Model::Kmdf { minor: version, minimum: None };
            }
        }
        self
    }

    /// The options for each driver that is built in a separate run of cargo.
    pub(crate) fn separate(&self) -> impl Iterator<Item = Options> {
        self.workspace.separate.iter().map(|driver| Options {
            manifest: driver.manifest.clone(),
            packages: Vec::new(),
            ..self.options.clone()
        })
    }
}

/// Returns the toolchain that the driver asks for, or that of the options, or the host's, with the libraries of the target.
fn toolchain(host: &Host, manifest: &Path, options: &Options) -> Result<WindowsToolchain, PrepareError> {
    let found = || {
        let toolchain = match (toolchain_file::active(host, manifest)?, &options.toolchain) {
            (Some(name), _) => WindowsToolchain::installed(host, &name)?,
            (None, Some(toolchain)) => toolchain.clone(),
            (None, None) => host.windows()?.clone(),
        };
        toolchain.ensure_target(host, options.arch.triple())?;
        Ok(toolchain)
    };
    found().map_err(PrepareError::Toolchain)
}

fn absolute(path: &Path) -> Result<PathBuf, PrepareError> {
    let manifest = if path.is_dir() { path.join("Cargo.toml") } else { path.to_path_buf() };
    let manifest =
        dunce::canonicalize(&manifest).map_err(|error| PrepareError::Manifest(FileError::new(&manifest, &error)))?;
    if manifest.to_str().is_some() { Ok(manifest) } else { Err(PrepareError::NotUtf8(manifest)) }
}
