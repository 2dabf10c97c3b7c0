//! The `wdk` tables of Cargo manifests.

use std::collections::HashSet;

use cargo_metadata::Metadata;
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use crate::DriverConfig;

/// `[package.metadata.wdk]` or `[workspace.metadata.wdk]`.
#[derive(Debug, Clone, Deserialize, PartialEq, Eq, Hash)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Wdk {
    /// The kind of driver.
    pub driver_model: DriverConfig,
}

/// Why there is no single driver model.
#[derive(Debug, Error)]
pub enum TryFromCargoMetadataError {
    /// No manifest of the workspace has one.
    #[error("no manifest of this workspace has a [package.metadata.wdk.driver-model]")]
    NoWdkConfigurationsDetected,

    /// Manifests disagree, and there is one set of bindings for a whole build.
    #[error("one build can have one driver model only, but its manifests state {wdk_metadata_configurations:?}")]
    MultipleWdkConfigurationsDetected {
        /// All of them.
        wdk_metadata_configurations: HashSet<Wdk>,
    },

    /// A table is not understood.
    #[error("cannot read the driver model of {metadata_source}: {error_source}")]
    WdkMetadataDeserialization {
        /// Whose table it is.
        metadata_source: String,
        /// What is wrong with it.
        #[source]
        error_source: serde_json::Error,
    },
}

impl TryFrom<&Metadata> for Wdk {
    type Error = TryFromCargoMetadataError;

    fn try_from(metadata: &Metadata) -> Result<Self, Self::Error> {
        let packages = metadata.packages.iter().map(|package| (format!("package {}", package.name), &package.metadata));
        let all = packages.chain([(String::from("the workspace"), &metadata.workspace_metadata)]);
        let mut found = HashSet::new();
        for (owner, value) in all {
            found.extend(parse(owner, &value["wdk"])?);
        }
        let mut each = found.iter();
        match (each.next(), each.next()) {
            (None, _) => Err(TryFromCargoMetadataError::NoWdkConfigurationsDetected),
            (Some(only), None) => Ok(only.clone()),
            _ => {
                Err(TryFromCargoMetadataError::MultipleWdkConfigurationsDetected { wdk_metadata_configurations: found })
            }
        }
    }
}

/// An empty table only marks a package as a driver.
fn parse(owner: String, table: &Value) -> Result<Option<Wdk>, TryFromCargoMetadataError> {
    if table.is_null() || table.as_object().is_some_and(serde_json::Map::is_empty) {
        return Ok(None);
    }
    Wdk::deserialize(table).map(Some).map_err(|error_source| TryFromCargoMetadataError::WdkMetadataDeserialization {
        metadata_source: owner,
        error_source,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Wdk, parse};
    use crate::{DriverConfig, KmdfConfig};

    #[test]
    fn a_kmdf_table_is_understood() {
        let table = json!({ "driver-model": {
            "driver-type": "KMDF", "kmdf-version-major": 1, "target-kmdf-version-minor": 33 } });
        let expected = Wdk { driver_model: DriverConfig::Kmdf(KmdfConfig::default()) };
        assert_eq!(parse("it".into(), &table).unwrap(), Some(expected));
    }

    #[test]
    fn a_wdm_table_is_understood() {
        let table = json!({ "driver-model": { "driver-type": "WDM" } });
        assert_eq!(parse("it".into(), &table).unwrap(), Some(Wdk { driver_model: DriverConfig::Wdm }));
    }

    #[test]
    fn an_empty_table_is_no_configuration() {
        assert_eq!(parse("it".into(), &json!({})).unwrap(), None);
        assert_eq!(parse("it".into(), &json!(null)).unwrap(), None);
    }

    #[test]
    fn a_misspelt_key_is_an_error_that_names_its_owner() {
        let table = json!({ "driver-model": { "driver-type": "KMDF", "kmdf-version": 1 } });
        assert!(parse("package x".into(), &table).unwrap_err().to_string().contains("package x"));
    }
}
