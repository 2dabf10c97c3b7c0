//! Keys and values of the registry, and the files of the registry editor.

use std::fmt::Write as _;

/// A value in the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegistryValue {
    /// `REG_SZ`.
    Text(String),
    /// `REG_DWORD`.
    Dword(u32),
    /// `REG_QWORD`.
    Qword(u64),
    /// `REG_BINARY`.
    Binary(Vec<u8>),
}

/// A key in the registry, and values to set in it.
///
/// ```
/// use etw_session::{BootSession, Enable, Properties, RegistryKey, RegistryValue};
/// use etw_types::{Guid, Level};
///
/// let session = BootSession::new(Properties::new("MyDriver-boot"));
/// let session = session.provider(Guid::from_name("MyDriver"), Enable::new(Level::Verbose));
/// let keys: Vec<RegistryKey> = session.keys()?;
/// assert_eq!(keys[0].path, r"SYSTEM\CurrentControlSet\Control\WMI\Autologger\MyDriver-boot");
/// let start = keys.last().and_then(|key| key.values.first());
/// assert_eq!(start, Some(&("Start", RegistryValue::Dword(1))));
/// # Ok::<(), etw_session::Limit>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryKey {
    /// The path below `HKEY_LOCAL_MACHINE`.
    pub path: String,
    /// Names and values.
    pub values: Vec<(&'static str, RegistryValue)>,
}

/// The first line of a file of the registry editor.
const HEADER: &str = "Windows Registry Editor Version 5.00\r\n";

/// Returns the text of a file that adds keys and values. No name and no text may contain the end of a line.
pub(crate) fn reg_file(keys: &[RegistryKey]) -> String {
    keys.iter().fold(String::from(HEADER), |mut text, key| {
        // Writing to a string cannot fail.
        let _ = write!(text, "\r\n[HKEY_LOCAL_MACHINE\\{}]\r\n", key.path);
        for (name, value) in &key.values {
            let _ = write!(text, "\"{name}\"={}\r\n", reg_value(value));
        }
        text
    })
}

/// Returns the text of a file that removes a key with everything below it.
pub(crate) fn removal_reg_file(path: &str) -> String {
    format!("{HEADER}\r\n[-HKEY_LOCAL_MACHINE\\{path}]\r\n")
}

/// A value as the registry editor writes it.
fn reg_value(value: &RegistryValue) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(",");
    match value {
        RegistryValue::Text(text) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
        RegistryValue::Dword(number) => format!("dword:{number:08x}"),
        RegistryValue::Qword(number) => format!("hex(b):{}", hex(&number.to_le_bytes())),
        RegistryValue::Binary(bytes) => format!("hex:{}", hex(bytes)),
    }
}
