//! Values of the registry.

use nt_machine::{RegistryKey, RegistryValue};

use super::{TextError, bytes, hexadecimal, number, suggestion};

/// A value: its key, its name, and what it is.
pub type Entry = (RegistryKey, String, RegistryValue);

/// Reads `KEY\NAME=[TYPE:]VALUE`.
///
/// ```
/// use nt_host::text::registry;
///
/// let (key, name, value) = registry::read(r"parameters\Level=dword:0x3").expect("a value");
/// assert_eq!(registry::written(&key, &name, &value), r"parameters\Level=dword:3");
/// ```
///
/// # Errors
///
/// Fails if the text is something else.
pub fn read(text: &str) -> Result<Entry, TextError> {
    let expected = r"expected for example device\PortName=COM5 or parameters\Level=dword:3";
    let bad = || TextError::malformed(text, "is not a value of the registry", expected);
    let (path, value) = text.split_once('=').ok_or_else(bad)?;
    let (key, name) = path.rsplit_once('\\').filter(|(_, name)| !name.is_empty()).ok_or_else(bad)?;
    let key = match key {
        "parameters" => RegistryKey::Parameters,
        "device" => RegistryKey::Device,
        "driver" => RegistryKey::Driver,
        path if path.get(..10).is_some_and(|start| start.eq_ignore_ascii_case(r"\Registry\")) => {
            RegistryKey::Path(path.to_owned())
        }
        _ => {
            let near = suggestion(key, &["parameters", "device", "driver"]);
            let keys = r"expected parameters, device, driver or a path that begins with \Registry\";
            return Err(TextError::malformed(key, "is not a key of the registry", format!("{keys}{near}")));
        }
    };
    let value = match value.split_once(':') {
        Some(("dword", value)) => RegistryValue::Dword(u32::try_from(number(value)?).map_err(|_| bad())?),
        Some(("qword", value)) => RegistryValue::Qword(number(value)?),
        Some(("hex", value)) => RegistryValue::Binary(bytes(value)?),
        Some(("text", value)) => RegistryValue::Text(value.to_owned()),
        _ => RegistryValue::Text(value.to_owned()),
    };
    Ok((key, name.to_owned(), value))
}

/// Returns a value of the registry, as it is read.
#[must_use]
pub fn written(key: &RegistryKey, name: &str, value: &RegistryValue) -> String {
    let key = match key {
        RegistryKey::Parameters => "parameters",
        RegistryKey::Device => "device",
        RegistryKey::Driver => "driver",
        RegistryKey::Path(path) => path,
    };
    let value = match value {
        RegistryValue::Dword(value) => format!("dword:{value}"),
        RegistryValue::Qword(value) => format!("qword:{value}"),
        RegistryValue::Text(text) => format!("text:{text}"),
        RegistryValue::Binary(bytes) => format!("hex:{}", hexadecimal(bytes)),
    };
    format!(r"{key}\{name}={value}")
}
