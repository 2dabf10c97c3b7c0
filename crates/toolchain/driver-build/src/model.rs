//! The driver model of a package, which its manifest has in `[package.metadata.wdk.driver-model]`.

use std::fmt;

use serde_json::Value;
use wdk_kit::KMDF_MINORS;

/// The kind of a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Model {
    /// A driver without Microsoft's crates, which needs no model.
    Unspecified,
    /// Windows Driver Model.
    Wdm,
    /// Kernel-Mode Driver Framework 1.
    Kmdf {
        /// The minor version that the driver is built for.
        minor: u8,
        /// The oldest minor version that the driver runs on, if the manifest has it.
        minimum: Option<u8>,
    },
}

/// Why the kit cannot build a driver with this model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelError {
    /// The table has no `driver-type`.
    NoType,
    /// The `driver-type` is none that the WDK has.
    UnknownType(String),
    /// A UMDF driver.
    UserMode,
    /// The kit does not have this version of KMDF.
    Framework {
        /// The value of `kmdf-version-major`.
        major: Option<u64>,
        /// The value of `target-kmdf-version-minor`.
        minor: Option<u64>,
    },
    /// The framework rejects this minimum.
    Minimum {
        /// The value of `minimum-kmdf-version-minor`.
        minimum: u64,
        /// The version that the driver is built for.
        minor: u8,
    },
}

/// `WDF_FIRST_VERSION_SUPPORTING_CLIENT_VERSION_HIGHER_THAN_FRAMEWORK`; the WDK's headers reject a smaller minimum.
const OLDEST_MINIMUM: u8 = 25;

impl Model {
    /// Reads the table of a manifest.
    pub(crate) fn from_table(table: &Value) -> Result<Self, ModelError> {
        let number = |key: &str| table.get(key).and_then(Value::as_u64);
        match table.get("driver-type").and_then(Value::as_str) {
            None => Err(ModelError::NoType),
            Some("WDM") => Ok(Self::Wdm),
            Some("KMDF") => {
                let major = number("kmdf-version-major");
                let minor = number("target-kmdf-version-minor");
                let supported = KMDF_MINORS.into_iter().find(|one| minor == Some(u64::from(*one)));
                let (Some(1), Some(target)) = (major, supported) else {
                    return Err(ModelError::Framework { major, minor });
                };
                let Some(minimum) = number("minimum-kmdf-version-minor") else {
                    return Ok(Self::Kmdf { minor: target, minimum: None });
                };
                match u8::try_from(minimum) {
                    Ok(minimum @ OLDEST_MINIMUM..) if minimum <= target => {
                        Ok(Self::Kmdf { minor: target, minimum: Some(minimum) })
                    }
                    _ => Err(ModelError::Minimum { minimum, minor: target }),
                }
            }
            Some("UMDF") => Err(ModelError::UserMode),
            Some(other) => Err(ModelError::UnknownType(other.to_owned())),
        }
    }

    /// The table as JSON, which the stand-in for `wdk-build` reads; empty if there is no model.
    pub(crate) fn to_json(self) -> String {
        match self {
            Self::Unspecified => String::new(),
            Self::Wdm => String::from(r#"{"driver-type":"WDM"}"#),
            Self::Kmdf { minor, minimum } => {
                let minimum =
                    minimum.map_or_else(String::new, |minor| format!("\"minimum-kmdf-version-minor\":{minor},"));
                format!(
                    "{{\"driver-type\":\"KMDF\",\"kmdf-version-major\":1,{minimum}\"target-kmdf-version-minor\":{minor}}}"
                )
            }
        }
    }

    /// A short name, such as `kmdf-1-33`.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Unspecified => String::from("plain"),
            Self::Wdm => String::from("wdm"),
            Self::Kmdf { minor, minimum: None } => format!("kmdf-1-{minor}"),
            Self::Kmdf { minor, minimum: Some(minimum) } => format!("kmdf-1-minimum-{minimum}-{minor}"),
        }
    }

    /// The version of KMDF that the driver is built for, such as `1.33`.
    pub(crate) fn framework_version(self) -> Option<String> {
        match self {
            Self::Kmdf { minor, .. } => Some(format!("1.{minor}")),
            Self::Unspecified | Self::Wdm => None,
        }
    }
}

/// Completes a sentence that starts with `the package NAME`.
impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoType => f.write_str(
                "has a [package.metadata.wdk.driver-model] without driver-type: set driver-type = \"KMDF\" or \"WDM\"",
            ),
            Self::UnknownType(other) => write!(f, "has the driver-type \"{other}\"; expected KMDF or WDM"),
            Self::UserMode => f.write_str(
                "is a UMDF driver, which runs in user mode; the kit builds only KMDF and WDM drivers: build it on Windows with \
                 the WDK",
            ),
            Self::Framework { major, minor } => {
                let shown = |number: &Option<u64>| number.map_or_else(|| String::from("?"), |one| one.to_string());
                let all = KMDF_MINORS.map(|minor| format!("1.{minor}"));
                write!(
                    f,
                    "is built for KMDF {}.{}, which the kit does not have; set kmdf-version-major and target-kmdf-version-minor to \
                     one of {}",
                    shown(major),
                    shown(minor),
                    all.join(", ")
                )
            }
            Self::Minimum { minimum, minor } => write!(
                f,
                "has minimum-kmdf-version-minor = {minimum}; the framework allows {OLDEST_MINIMUM} to {minor}, the target version"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Model, ModelError};
    use serde_json::json;

    fn kmdf(target: u8, minimum: Option<u8>) -> Result<Model, ModelError> {
        let mut table = json!({ "driver-type": "KMDF", "kmdf-version-major": 1, "target-kmdf-version-minor": target });
        if let Some(minimum) = minimum {
            table["minimum-kmdf-version-minor"] = minimum.into();
        }
        Model::from_table(&table)
    }

    #[test]
    fn every_version_from_1_15_on_can_be_built_for() {
        for minor in [15, 17, 19, 21, 23, 25, 27, 29, 31, 33] {
            assert_eq!(kmdf(minor, None), Ok(Model::Kmdf { minor, minimum: None }));
        }
        let error = kmdf(13, None).unwrap_err().to_string();
        assert!(error.contains("KMDF 1.13"), "{error}");
        assert!(error.contains("1.9, 1.15, 1.17"), "{error}");
    }

    #[test]
    fn a_minimum_that_the_wdk_rejects_is_rejected() {
        for (minimum, allowed) in [(24, false), (25, true), (33, true), (34, false)] {
            assert_eq!(kmdf(33, Some(minimum)).is_ok(), allowed, "{minimum}");
        }
        let error = kmdf(33, Some(9)).unwrap_err();
        assert_eq!(error, ModelError::Minimum { minimum: 9, minor: 33 });
        assert!(error.to_string().contains("25 to 33"), "{error}");
    }

    #[test]
    fn tables_without_a_model_that_the_kit_builds_are_refused() {
        assert_eq!(Model::from_table(&json!({ "driver-type": "UMDF" })), Err(ModelError::UserMode));
        assert_eq!(Model::from_table(&json!({ "driver-type": "kmdf" })), Err(ModelError::UnknownType("kmdf".into())));
        assert_eq!(Model::from_table(&json!({})), Err(ModelError::NoType));
    }

    #[test]
    fn the_stand_in_gets_the_table_of_the_manifest() {
        assert_eq!(Model::Unspecified.to_json(), "");
        for (model, name) in [
            (Model::Wdm, "wdm"),
            (Model::Kmdf { minor: 33, minimum: None }, "kmdf-1-33"),
            (Model::Kmdf { minor: 33, minimum: Some(25) }, "kmdf-1-minimum-25-33"),
        ] {
            let table = serde_json::from_str(&model.to_json()).unwrap();
            assert_eq!(Model::from_table(&table), Ok(model));
            assert_eq!(model.name(), name);
        }
    }
}
