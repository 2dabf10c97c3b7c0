//! What the fuzzer knows about a driver before it sends anything: constants of its code, names, and its grammar.

use std::sync::Arc;

use nt_machine::RegistryKey;

use super::bytes;
use super::grammar::Grammar;
use crate::steps::Step;

/// The smallest constant that may be a control code: the device type is in the upper half.
const FIRST_CODE: u64 = 0x1_0000;

/// The maximum number of constants that are tried in each field.
const MAX_TRIED: usize = 512;

/// The words that inputs are made of.
#[derive(Clone, Debug, Default)]
pub(super) struct Dictionary {
    /// The constants that the driver compares values with.
    pub(super) values: Vec<u64>,
    /// The first of them and values at which programs often go wrong, which are tried in each field of a new input.
    pub(super) tried: Arc<[u64]>,
    /// Those that may be control codes, and the codes of the grammar.
    pub(super) codes: Vec<u32>,
    pub(super) grammar: Grammar,
    /// The names of the driver's devices.
    pub(super) devices: Vec<String>,
    /// The registry values that the driver looked for and did not find.
    pub(super) registry: Vec<(RegistryKey, String)>,
    /// Whether the driver has a device to send requests to. One that filters may have none.
    pub(super) has_device: bool,
    /// The communication ports of its minifilter, if it is one, and names of files for it.
    pub(super) ports: Option<Vec<String>>,
    pub(super) names: Vec<String>,
    /// Connections and packets, if it has callouts.
    pub(super) traffic: Vec<Vec<Step>>,
}

impl Dictionary {
    /// Takes the constants of the code. What else is known about the driver is added later.
    pub(super) fn new(constants: Vec<u64>, grammar: Grammar, registry: &[String]) -> Self {
        let small = |constant: &u64| u32::try_from(*constant).ok().filter(|_| *constant >= FIRST_CODE);
        let mut codes: Vec<u32> = constants.iter().filter_map(small).collect();
        codes.extend(grammar.requests.iter().map(|format| format.code));
        codes.sort_unstable();
        codes.dedup();
        let registry = registry.iter().filter_map(|value| registry_value(value)).collect();
        let tried = constants.iter().take(MAX_TRIED).chain(&bytes::INTERESTING).copied().collect();
        Self { values: constants, tried, codes, grammar, registry, ..Self::default() }
    }

    /// Returns whether the driver filters files or traffic.
    pub(super) const fn filters(&self) -> bool {
        self.ports.is_some() || !self.traffic.is_empty()
    }
}

/// Separates the key of a registry value from its name.
fn registry_value(text: &str) -> Option<(RegistryKey, String)> {
    let (key, name) = text.rsplit_once('\\')?;
    let key = match key {
        "parameters" => RegistryKey::Parameters,
        "device" => RegistryKey::Device,
        "driver" => RegistryKey::Driver,
        path => RegistryKey::Path(path.to_owned()),
    };
    Some((key, name.to_owned()))
}
