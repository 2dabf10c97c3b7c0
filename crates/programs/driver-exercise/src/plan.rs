//! What to do with a driver: `[package.metadata.exercise]` of its Cargo.toml.

use std::fs;
use std::path::Path;

use driver_client::{Device, Request, Requests};
use serde::{Deserialize, Serialize};

/// What to record, and which requests to send.
///
/// ```toml
/// [package.metadata.exercise]
/// provider = "MyCompany.MyDriver"
/// device = "{9f7b4a52-30c4-4d1e-8f0a-6a1d5d0c7e11}"
/// requests = ["22E000:6869:64", "226004::24"]
/// ignore-events = ["Tick"]
/// ignore-fields = ["RegistryPath"]
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Plan {
    /// The driver's ETW provider.
    pub provider: String,
    /// The device that gets the requests.
    pub device: Option<Device>,
    /// The requests in their order.
    pub requests: Vec<Request>,
    /// Events that are not compared, for example those of a timer.
    pub ignore_events: Vec<String>,
    /// Fields that are not compared.
    pub ignore_fields: Vec<String>,
}

impl Plan {
    /// Reads the plan of a driver's Cargo.toml. Returns the name of the driver's image, without its extension, and the plan.
    ///
    /// # Errors
    ///
    /// If the manifest cannot be read, or the plan has a mistake.
    pub fn from_manifest(manifest: &Path) -> Result<(String, Self), String> {
        let text = fs::read_to_string(manifest).map_err(|error| format!("{}: {error}", manifest.display()))?;
        Self::parse(&text).map_err(|reason| format!("{}: {reason}", manifest.display()))
    }

    fn parse(text: &str) -> Result<(String, Self), String> {
        let Manifest { package, lib } = toml::from_str(text).map_err(|error| error.to_string())?;
        let plan = package.metadata.exercise.unwrap_or_default();
        plan.check().map_err(|reason| format!("[package.metadata.exercise]: {reason}"))?;
        Ok((lib.name.unwrap_or(package.name).replace('-', "_"), plan))
    }

    fn check(&self) -> Result<(), &'static str> {
        if self.device.is_none() && !self.requests.is_empty() {
            return Err("`requests` need a `device`: a path, or the GUID of an interface class");
        }
        Ok(())
    }

    /// The requests for `driver-client`, if there are any.
    #[must_use]
    pub fn requests(&self) -> Option<Requests> {
        let device = self.device.clone().filter(|_| !self.requests.is_empty())?;
        Some(Requests { device, requests: self.requests.clone() })
    }
}

/// The part of a Cargo.toml that is of use here. It has many more members.
#[derive(Deserialize)]
struct Manifest {
    package: Package,
    #[serde(default)]
    lib: Library,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    #[serde(default)]
    metadata: Sections,
}

#[derive(Default, Deserialize)]
struct Library {
    name: Option<String>,
}

#[derive(Default, Deserialize)]
struct Sections {
    exercise: Option<Plan>,
}

#[cfg(test)]
mod tests {
    use super::Plan;
    use driver_client::Device;

    fn parse(section: &str) -> Result<(String, Plan), String> {
        Plan::parse(&format!("[package]\nname = \"my-driver\"\n[package.metadata.wdk]\n{section}"))
    }

    #[test]
    fn a_plan_is_a_section_of_the_manifest() {
        assert_eq!(parse(""), Ok(("my_driver".into(), Plan::default())));
        let (name, plan) = parse(
            r#"
            [package.metadata.exercise]
            provider = "Example.MyDriver"
            device = '\\.\My'
            requests = ["22E000:5A*3:64"]
            ignore-events = ["Tick"]
            [lib]
            name = "other"
            "#,
        )
        .unwrap();
        assert_eq!(name.as_str(), "other");
        assert_eq!(plan.provider.as_str(), "Example.MyDriver");
        assert_eq!(plan.device, Some(Device::Path(r"\\.\My".into())));
        assert_eq!(plan.requests().unwrap().requests[0].input, [0x5A; 3]);
    }

    #[test]
    fn a_mistake_in_a_plan_is_an_error() {
        for (section, message) in [
            ("request = []", "unknown field `request`"),
            ("requests = [\"xyz\"]", "'xyz' is not a hexadecimal control code"),
            ("device = \"MyDriver\"", "'MyDriver' is not a device"),
            ("requests = [\"22E000\"]", "`requests` need a `device`"),
        ] {
            let error = parse(&format!("[package.metadata.exercise]\n{section}")).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
