//! The device to open.

use std::fmt;
use std::str::FromStr;

use etw_types::Guid;
use serde::{Deserialize, Serialize};

/// The device to open: its path, or the class of an interface that its driver registers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Device {
    /// A path such as `\\.\MyDriver`.
    Path(String),
    /// The class of a device interface. The first device that has it is opened.
    Interface(Guid),
}

impl FromStr for Device {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with(r"\\") {
            return Ok(Self::Path(text.to_owned()));
        }
        let digits = text.trim_start_matches('{').trim_end_matches('}');
        digits.parse().map(Self::Interface).map_err(|_| {
            format!(
                r"'{text}' is not a device: expected a path such as \\.\MyDriver, or the GUID of an interface class in braces"
            )
        })
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => f.write_str(path),
            Self::Interface(class) => write!(f, "{{{class}}}"),
        }
    }
}

impl TryFrom<String> for Device {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Device> for String {
    fn from(device: Device) -> Self {
        device.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::Device;
    use etw_types::Guid;

    #[test]
    fn a_device_is_a_path_or_the_class_of_an_interface() {
        let class = "9f7b4a52-30c4-4d1e-8f0a-6a1d5d0c7e11";
        let guid: Guid = class.parse().unwrap();
        for text in [class.to_owned(), format!("{{{class}}}"), class.to_uppercase()] {
            assert_eq!(text.parse(), Ok(Device::Interface(guid)), "{text}");
        }
        assert_eq!(r"\\.\A B".parse(), Ok(Device::Path(r"\\.\A B".into())));
        assert_eq!(Device::Interface(guid).to_string(), format!("{{{class}}}"));
        for text in ["", "MyDriver", "9f7b4a52", r"\Device\X"] {
            assert!(text.parse::<Device>().is_err_and(|reason| reason.contains("expected a path")), "{text}");
        }
    }
}
