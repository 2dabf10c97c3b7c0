//! Where the kit is, and whether it is complete.

use std::fs;
use std::path::{Path, PathBuf};

use crate::ConfigError;

/// The SDK version whose folders the kit imitates.
pub const VERSION: &str = env!("WDK_KIT_VERSION");
/// The third part of [`VERSION`].
pub const BUILD_NUMBER: u32 = 26100;

/// The kit's root, laid out as a WDK's: `Include`, `Lib`.
#[must_use]
pub fn root() -> &'static Path {
    Path::new(env!("WDK_KIT_ROOT"))
}

/// The folder, if the kit has it.
pub(crate) fn folder(inside: &str) -> Result<PathBuf, ConfigError> {
    let path = root().join(inside);
    if path.is_dir() { Ok(path) } else { Err(ConfigError::DirectoryNotFound { directory: path.display().to_string() }) }
}

/// Fails when the kit has no libraries, because the tools that make them were not found.
pub(crate) fn require_libraries() -> Result<(), ConfigError> {
    match fs::read_to_string(root().join("missing-tools")) {
        Ok(tools) => Err(ConfigError::MissingTools { tools }),
        Err(_) => Ok(()),
    }
}
