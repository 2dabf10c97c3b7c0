//! The interface of `wdk-build` 0.1 and 0.2, which takes the place of `lib.rs`.
//!
//! That release does not read `[package.metadata.wdk.driver-model]`. `wdk-sys` is always built for KMDF 1.33 and passes its
//! configuration to the build scripts of packages that depend on it, which choose the model of their driver.

// The modules below also serve later releases.
#![allow(dead_code)]

mod builder;
mod config;
mod driver_config;
mod error;
pub mod kit;
mod link;

use std::env;
use std::fmt;
use std::path::PathBuf;

use bindgen::Builder;

pub use config::CpuArchitecture as CPUArchitecture;
use driver_config::{KmdfConfig, UmdfConfig};

/// What the shared modules need from a release.
mod release {
    /// Whether bindings link the libraries. In this release, build scripts do.
    pub(crate) const LINKS_IN_BINDINGS: bool = false;
    /// Whether the bindings rename the function table. In this release, its name contains the version of the framework.
    pub(crate) const NAMES_FUNCTION_TABLE: bool = false;
}

/// The variable with which a build script passes the configuration on.
const KEY: &str = "wdk_config";

/// The configuration of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The path of the kit.
    pub wdk_content_root: PathBuf,
    /// The kind of driver.
    pub driver_config: DriverConfig,
    /// The processor.
    pub cpu_architecture: CPUArchitecture,
}

/// The kind of driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DriverConfig {
    /// Windows Driver Model.
    WDM(),
    /// Kernel-Mode Driver Framework.
    KMDF(KMDFConfig),
    /// User-Mode Driver Framework. The kit does not support it.
    UMDF(UMDFConfig),
}

/// The names of the variants in 0.1.
#[allow(non_snake_case)]
impl DriverConfig {
    /// Kernel-Mode Driver Framework.
    #[must_use]
    pub const fn KMDFConfig(config: KMDFConfig) -> Self {
        Self::KMDF(config)
    }

    /// User-Mode Driver Framework.
    #[must_use]
    pub const fn UMDFConfig(config: UMDFConfig) -> Self {
        Self::UMDF(config)
    }
}

/// The version of KMDF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KMDFConfig {
    /// Major version.
    pub kmdf_version_major: u8,
    /// Minor version.
    pub kmdf_version_minor: u8,
}

impl KMDFConfig {
    /// The original's default.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Default for KMDFConfig {
    fn default() -> Self {
        Self { kmdf_version_major: 1, kmdf_version_minor: 33 }
    }
}

/// The version of UMDF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UMDFConfig {
    /// Major version.
    pub umdf_version_major: u8,
    /// Minor version.
    pub umdf_version_minor: u8,
}

impl UMDFConfig {
    /// The original's default.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Default for UMDFConfig {
    fn default() -> Self {
        Self { umdf_version_major: 2, umdf_version_minor: 33 }
    }
}

/// The errors of build scripts.
#[derive(Debug)]
pub enum ConfigError {
    /// The kit does not support the build.
    Kit(error::ConfigError),
    /// A failed file operation.
    IoError(std::io::Error),
    /// No configuration was passed on.
    ConfigFromEnvError(ConfigFromEnvError),
    /// The configuration cannot be passed on.
    ExportError(ExportError),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kit(error) => error.fmt(f),
            Self::IoError(error) => error.fmt(f),
            Self::ConfigFromEnvError(error) => error.fmt(f),
            Self::ExportError(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ConfigError {}

impl From<error::ConfigError> for ConfigError {
    fn from(error: error::ConfigError) -> Self {
        Self::Kit(error)
    }
}

impl From<std::io::Error> for ConfigError {
    fn from(error: std::io::Error) -> Self {
        Self::IoError(error)
    }
}

impl From<ConfigFromEnvError> for ConfigError {
    fn from(error: ConfigFromEnvError) -> Self {
        Self::ConfigFromEnvError(error)
    }
}

impl From<ExportError> for ConfigError {
    fn from(error: ExportError) -> Self {
        Self::ExportError(error)
    }
}

/// No configuration was passed on.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConfigFromEnvError {
    /// The package depends on neither `wdk` nor `wdk-sys`.
    ConfigNotFound,
}

impl fmt::Display for ConfigFromEnvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no WDK configuration: the package depends on neither wdk nor wdk-sys; add one to [dependencies]")
    }
}

impl std::error::Error for ConfigFromEnvError {}

/// The configuration cannot be passed on.
#[derive(Debug)]
#[non_exhaustive]
pub enum ExportError {
    /// The package has no `links` in its manifest.
    MissingLinksValue,
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the package has no `links` in its manifest")
    }
}

impl std::error::Error for ExportError {}

impl Default for Config {
    fn default() -> Self {
        let arch = env::var("CARGO_CFG_TARGET_ARCH").ok().and_then(CPUArchitecture::try_from_cargo_str);
        Self {
            wdk_content_root: kit::root().unwrap_or_default(),
            driver_config: DriverConfig::WDM(),
            cpu_architecture: arch.unwrap_or(CPUArchitecture::Amd64),
        }
    }
}

impl Config {
    /// Returns the configuration of a WDM driver for the processor that Cargo builds for.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the configuration that a package with this value of `links` passed on.
    ///
    /// # Errors
    ///
    /// Fails if the package passed none on.
    pub fn from_env<S: AsRef<str> + fmt::Display>(links: S) -> Result<Self, ConfigFromEnvError> {
        let version = env::var(format!("DEP_{links}_{}", KEY.to_ascii_uppercase()));
        let mut parts = version.iter().flat_map(|text| text.split('.')).filter_map(|part| part.parse().ok());
        match (parts.next(), parts.next()) {
            (Some(kmdf_version_major), Some(kmdf_version_minor)) => {
                let driver_config = DriverConfig::KMDF(KMDFConfig { kmdf_version_major, kmdf_version_minor });
                Ok(Self { driver_config, ..Self::default() })
            }
            _ if version.is_ok() => Ok(Self::default()),
            _ => Err(ConfigFromEnvError::ConfigNotFound),
        }
    }

    /// Returns the configuration that `wdk` or `wdk-sys` passed on.
    ///
    /// # Errors
    ///
    /// Fails if the package depends on neither.
    pub fn from_env_auto() -> Result<Self, ConfigFromEnvError> {
        Self::from_env("WDK").or_else(|_| Self::from_env("WDK-SYS"))
    }

    /// Passes the configuration on to packages that depend on this one.
    ///
    /// # Errors
    ///
    /// Fails if the package has no `links` in its manifest.
    pub fn export_config(&self) -> Result<(), ExportError> {
        env::var("CARGO_MANIFEST_LINKS").map_err(|_| ExportError::MissingLinksValue)?;
        let version = match self.driver_config {
            DriverConfig::KMDF(kmdf) => format!("{}.{}", kmdf.kmdf_version_major, kmdf.kmdf_version_minor),
            DriverConfig::WDM() | DriverConfig::UMDF(_) => String::from("none"),
        };
        println!("cargo:{KEY}={version}");
        Ok(())
    }

    /// Returns the folders with headers.
    ///
    /// # Errors
    ///
    /// Fails if the kit lacks a folder.
    pub fn get_include_paths(&self) -> Result<Vec<PathBuf>, ConfigError> {
        Ok(self.shared().include_dirs()?)
    }

    /// Returns the folders with libraries.
    ///
    /// # Errors
    ///
    /// Fails if the kit lacks a folder.
    pub fn get_library_paths(&self) -> Result<Vec<PathBuf>, ConfigError> {
        Ok(self.shared().library_dirs()?)
    }

    /// Configures the build of a library: sets the libraries that it is linked with.
    ///
    /// # Errors
    ///
    /// Fails if the kit lacks a folder.
    pub fn configure_library_build(&self) -> Result<(), ConfigError> {
        // Not `static`, because that would copy every import into the Rust library.
        Ok(self.shared().link_libraries("")?)
    }

    /// Configures the build of a driver.
    pub fn configure_binary_build(&self) {
        self.shared().link_arguments();
    }

    fn shared(&self) -> config::Config {
        let model = match self.driver_config {
            DriverConfig::WDM() => driver_config::DriverConfig::Wdm,
            DriverConfig::KMDF(kmdf) => driver_config::DriverConfig::Kmdf(KmdfConfig {
                kmdf_version_major: kmdf.kmdf_version_major,
                target_kmdf_version_minor: kmdf.kmdf_version_minor,
                minimum_kmdf_version_minor: None,
            }),
            DriverConfig::UMDF(umdf) => driver_config::DriverConfig::Umdf(UmdfConfig {
                umdf_version_major: umdf.umdf_version_major,
                target_umdf_version_minor: umdf.umdf_version_minor,
                minimum_umdf_version_minor: None,
            }),
        };
        config::Config::for_model(model, self.cpu_architecture)
    }
}

/// Extends [`bindgen::Builder`].
pub trait BuilderExt {
    /// Returns a builder with the settings that bindings to driver headers need.
    ///
    /// # Errors
    ///
    /// Fails if the kit lacks a folder of headers.
    fn wdk_default(c_header_files: Vec<&str>, config: Config) -> Result<Builder, ConfigError>;
}

impl BuilderExt for Builder {
    fn wdk_default(c_header_files: Vec<&str>, config: Config) -> Result<Builder, ConfigError> {
        let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
        let c_header_files: Vec<String> =
            c_header_files.into_iter().map(|header| package.join(header).display().to_string()).collect();
        leave_package()?;
        Ok(c_header_files.into_iter().fold(builder::builder(&config.shared())?, Builder::header))
    }
}

/// Changes the current folder to the folder for generated files. The build script of `wdk-sys` 0.2 also writes its output to a relative
/// path in its package. That package is in cargo's cache, and other builds use it.
fn leave_package() -> Result<(), ConfigError> {
    if let Some(out) = env::var_os("OUT_DIR").map(PathBuf::from) {
        std::fs::create_dir_all(out.join("generated_bindings"))?;
        env::set_current_dir(out)?;
    }
    Ok(())
}
