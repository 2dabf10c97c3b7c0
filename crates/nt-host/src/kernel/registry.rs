//! The registry, as far as a driver reads it: its own key and `Parameters` below it. What it writes is kept.

use std::collections::BTreeMap;

use super::routine::{Call, PASSIVE, Routine, routine};
use super::{kernel, lock, objects};
use crate::config::{Config, RegistryValue};
use crate::memory::guest;

const NOT_FOUND: u64 = 0xC000_0034;
const BUFFER_TOO_SMALL: u64 = 0xC000_0023;
const BUFFER_OVERFLOW: u64 = 0x8000_0005;
const INVALID_HANDLE: u64 = 0xC000_0008;
const INVALID_PARAMETER: u64 = 0xC000_000D;
/// Keys of services.
const SERVICES: &str = r"\Registry\Machine\System\CurrentControlSet\Services\";

pub(super) const ROUTINES: &[Routine] = &[
    routine("ZwOpenKey", PASSIVE, |call| open(call, call.arg(2), false)).fails(0xC000_0034),
    routine("ZwOpenKeyEx", PASSIVE, |call| open(call, call.arg(2), false)).fails(0xC000_0034),
    routine("ZwCreateKey", PASSIVE, |call| {
        guest::write_if(call.arg(6), 2_u32);
        open(call, call.arg(2), true)
    })
    .fails(0xC000_009A),
    routine("ZwQueryValueKey", PASSIVE, query_value).fails(0xC000_0034),
    routine("ZwSetValueKey", PASSIVE, set_value).fails(0xC000_009A),
    routine("ZwDeleteValueKey", PASSIVE, |call| {
        let name = guest::text(call.arg(1)).to_lowercase();
        let mut registry = lock(&kernel().registry);
        let values = objects::by_handle(call.arg(0)).and_then(|key| registry.values(key));
        match values.and_then(|values| values.remove(&name)) {
            Some(_) => 0,
            None => NOT_FOUND,
        }
    }),
    routine("ZwFlushKey", PASSIVE, |_| 0),
    routine("ZwDeleteKey", PASSIVE, |_| 0),
    routine("RtlCheckRegistryKey", PASSIVE, |_| NOT_FOUND),
    routine("RtlQueryRegistryValues", PASSIVE, |_| NOT_FOUND).fails(0xC000_0034),
    routine("IoOpenDeviceRegistryKey", PASSIVE, |call| {
        guest::write(call.arg(3), open_parameters(call.from));
        0
    })
    .fails(0xC000_0034),
    routine("IoOpenDriverRegistryKey", PASSIVE, |call| {
        guest::write(call.arg(4), open_parameters(call.from));
        0
    })
    .since(crate::Os::Win10)
    .fails(0xC000_0034),
];

/// A value: its type and its data.
type Value = (u32, Vec<u8>);

#[derive(Default)]
struct Key {
    path: String,
    /// By lower-case name.
    values: BTreeMap<String, Value>,
}

/// The keys. A key's number is its position plus one.
pub(crate) struct Registry {
    keys: Vec<Key>,
}

/// Path of the driver's own key.
pub(crate) fn service(config: &Config) -> String {
    format!("{SERVICES}{}", config.name)
}

fn parameters(config: &Config) -> String {
    format!("{}\\Parameters", service(config))
}

impl Registry {
    pub(crate) fn new(config: &Config) -> Self {
        let values = config.parameters.iter().map(|(name, value)| (name.to_lowercase(), encode(value)));
        let parameters = Key { path: parameters(config).to_lowercase(), values: values.collect() };
        let own = Key {
            path: service(config).to_lowercase(),
            values: BTreeMap::from([("start".into(), (4, 3_u32.to_le_bytes().to_vec()))]),
        };
        Self { keys: vec![own, parameters] }
    }

    /// The number of a key; `create` makes it where it is not there.
    fn key(&mut self, path: &str, create: bool) -> Option<u64> {
        let path = path.trim_end_matches('\\').to_lowercase();
        let position = self.keys.iter().position(|key| key.path == path);
        let position = position.or_else(|| {
            create.then(|| {
                self.keys.push(Key { path, values: BTreeMap::new() });
                self.keys.len() - 1
            })
        })?;
        Some(position as u64 + 1)
    }

    fn get(&mut self, key: u64) -> Option<&mut Key> {
        self.keys.get_mut(usize::try_from(key.checked_sub(1)?).ok()?)
    }

    fn values(&mut self, key: u64) -> Option<&mut BTreeMap<String, Value>> {
        self.get(key).map(|key| &mut key.values)
    }

    /// A value under the driver's `Parameters` key.
    pub(crate) fn parameter(&mut self, name: &str) -> Option<Value> {
        self.keys.get(1)?.values.get(&name.to_lowercase()).cloned()
    }
}

/// Opens a handle to the driver's `Parameters` key.
pub(crate) fn open_parameters(from: u64) -> u64 {
    let key = lock(&kernel().registry).key(&parameters(&kernel().config), true).unwrap_or_default();
    objects::open("key", key, from)
}

fn encode(value: &RegistryValue) -> Value {
    match value {
        RegistryValue::Dword(value) => (4, value.to_le_bytes().to_vec()),
        RegistryValue::Qword(value) => (11, value.to_le_bytes().to_vec()),
        RegistryValue::Text(text) => (1, text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()),
        RegistryValue::Binary(bytes) => (3, bytes.clone()),
    }
}

/// Opens the key of `OBJECT_ATTRIBUTES`: its root at 8, its name at 16.
fn open(call: &Call, attributes: u64, create: bool) -> u64 {
    let (root, name): (u64, u64) = (guest::read(attributes + 8), guest::read(attributes + 16));
    let name = guest::text(name);
    let mut registry = lock(&kernel().registry);
    let path = if root == 0 {
        name
    } else {
        let Some(parent) = objects::by_handle(root).and_then(|key| registry.get(key)) else {
            return INVALID_HANDLE;
        };
        format!("{}\\{name}", parent.path)
    };
    let Some(key) = registry.key(&path, create) else { return NOT_FOUND };
    drop(registry);
    guest::write(call.arg(0), objects::open("key", key, call.from));
    0
}

/// Arguments: key, name, class, buffer, length, place for the length.
fn query_value(call: &Call) -> u64 {
    let name = guest::text(call.arg(1)).to_lowercase();
    let found = {
        let mut registry = lock(&kernel().registry);
        let Some(values) = objects::by_handle(call.arg(0)).and_then(|key| registry.values(key)) else {
            return INVALID_HANDLE;
        };
        values.get(&name).cloned()
    };
    let Some((kind, data)) = found else { return NOT_FOUND };
    let mut answer = vec![0; 4];
    answer.extend(kind.to_le_bytes());
    match call.u32(2) {
        // KeyValueFullInformation: the data lies behind the name.
        1 => {
            let units: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
            answer.extend((20 + units.len() as u32).to_le_bytes());
            answer.extend((data.len() as u32).to_le_bytes());
            answer.extend((units.len() as u32).to_le_bytes());
            answer.extend(units);
        }
        // KeyValuePartialInformation.
        2 => answer.extend((data.len() as u32).to_le_bytes()),
        _ => return INVALID_PARAMETER,
    }
    let fixed = answer.len();
    answer.extend(data);
    guest::write(call.arg(5), answer.len() as u32);
    let room = call.u32(4) as usize;
    let fitting = answer.get(..room.min(answer.len())).unwrap_or_default();
    if room < fixed {
        return BUFFER_TOO_SMALL;
    }
    guest::put(call.arg(3), fitting);
    if fitting.len() < answer.len() { BUFFER_OVERFLOW } else { 0 }
}

/// Arguments: key, name, index, type, data, length.
fn set_value(call: &Call) -> u64 {
    let name = guest::text(call.arg(1)).to_lowercase();
    let data = guest::bytes(call.arg(4), u64::from(call.u32(5)));
    let mut registry = lock(&kernel().registry);
    match objects::by_handle(call.arg(0)).and_then(|key| registry.values(key)) {
        Some(values) => {
            values.insert(name, (call.u32(3), data));
            0
        }
        None => INVALID_HANDLE,
    }
}
