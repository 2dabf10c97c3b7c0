//! A stand-in for `wdk-build` on hosts that have neither Windows nor a WDK.
//!
//! It offers the part of that crate's interface which the build scripts of `wdk-sys`, `wdk`, `wdk-alloc`, `wdk-panic` and of
//! drivers use. It looks for nothing: two environment variables say where the kit (or a WDK) is, and what kind of driver is
//! being built. It comes into a build only through the `paths` entry that `cargo xtask build` passes to cargo.
//!
//! Releases of the original differ in a few signatures, which are in `release.rs`; the rest is the same for all of them.

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

/// Parts of the original's module that build scripts name.
pub mod metadata {
    pub use crate::TryFromCargoMetadataError;
}

/// Configures the build of a library that uses the WDK's declarations.
///
/// Without a driver model the library is being built on its own: its `cfg`s are declared and nothing else happens.
///
/// # Errors
///
/// If the driver model is not understood, or the kit cannot serve it.
pub fn configure_wdk_library_build() -> Result<(), ConfigError> {
    configure_wdk_library_build_and_then(|_| Ok(()))
}

/// As [`configure_wdk_library_build`], and then calls `then` with the configuration.
///
/// # Errors
///
/// If the driver model is not understood, if the kit cannot serve it, or what `then` returns.
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

/// Configures the build of a driver; called by its build script.
///
/// # Errors
///
/// If there is no driver model, if the kit cannot serve it, or if the C runtime is not linked statically.
pub fn configure_wdk_binary_build() -> Result<(), ConfigError> {
    Config::from_env_auto()?.configure_binary_build()
}

/// The build number of the WDK, or of the one that the kit stands in for.
///
/// # Errors
///
/// If there is no kit.
pub fn detect_wdk_build_number() -> Result<u32, ConfigError> {
    let version = kit::version()?;
    Ok(version.split('.').nth(2).and_then(|number| number.parse().ok()).unwrap_or_default())
}

/// The manifest that this build is about.
///
/// # Panics
///
/// Outside of a build script of a driver.
#[must_use]
#[expect(clippy::expect_used, reason = "the signature is that of `wdk-build`, which has no error")]
pub fn find_top_level_cargo_manifest() -> PathBuf {
    let given = env::var_os("WDK_KIT_MANIFEST").or_else(|| {
        env::var_os("CARGO_MANIFEST_DIR").map(|folder| PathBuf::from(folder).join("Cargo.toml").into_os_string())
    });
    given.expect("cargo sets CARGO_MANIFEST_DIR for build scripts").into()
}
