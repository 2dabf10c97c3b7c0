//! The registry, below `HKEY_LOCAL_MACHINE`.

use std::ptr;

use etw_types::Win32Error;
use windows_sys::Win32::System::Registry::{
    HKEY, HKEY_LOCAL_MACHINE, KEY_SET_VALUE, REG_BINARY, REG_CREATED_NEW_KEY, REG_DWORD, REG_OPTION_NON_VOLATILE,
    REG_QWORD, REG_SZ, RegCloseKey, RegCreateKeyExW, RegDeleteTreeW, RegSetValueExW,
};

use super::{check, length, wide};
use crate::registry::{RegistryKey, RegistryValue};

/// A key that is closed when it is dropped.
struct Key(HKEY);

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: the key was opened by this module and is closed once.
        unsafe { RegCloseKey(self.0) };
    }
}

impl Key {
    /// Opens or creates a key. Returns whether it is new.
    fn create(path: &str) -> Result<(Self, bool), Win32Error> {
        let path = wide(path);
        let mut key = ptr::null_mut();
        let mut disposition = 0;
        // SAFETY: the path ends with NUL; there is no class and no security descriptor; `key` and `disposition` are writable.
        check(unsafe {
            RegCreateKeyExW(
                HKEY_LOCAL_MACHINE,
                path.as_ptr(),
                0,
                ptr::null(),
                REG_OPTION_NON_VOLATILE,
                KEY_SET_VALUE,
                ptr::null(),
                &raw mut key,
                &raw mut disposition,
            )
        })?;
        Ok((Self(key), disposition == REG_CREATED_NEW_KEY))
    }

    fn set(&self, name: &str, value: &RegistryValue) -> Result<(), Win32Error> {
        let (kind, bytes) = match value {
            RegistryValue::Text(text) => (REG_SZ, wide(text).into_iter().flat_map(u16::to_le_bytes).collect()),
            RegistryValue::Dword(number) => (REG_DWORD, number.to_le_bytes().to_vec()),
            RegistryValue::Qword(number) => (REG_QWORD, number.to_le_bytes().to_vec()),
            RegistryValue::Binary(bytes) => (REG_BINARY, bytes.clone()),
        };
        let name = wide(name);
        let size = length(bytes.len())?;
        // SAFETY: the key is open for setting values; the name ends with NUL; the data has `size` bytes, and text ends with NUL.
        check(unsafe { RegSetValueExW(self.0, name.as_ptr(), 0, kind, bytes.as_ptr(), size) })
    }
}

/// Adds keys with their values, in their order. Fails if the first key exists. If it fails later, nothing is left.
pub(crate) fn add_keys(keys: &[RegistryKey]) -> Result<(), Win32Error> {
    let Some(first) = keys.first() else { return Ok(()) };
    let (_, true) = Key::create(&first.path)? else { return Err(Win32Error::AlreadyExists) };
    let add = |key: &RegistryKey| {
        let (opened, _) = Key::create(&key.path)?;
        key.values.iter().try_for_each(|(name, value)| opened.set(name, value))
    };
    let added = keys.iter().try_for_each(add);
    if added.is_err() {
        // The first error is the one to report.
        let _ = remove_key(&first.path);
    }
    added
}

/// Removes a key with everything below it.
pub(crate) fn remove_key(path: &str) -> Result<(), Win32Error> {
    let path = wide(path);
    // SAFETY: the path ends with NUL. It is not empty, so the whole hive is not meant.
    check(unsafe { RegDeleteTreeW(HKEY_LOCAL_MACHINE, path.as_ptr()) })
}
