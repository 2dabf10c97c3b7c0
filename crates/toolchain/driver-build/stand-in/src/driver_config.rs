//! The driver model of `[package.metadata.wdk.driver-model]`.

use serde_json::Value;

use crate::error::{ConfigError, TryFromCargoMetadataError};

/// The kind of driver.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DriverConfig {
    /// Windows Driver Model.
    Wdm,
    /// Kernel-Mode Driver Framework.
    Kmdf(KmdfConfig),
    /// User-Mode Driver Framework. The kit does not support it.
    Umdf(UmdfConfig),
}

impl DriverConfig {
    /// Returns the value of the `cfg` that crates use for conditional compilation.
    pub(crate) fn cfg_value(&self) -> &'static str {
        match self {
            Self::Wdm => "WDM",
            Self::Kmdf(_) => "KMDF",
            Self::Umdf(_) => "UMDF",
        }
    }

    /// Parses the table, which is JSON.
    #[expect(clippy::indexing_slicing, reason = "a JSON value without the key gives null")]
    pub(crate) fn parse(text: &str) -> Result<Self, ConfigError> {
        let wrong = |reason: String| TryFromCargoMetadataError::WdkMetadataDeserialization { reason };
        let table: Value = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        let number = |key: &str| match &table[key] {
            Value::Null => Ok(None),
            value => match value.as_u64().and_then(|number| u8::try_from(number).ok()) {
                Some(number) => Ok(Some(number)),
                None => Err(wrong(format!("`{key}` is {value}, not a number below 256"))),
            },
        };
        let required = |key: &str| number(key)?.ok_or_else(|| wrong(format!("`{key}` is missing")));
        Ok(match table["driver-type"].as_str() {
            Some("WDM") => Self::Wdm,
            Some("KMDF") => Self::Kmdf(KmdfConfig {
                kmdf_version_major: required("kmdf-version-major")?,
                target_kmdf_version_minor: required("target-kmdf-version-minor")?,
                minimum_kmdf_version_minor: number("minimum-kmdf-version-minor")?,
            }),
            Some("UMDF") => Self::Umdf(UmdfConfig {
                umdf_version_major: required("umdf-version-major")?,
                target_umdf_version_minor: required("target-umdf-version-minor")?,
                minimum_umdf_version_minor: number("minimum-umdf-version-minor")?,
            }),
            _ => return Err(wrong(format!("`driver-type` is {}, not WDM, KMDF or UMDF", table["driver-type"])).into()),
        })
    }
}

/// The versions of KMDF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KmdfConfig {
    /// Major version.
    pub kmdf_version_major: u8,
    /// Minor version that the driver is built for.
    pub target_kmdf_version_minor: u8,
    /// Oldest minor version that the driver runs on, if it differs.
    pub minimum_kmdf_version_minor: Option<u8>,
}

impl KmdfConfig {
    /// The original's default.
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

/// The versions of UMDF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct UmdfConfig {
    /// Major version.
    pub umdf_version_major: u8,
    /// Minor version that the driver is built for.
    pub target_umdf_version_minor: u8,
    /// Oldest minor version that the driver runs on, if it differs.
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

#[cfg(test)]
mod tests {
    use super::{DriverConfig, KmdfConfig};

    #[test]
    fn models_are_understood() {
        let text = r#"{"driver-type":"KMDF","kmdf-version-major":1,"target-kmdf-version-minor":33}"#;
        assert_eq!(DriverConfig::parse(text).unwrap(), DriverConfig::Kmdf(KmdfConfig::default()));
        assert_eq!(DriverConfig::parse(r#"{"driver-type":"WDM"}"#).unwrap(), DriverConfig::Wdm);
    }

    #[test]
    fn a_wrong_model_is_an_error_that_names_the_key() {
        for (text, named) in [
            (r#"{"driver-type":"KMDF","kmdf-version-major":1}"#, "`target-kmdf-version-minor` is missing"),
            (r#"{"driver-type":"KMDF","kmdf-version-major":"1"}"#, "`kmdf-version-major` is \"1\""),
            (r#"{"driver-type":"VXD"}"#, "`driver-type` is \"VXD\""),
        ] {
            let error = DriverConfig::parse(text).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
