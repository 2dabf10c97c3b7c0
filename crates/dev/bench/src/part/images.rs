//! The images with the same events, written with our macros and with Microsoft's.

use std::fs;
use std::path::{Path, PathBuf};

use test_support::images::{Toolchain, built, named};

use super::Settings;

/// The two sides of every comparison: the name of the image, and of the crate that it is built with.
pub(super) const SIDES: [(&str, &str); 2] = [("ours", "wdk-etw"), ("peer", "tracelogging 1.2.4")];

/// Where the sources of the images are.
const SOURCES: &str = "crates/dev/bench/images";

/// The built images.
#[derive(Clone, Debug)]
pub struct Images {
    files: Vec<PathBuf>,
}

impl Images {
    /// Builds the images.
    ///
    /// # Errors
    ///
    /// Returns what is missing, or the compiler's message.
    pub fn build(settings: &Settings) -> Result<Self, String> {
        let toolchain = Toolchain::find()?;
        let manifest = settings.root.join(SOURCES).join("Cargo.toml");
        let target = settings.scratch("images");
        let files = built(toolchain.command("build", "release", &manifest, &target).arg("--locked"))?;
        Ok(Self { files })
    }

    /// Returns the bytes of an image.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, String> {
        let path = self.path(name)?;
        fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Returns the path of an image.
    ///
    /// # Errors
    ///
    /// Returns an error if it was not built.
    pub fn path(&self, name: &str) -> Result<&Path, String> {
        named(&self.files, &format!("{name}.dll"))
    }
}
