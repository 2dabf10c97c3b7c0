//! A stand-in for `wdk-build` on hosts that have neither Windows nor a WDK.
//!
//! It has the part of that crate's interface that the build scripts of `wdk-sys`, `wdk`, `wdk-alloc`, `wdk-panic` and of drivers
//! use. It never searches for a WDK: one environment variable has the path of the kit (or of a WDK), another has the driver model.
//! A build uses it only through the `paths` entry that `cargo xtask build` passes to cargo.
//!
//! Releases of the original differ in a few signatures, which are in the module `release`. The rest is the same for all releases.

mod builder;
mod config;
mod driver_config;
mod error;
pub mod kit;
mod link;
#[path = "release/v0_6.rs"]
mod release;

use std::env;
use std::path::PathBuf;

pub use config::{ApiSubset, Config, CpuArchitecture};
pub use driver_config::{DriverConfig, KmdfConfig, UmdfConfig};
pub use error::{ConfigError, IoError, IoErrorMetadata, TryFromCargoMetadataError};
pub use release::BuilderExt;

/// The parts of the original's module that build scripts use.
pub mod metadata {
    pub use crate::TryFromCargoMetadataError;
}

/// Configures the build of a library that uses the WDK's declarations.
///
/// If there is no driver model, the library is built without a driver. Then only its `cfg`s are declared.
///
/// # Errors
///
/// Fails if the driver model is invalid, or if the kit does not support it.
pub fn configure_wdk_library_build() -> Result<(), ConfigError> {
    configure_wdk_library_build_and_then(|_| Ok(()))
}

/// Like [`configure_wdk_library_build`], and then calls `then` with the configuration.
///
/// # Errors
///
/// Fails if the driver model is invalid, if the kit does not support it, or if `then` fails.
pub fn configure_wdk_library_build_and_then<F, E>(mut then: F) -> Result<(), E>
where
    F: FnMut(Config) -> Result<(), E>,
    E: From<ConfigError>,
{
    match Config::from_env_auto() {
        Ok(config) => {
            config.configure_library_build()?;
            then(config)
        }
        Err(ConfigError::TryFromCargoMetadataError(TryFromCargoMetadataError::NoWdkConfigurationsDetected)) => {
            Config::emit_check_cfg_settings();
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Configures the build of a driver. The driver's build script calls it.
///
/// # Errors
///
/// Fails if there is no driver model, if the kit does not support it, or if the C runtime is not linked statically.
pub fn configure_wdk_binary_build() -> Result<(), ConfigError> {
    Config::from_env_auto()?.configure_binary_build()
}

/// Returns the build number of the WDK, or of the WDK that the kit replaces.
///
/// # Errors
///
/// Fails if there is no kit.
pub fn detect_wdk_build_number() -> Result<u32, ConfigError> {
    let version = kit::version()?;
    Ok(version.split('.').nth(2).and_then(|number| number.parse().ok()).unwrap_or_default())
}

/// Returns the manifest of the package that is being built.
///
/// # Panics
///
/// Panics outside of a build script.
#[must_use]
#[expect(clippy::expect_used, reason = "the signature of `wdk-build` has no error")]
pub fn find_top_level_cargo_manifest() -> PathBuf {
    let dir = env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR for build scripts");
    PathBuf::from(dir).join("Cargo.toml")
}
