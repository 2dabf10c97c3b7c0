//! What to build.

use std::path::PathBuf;

use crate::arch::Arch;
use crate::toolchain::WindowsToolchain;

/// What to build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The driver's manifest, or the folder that it is in.
    pub manifest: PathBuf,
    /// The packages of the workspace to build. If empty, the package of the manifest, or all drivers of a workspace.
    pub packages: Vec<String>,
    /// All drivers of the workspace, also if the manifest has a package.
    pub is_workspace: bool,
    /// The processor.
    pub arch: Arch,
    /// The profile, such as `release` or `dev`.
    pub profile: String,
    /// The folder of a WDK to use instead of the kit.
    pub wdk: Option<PathBuf>,
    /// The target directory, which has the folder for images and packages. If `None`, cargo's.
    pub target_dir: Option<PathBuf>,
    /// The folder for the images; they go to a folder in it that is named after the processor. If `None`, `driver` in the
    /// workspace's target directory.
    pub out: Option<PathBuf>,
    /// The toolchain of drivers that do not ask for one. If `None`, the host's.
    pub toolchain: Option<WindowsToolchain>,
    /// What else cargo is told.
    pub cargo: CargoOptions,
}

/// Options of cargo that are passed on to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CargoOptions {
    /// Arguments that choose features.
    pub features: Vec<String>,
    /// Arguments that say whether cargo may use the network and change `Cargo.lock`.
    pub lock: Vec<String>,
    /// The number of jobs, as in `--jobs`.
    pub jobs: Option<String>,
    /// The format of messages, as in `--message-format`. Messages in JSON go to standard output.
    pub message_format: Option<String>,
}

impl Options {
    /// Every driver of the manifest, for x64, with the `release` profile.
    #[must_use]
    pub fn new(manifest: PathBuf) -> Self {
        Self {
            manifest,
            packages: Vec::new(),
            is_workspace: false,
            arch: Arch::X64,
            profile: String::from("release"),
            wdk: None,
            target_dir: None,
            out: None,
            toolchain: None,
            cargo: CargoOptions::default(),
        }
    }
}
