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
    /// The processor.
    pub arch: Arch,
    /// The `dev` profile instead of `release`.
    pub debug: bool,
    /// The folder of a WDK to use instead of the kit.
    pub wdk: Option<PathBuf>,
    /// The folder for the images; they go to a folder in it that is named after the processor. If `None`, `driver` in the
    /// workspace's target directory.
    pub out: Option<PathBuf>,
    /// The toolchain of drivers that do not ask for one. If `None`, the host's.
    pub toolchain: Option<WindowsToolchain>,
}

impl Options {
    /// Every driver of the manifest, for x64, with the `release` profile.
    #[must_use]
    pub fn new(manifest: PathBuf) -> Self {
        Self { manifest, packages: Vec::new(), arch: Arch::X64, debug: false, wdk: None, out: None, toolchain: None }
    }
}
