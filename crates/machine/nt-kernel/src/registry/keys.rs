//! The keys and values of the registry: the driver's service key with `Parameters`, the keys of its devices, some keys
//! that every Windows has, and the keys that the driver creates.

use etw_types::NtStatus;
use nt_processor::sorted::SortedMap;
use nt_verifier::verify::gap;
use windows_constants::plug_play::PLUGPLAY_REGKEY_DRIVER;
use windows_constants::registry::{
    REG_DWORD, REG_EXPAND_SZ, REG_NOTIFY_CHANGE_LAST_SET, REG_NOTIFY_CHANGE_NAME, REG_SZ,
};

use super::watch::Watcher;
use crate::case::{folded, is_same_name};
use crate::config::{Config, RegistryKey, RegistryValue};
use crate::ex::handle::KernelHandle;
use crate::ex::object;
use crate::ex::paths::parent;
use crate::{Kernel, kernel, lock};

/// The parent of the service keys.
pub(super) const SERVICES: &str = r"\Registry\Machine\System\CurrentControlSet\Services\";
/// The hardware key and the driver key of the only device.
const HARDWARE: &str = r"\Registry\Machine\System\CurrentControlSet\Enum\ROOT\NTHOST\0000\Device Parameters";
const SOFTWARE: &str = r"\Registry\Machine\System\CurrentControlSet\Control\Class\NTHOST\0000";
/// Keys that every Windows has, and that drivers read or create keys below.
const STANDARD: [&str; 11] = [
    r"\Registry\Machine\Hardware\Description\System",
    r"\Registry\Machine\Hardware\DeviceMap",
    r"\Registry\Machine\Software\Microsoft\Windows NT\CurrentVersion",
    r"\Registry\Machine\Software\Microsoft\Windows\CurrentVersion",
    r"\Registry\Machine\Software\Policies\Microsoft\Windows",
    r"\Registry\Machine\System\CurrentControlSet\Control\SafeBoot\Minimal",
    r"\Registry\Machine\System\CurrentControlSet\Control\SafeBoot\Network",
    r"\Registry\Machine\System\CurrentControlSet\Control\Session Manager",
    r"\Registry\Machine\System\Setup",
    r"\Registry\User\.Default",
    USER,
];
/// The key of the current user, the local system account.
pub(crate) const USER: &str = r"\Registry\User\S-1-5-18";

/// A value: its type and its data.
pub type Value = (u32, Vec<u8>);

#[derive(Default)]
pub(super) struct Key {
    pub(super) path: String,
    /// The values by lower-case name. Each has its name as the driver spelled it, and the value.
    pub(super) values: SortedMap<String, (String, Value)>,
    deleted: bool,
}

/// The keys. A key's number is its position plus one.
#[derive(Default)]
pub struct Registry {
    keys: Vec<Key>,
    pub(super) watchers: Vec<Watcher>,
    /// The watchers of what has changed since [`change`] began.
    due: Vec<Watcher>,
}

/// Returns the path of a driver's service key.
pub fn service(name: &str) -> String {
    format!("{SERVICES}{name}")
}

fn parameters(name: &str) -> String {
    format!("{}\\Parameters", service(name))
}

impl Registry {
    /// Creates the keys that Windows and the configuration have.
    pub fn new(config: &Config) -> Self {
        let mut registry = Self::default();
        registry.add_service(&config.name);
        let given = config.registry.iter().map(|(key, name, value)| {
            let path = match key {
                RegistryKey::Parameters => parameters(&config.name),
                RegistryKey::Device => HARDWARE.to_owned(),
                RegistryKey::Driver => SOFTWARE.to_owned(),
                RegistryKey::Path(path) => path.clone(),
            };
            (path, name.as_str(), value)
        });
        for (path, name, value) in given {
            let key = registry.key_with_parents(&path);
            registry.set(key, name, encode(value));
        }
        for path in [HARDWARE, SOFTWARE].into_iter().chain(STANDARD) {
            registry.key_with_parents(path);
        }
        registry
    }

    /// Creates the service key of a driver, unless it exists.
    pub fn add_service(&mut self, name: &str) {
        if self.find(&service(name)).is_some() {
            return;
        }
        self.key_with_parents(&parameters(name));
        let key = self.key_with_parents(&service(name));
        let numbers = [("Start", 3), ("Type", 1), ("ErrorControl", 1)];
        for (value, number) in numbers {
            self.set(key, value, encode(&RegistryValue::Dword(number)));
        }
        self.set(key, "DisplayName", encode(&RegistryValue::Text(name.to_owned())));
        let path = format!(r"\SystemRoot\System32\drivers\{name}.sys");
        let (_, data) = encode(&RegistryValue::Text(path));
        self.set(key, "ImagePath", (REG_EXPAND_SZ, data));
    }

    /// Returns the number of a key. If it does not exist and `create` is set, creates it. As in Windows, a key can only be
    /// created below an existing one.
    pub fn key(&mut self, path: &str, create: bool) -> Option<u64> {
        let path = path.trim_end_matches('\\');
        self.find(path).or_else(|| {
            let parent = path.rsplit_once('\\').filter(|_| create).map(|(parent, _)| parent);
            parent.and_then(|parent| self.find(parent)).map(|_| self.add(path))
        })
    }

    /// Returns the number of a key. Creates it and its parents if they do not exist.
    fn key_with_parents(&mut self, path: &str) -> u64 {
        let path = path.trim_end_matches('\\');
        let ends = path.match_indices('\\').map(|(end, _)| end).filter(|end| *end > r"\Registry".len());
        for end in ends {
            let parent = path.get(..end).unwrap_or_default();
            if self.find(parent).is_none() {
                self.add(parent);
            }
        }
        self.find(path).unwrap_or_else(|| self.add(path))
    }

    fn find(&self, path: &str) -> Option<u64> {
        let position = self.keys.iter().position(|key| !key.deleted && is_same_name(&key.path, path))?;
        Some(position as u64 + 1)
    }

    fn add(&mut self, path: &str) -> u64 {
        self.keys.push(Key { path: path.to_owned(), ..Key::default() });
        self.changed(parent(path), REG_NOTIFY_CHANGE_NAME);
        self.keys.len() as u64
    }

    pub(super) fn get(&mut self, key: u64) -> Option<&mut Key> {
        self.keys.get_mut(usize::try_from(key.checked_sub(1)?).ok()?)
    }

    /// Returns the path of `name` below a key; `name` itself if there is no root key.
    pub fn path(&mut self, root: Option<u64>, name: &str) -> Option<String> {
        match root {
            None => Some(name.to_owned()),
            Some(root) => self.get(root).map(|parent| format!("{}\\{name}", parent.path)),
        }
    }

    /// Returns a value that the driver looks for.
    pub fn value(&mut self, key: u64, name: &str) -> Option<Value> {
        let key = self.get(key)?;
        let found = key.values.get(&folded(name)).map(|(_, value)| value.clone());
        if found.is_none() {
            note_missing(&key.path, name);
        }
        found
    }

    /// Returns when the driver of a service starts: the value `Start` of its key.
    pub fn start(&self, name: &str) -> Option<u32> {
        self.setting(&service(name), "Start")
    }

    /// Returns a setting of the framework for the driver of a service.
    pub fn framework_setting(&self, service: &str, name: &str) -> Option<u32> {
        self.setting(&format!(r"{}\Wdf", parameters(service)), name)
    }

    /// Returns a number that the system, and not the driver, looks for.
    fn setting(&self, path: &str, name: &str) -> Option<u32> {
        let key = self.keys.get((self.find(path)? as usize).checked_sub(1)?)?;
        let (_, (_, data)) = key.values.get(&folded(name))?;
        data.first_chunk().copied().map(u32::from_le_bytes)
    }

    /// Returns whether a key was deleted to which handles are still open.
    pub(crate) fn is_deleted(&mut self, key: u64) -> bool {
        self.get(key).is_some_and(|key| key.deleted)
    }

    /// Sets a value. Returns whether the key exists.
    pub fn set(&mut self, key: u64, name: &str, value: Value) -> bool {
        let Some(key) = self.get(key) else { return false };
        let is_same = key.values.get(&folded(name)).is_some_and(|(_, old)| *old == value);
        key.values.insert(folded(name), (name.to_owned(), value));
        if !is_same {
            let path = key.path.clone();
            self.changed(&path, REG_NOTIFY_CHANGE_LAST_SET);
        }
        true
    }

    /// Removes a value. Returns whether it existed.
    pub fn remove(&mut self, key: u64, name: &str) -> bool {
        let Some(key) = self.get(key) else { return false };
        let existed = key.values.remove(&folded(name)).is_some();
        if existed {
            let path = key.path.clone();
            self.changed(&path, REG_NOTIFY_CHANGE_LAST_SET);
        }
        existed
    }

    /// Returns the names of the direct subkeys of a key.
    pub(super) fn below(&mut self, key: u64) -> Vec<String> {
        let Some(parent) = self.get(key).map(|key| format!("{}\\", folded(&key.path))) else { return Vec::new() };
        let live = self.keys.iter().filter(|key| !key.deleted && folded(&key.path).starts_with(&parent));
        live.filter_map(|key| key.path.get(parent.len()..).filter(|rest| !rest.contains('\\')))
            .map(str::to_owned)
            .collect()
    }

    /// Renames a key and updates the paths of its subkeys. Returns `false` if the key does not exist or the new name is
    /// already used.
    pub(super) fn rename(&mut self, key: u64, name: &str) -> bool {
        let Some(old) = self.get(key).map(|key| key.path.clone()) else { return false };
        let new = format!("{}\\{name}", parent(&old));
        if self.key(&new, false).is_some() {
            return false;
        }
        for key in &mut self.keys {
            let below = key.path.get(..old.len()).filter(|start| start.eq_ignore_ascii_case(&old));
            let rest = below.and(key.path.get(old.len()..)).filter(|rest| rest.is_empty() || rest.starts_with('\\'));
            if let Some(rest) = rest {
                key.path = format!("{new}{rest}");
            }
        }
        self.changed(parent(&new), REG_NOTIFY_CHANGE_NAME);
        true
    }

    /// Removes a key. Returns `false` if it has subkeys.
    pub fn delete(&mut self, key: u64) -> bool {
        let empty = self.below(key).is_empty();
        if let Some(key) = self.get(key).filter(|_| empty) {
            key.deleted = true;
            let path = key.path.clone();
            self.changed(parent(&path), REG_NOTIFY_CHANGE_NAME);
        }
        empty
    }

    /// Notes that a key has changed.
    fn changed(&mut self, path: &str, what: u32) {
        if self.watchers.is_empty() {
            return;
        }
        let path = folded(path);
        let watched = |key: u64| self.keys.get((key as usize).wrapping_sub(1)).map(|key| folded(&key.path));
        let wants = |watcher: &mut Watcher| watched(watcher.key).is_some_and(|key| watcher.wants(&key, &path, what));
        self.due.extend(self.watchers.extract_if(.., wants));
    }
}

/// What `ZwNotifyChangeKey` waits for has happened.
const HAS_CHANGED: NtStatus = NtStatus::NotifyEnumDir;

/// Changes the registry, then tells the drivers that wait for what has changed.
pub fn change<R>(body: impl FnOnce(&mut Registry) -> R) -> R {
    let (result, due) = {
        let mut registry = lock(&kernel().registry);
        let result = body(&mut registry);
        (result, std::mem::take(&mut registry.due))
    };
    for watcher in due {
        watcher.complete(HAS_CHANGED);
    }
    result
}

/// Notes that the driver looks for a value that does not exist, with the option that sets it.
fn note_missing(path: &str, name: &str) {
    let Kernel { config, missing_values, .. } = kernel();
    let known = [(HARDWARE, "device"), (SOFTWARE, "driver"), (&parameters(&config.name), "parameters")];
    let key = known.into_iter().find(|(known, _)| path.eq_ignore_ascii_case(known)).map_or(path, |(_, key)| key);
    lock(missing_values).insert(format!(r"{key}\{name}"));
    gap::note(format!(r"the driver looked for the registry value {name}: set it with --registry {key}\{name}=VALUE"));
}

/// Notes that the driver looks for a key that does not exist.
pub(super) fn note_missing_key(path: &str) {
    gap::note(format!(r"the driver looked for the registry key {path}: create it with --registry {path}\NAME=VALUE"));
}

fn encode(value: &RegistryValue) -> Value {
    match value {
        RegistryValue::Dword(value) => (REG_DWORD, value.to_le_bytes().to_vec()),
        RegistryValue::Qword(value) => (11, value.to_le_bytes().to_vec()),
        RegistryValue::Text(text) => (REG_SZ, text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()),
        RegistryValue::Binary(bytes) => (3, bytes.clone()),
    }
}

/// Opens a handle to a key: below a root key, or by its full path.
pub fn open_key(root: Option<u64>, name: &str, create: bool, from: u64) -> Option<KernelHandle> {
    let key = change(|registry| {
        let path = registry.path(root, name)?;
        registry.key(&path, create)
    })?;
    object::open("key", key, from).ok()
}

/// Opens a handle to the driver's `Parameters` key.
pub fn open_parameters(from: u64) -> KernelHandle {
    open_key(None, &parameters(&kernel().config.name), true, from).unwrap_or_default()
}

/// Opens a handle to a key of the device: its hardware key or its driver key.
pub fn open_device(kind: u32, from: u64) -> KernelHandle {
    open_key(None, if kind & PLUGPLAY_REGKEY_DRIVER != 0 { SOFTWARE } else { HARDWARE }, true, from).unwrap_or_default()
}
