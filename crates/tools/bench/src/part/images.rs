//! The images with the same events, written with our macros and with Microsoft's.

use std::fs;
use std::path::PathBuf;

use test_images::{TARGET, Toolchain};

use super::Settings;

/// The two sides of every comparison: the name of the image, and of what it is made with.
pub(super) const SIDES: [(&str, &str); 2] = [("ours", "wdk-etw"), ("peer", "tracelogging 1.2.4")];

/// Where the sources of the images are.
const SOURCES: &str = "crates/tools/bench/images";

/// The images, built.
#[derive(Clone, Debug)]
pub struct Images {
    folder: PathBuf,
}

impl Images {
    /// Builds them.
    ///
    /// # Errors
    ///
    /// Says what is missing, or what the compiler said.
    pub fn build(settings: &Settings) -> Result<Self, String> {
        let toolchain = Toolchain::find()?;
        let manifest = settings.root.join(SOURCES).join("Cargo.toml");
        let target = settings.folder("images");
        let output = toolchain.command("build", "release", &manifest, &target).arg("--locked").output();
        let output = output.map_err(|error| format!("{} could not be started: {error}", toolchain.cargo()))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        Ok(Self { folder: target.join(TARGET).join("release") })
    }

    /// The bytes of an image.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, String> {
        let path = self.folder.join(format!("{name}.dll"));
        fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))
    }
}
