//! Finds the kit, or a WDK that is used instead.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::error::ConfigError;

/// The variable with the path of the kit, or of a WDK.
pub const ROOT: &str = "WDK_KIT_ROOT";

static CHOSEN: OnceLock<PathBuf> = OnceLock::new();

/// Sets the path instead of the variable, for tools and tests. Only the first call has an effect.
pub fn choose(root: &Path) {
    let _ = CHOSEN.set(root.to_path_buf());
}

/// Returns the folder with `Include` and `Lib`.
///
/// # Errors
///
/// Fails if the variable is not set.
pub fn root() -> Result<PathBuf, ConfigError> {
    CHOSEN.get().cloned().or_else(|| env::var_os(ROOT).map(PathBuf::from)).ok_or(ConfigError::NoKit)
}

/// Returns the newest version in `Include`, such as `10.0.26100.0`.
///
/// # Errors
///
/// Fails if `Include` has no version.
pub fn version() -> Result<String, ConfigError> {
    let include = root()?.join("Include");
    let entries = fs::read_dir(&include).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let parts = |name: &String| name.split('.').map(|part| part.parse().unwrap_or(0)).collect::<Vec<u32>>();
    let newest =
        names.filter(|name| name.starts_with("10.") && include.join(name).join("km").is_dir()).max_by_key(parts);
    newest.ok_or_else(|| ConfigError::DirectoryNotFound { directory: include.join("10.*/km").display().to_string() })
}

/// Returns the path of a folder inside of the kit, if the kit has it.
pub(crate) fn dir(inside: &str) -> Result<PathBuf, ConfigError> {
    let path = root()?.join(inside);
    if path.is_dir() {
        Ok(path)
    } else {
        Err(ConfigError::DirectoryNotFound { directory: path.display().to_string() })
    }
}
