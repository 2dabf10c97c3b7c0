//! A stand-in for `wdk-build` 0.6 on hosts that have neither Windows nor a WDK.
//!
//! It offers the part of that crate's interface which the build scripts of `wdk-sys`, `wdk`, `wdk-alloc`, `wdk-panic` and
//! of drivers use, and answers with a small kit of its own: headers, import libraries and a KMDF entry stub, laid out in
//! the folders of a WDK by this crate's build script. It never looks for a WDK, and it is never used on Windows: it comes
//! into a build only through the `[patch.crates-io]` entry that `cargo xtask build` passes on other hosts.
//!
//! A header or a routine that the kit lacks is an error that names it; README.md says how to add one.

mod builder;
mod config;
mod driver_config;
mod error;
pub mod kit;
mod link;
mod manifest;
pub mod metadata;

pub use builder::BuilderExt;
pub use config::{ApiSubset, Config, CpuArchitecture};
pub use driver_config::{DriverConfig, KmdfConfig, UmdfConfig};
pub use error::{ConfigError, IoError, IoErrorMetadata};
pub use manifest::find_top_level_cargo_manifest;

use metadata::TryFromCargoMetadataError;

/// Configures the build of a library that uses the WDK's declarations.
///
/// Without a driver model anywhere in the workspace the library is being built on its own: its `cfg`s are declared and
/// nothing else happens.
///
/// # Errors
///
/// When the driver model cannot be read from the manifests, or the kit cannot serve it.
pub fn configure_wdk_library_build() -> Result<(), ConfigError> {
    configure_wdk_library_build_and_then(|_| Ok(()))
}

/// As [`configure_wdk_library_build`], and then calls `then` with the configuration.
///
/// # Errors
///
/// When the driver model cannot be read from the manifests, when the kit cannot serve it, or what `then` answers.
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
/// When there is no driver model in the manifests, when the kit cannot serve it, or when the C runtime is not linked
/// statically.
pub fn configure_wdk_binary_build() -> Result<(), ConfigError> {
    Config::from_env_auto()?.configure_binary_build()
}

/// The build number of the WDK that the kit stands in for.
///
/// # Errors
///
/// Never; the original can fail.
pub fn detect_wdk_build_number() -> Result<u32, ConfigError> {
    Ok(kit::BUILD_NUMBER)
}
