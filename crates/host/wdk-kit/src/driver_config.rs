//! The driver model, as `[package.metadata.wdk.driver-model]` states it.

use serde::Deserialize;

/// The kind of driver.
#[derive(Debug, Clone, Deserialize, PartialEq, Eq, Hash)]
#[serde(tag = "driver-type", deny_unknown_fields, rename_all = "UPPERCASE")]
pub enum DriverConfig {
    /// Windows Driver Model.
    Wdm,
    /// Kernel-Mode Driver Framework.
    Kmdf(KmdfConfig),
    /// User-Mode Driver Framework; the kit has none of it.
    Umdf(UmdfConfig),
}

impl DriverConfig {
    /// The value of the `cfg` that crates compile by.
    pub(crate) fn cfg_value(&self) -> &'static str {
        match self {
            Self::Wdm => "WDM",
            Self::Kmdf(_) => "KMDF",
            Self::Umdf(_) => "UMDF",
        }
    }
}

/// Which KMDF.
#[derive(Debug, Clone, Copy, Deserialize, PartialEq, Eq, Hash)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct KmdfConfig {
    /// Major version.
    pub kmdf_version_major: u8,
    /// Minor version that the driver is built for.
    pub target_kmdf_version_minor: u8,
    /// Oldest minor version that it runs on, if that is another.
    pub minimum_kmdf_version_minor: Option<u8>,
}

impl KmdfConfig {
    /// The version the kit has.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Default for KmdfConfig {
    fn default() -> Self {
        Self { kmdf_version_major: 1, target_kmdf_version_minor: 33, minimum_kmdf_version_minor: None }
    }
}

/// Which UMDF.
#[derive(Debug, Clone, Copy, Deserialize, PartialEq, Eq, Hash)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct UmdfConfig {
    /// Major version.
    pub umdf_version_major: u8,
    /// Minor version that the driver is built for.
    pub target_umdf_version_minor: u8,
    /// Oldest minor version that it runs on, if that is another.
    pub minimum_umdf_version_minor: Option<u8>,
}

impl UmdfConfig {
    /// The original's default.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Default for UmdfConfig {
    fn default() -> Self {
        Self { umdf_version_major: 2, target_umdf_version_minor: 33, minimum_umdf_version_minor: None }
    }
}
