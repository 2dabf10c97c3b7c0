//! Maps addresses to methods that the .NET runtime compiled, using its method events.

use std::collections::BTreeMap;
use std::sync::Arc;

use etw_types::tracelogging::Value;
use etw_types::{Guid, InType, OutType};

use crate::decode::{Decoder, FrameNames, Scalar, show};
use crate::event::EventRef;

/// Maximum number of methods that are remembered.
const MAX_METHODS: usize = 0x10_0000;
/// Maximum memory for their names, in bytes.
const MAX_BYTES: usize = 256 * 1024 * 1024;
/// Maximum number of methods that were compiled to the same address, one after the other.
const MAX_AT_ADDRESS: usize = 64;
/// Number of methods below an address that are looked at: code of one method can lie inside the range of another.
const MAX_BELOW: usize = 4;

/// The providers of the runtime and of its rundown.
const RUNTIME: Guid = Guid::from_u128(0xe13c_0d23_ccbc_4e12_931b_d9cc_2eee_27e4);
const RUNDOWN: Guid = Guid::from_u128(0xa669_021c_c450_4609_a035_5af5_9af4_df18);
/// `MethodLoadVerbose` of the runtime, and `MethodDCStartVerbose` of the rundown.
const LOAD: u16 = 143;
/// `MethodDCEndVerbose` of the rundown.
const END: u16 = 144;

/// A method and its code.
#[derive(Clone, Debug)]
struct Method {
    /// When the method was compiled; 0 for methods of a rundown.
    stamp: u64,
    end: u64,
    name: Arc<str>,
}

/// The methods of a trace, by process and address. A [`Reader`](crate::Reader) has found them: `reader.methods()`.
///
/// ```
/// use etw_etl::{FrameNames as _, Methods};
///
/// let methods = Methods::default();
/// assert!(methods.is_empty() && methods.names(4, 0x1000).is_empty());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Methods {
    by_start: BTreeMap<(u32, u64), Vec<Method>>,
    count: usize,
    /// The memory of the names.
    bytes: usize,
}

impl Methods {
    /// Returns whether an event with this provider and id describes a method.
    pub(crate) fn is_described_by(provider: Guid, id: u16) -> bool {
        (provider == RUNTIME && id == LOAD) || (provider == RUNDOWN && matches!(id, LOAD | END))
    }

    /// Adds a method event.
    pub(crate) fn add(&mut self, decoder: &mut Decoder, event: &EventRef<'_>) {
        let has_room = self.count < MAX_METHODS && self.bytes < MAX_BYTES;
        let (Some(process), true) = (event.header.process_id, has_room) else { return };
        let mut start = 0;
        let mut size = 0;
        let mut class = String::new();
        let mut name = String::new();
        decoder.visit(event, &mut |field, value| match (&*field.name, value) {
            ("MethodStartAddress", Value::Hex(number)) => start = number,
            ("MethodSize", Value::Hex(number)) => size = number,
            ("MethodNamespace", value) => class = text(value),
            ("MethodName", value) => name = text(value),
            _ => {}
        });
        if size == 0 || name.is_empty() {
            return;
        }
        let stamp = if event.header.provider == Some(RUNTIME) { event.header.stamp } else { 0 };
        let dot = if class.is_empty() { "" } else { "." };
        let name = ["managed!", &class, dot, &name].concat();
        let methods = self.by_start.entry((process, start)).or_default();
        if methods.len() < MAX_AT_ADDRESS && methods.iter().all(|known| *known.name != *name) {
            self.bytes += name.len();
            methods.push(Method { stamp, end: start.saturating_add(size), name: name.into() });
            self.count += 1;
        }
    }

    /// Adds the methods of another trace, whose time stamps are converted. Call [`sort`](Self::sort) afterwards.
    pub(crate) fn absorb(&mut self, other: &Self, stamp: &dyn Fn(u64) -> u64) {
        for (key, methods) in &other.by_start {
            let known = self.by_start.entry(*key).or_default();
            for method in methods {
                if known.iter().all(|known| known.name != method.name) {
                    let at = if method.stamp == 0 { 0 } else { stamp(method.stamp) };
                    known.push(Method { stamp: at, ..method.clone() });
                    self.count += 1;
                    self.bytes += method.name.len();
                }
            }
        }
    }

    pub(crate) fn sort(&mut self) {
        self.by_start.values_mut().for_each(|methods| methods.sort_by_key(|method| method.stamp));
    }

    /// Returns whether no method is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_start.is_empty()
    }

    fn find(&self, process: u32, stamp: u64, address: u64) -> Option<String> {
        let mut below = self.by_start.range((process, 0)..=(process, address)).rev().take(MAX_BELOW);
        below.find_map(|((_, start), methods)| {
            // The last method that was there at the time; a rundown describes methods that were there before.
            let there = methods.iter().rev().find(|method| method.stamp <= stamp).or_else(|| methods.first())?;
            (address < there.end).then(|| format!("{}+{:#x}", there.name, address - start))
        })
    }
}

impl FrameNames for Methods {
    fn names(&self, process: u32, address: u64) -> Vec<String> {
        self.names_at(process, u64::MAX, address)
    }

    fn names_at(&self, process: u32, stamp: u64, address: u64) -> Vec<String> {
        self.find(process, stamp, address).into_iter().collect()
    }
}

fn text(value: Value<'_>) -> String {
    match show(InType::Invalid, OutType::Default, value) {
        Scalar::Text(text) => text,
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use etw_types::EventDescriptor;

    use super::{END, FrameNames as _, LOAD, MAX_AT_ADDRESS, MAX_BYTES, Methods, RUNDOWN, RUNTIME};
    use crate::EventData;
    use crate::decode::Decoder;
    use crate::testing::read;

    fn wide(text: &str) -> Vec<u8> {
        text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
    }

    /// Ids of method and module, start, size, token, flags, class, name, signature, instance.
    fn payload(start: u64, size: u32, class: &str, name: &str) -> Vec<u8> {
        let numbers = [[0; 16].as_slice(), &start.to_le_bytes(), &size.to_le_bytes(), &[0; 8]].concat();
        [numbers, wide(class), wide(name), wide("()"), vec![0; 2]].concat()
    }

    #[test]
    fn an_address_is_named_by_the_method_that_was_compiled_there_at_the_time() {
        let mut methods = Methods::default();
        let mut decoder = Decoder::default();
        for (provider, id, timestamp, start, name) in [
            (RUNTIME, LOAD, 100, 0x1000, "First"),
            (RUNTIME, LOAD, 200, 0x1000, "Second"),
            (RUNDOWN, END, 900, 0x2000, "Old"),
        ] {
            assert!(Methods::is_described_by(provider, id));
            let payload = payload(start, 0x100, "N.Class", name);
            let descriptor = EventDescriptor { id, version: 1, ..EventDescriptor::default() };
            let data =
                EventData { provider, descriptor, timestamp, process_id: 7, payload: &payload, ..EventData::default() };
            methods.add(&mut decoder, &read(&data).as_ref());
        }
        methods.sort();
        assert_eq!(methods.names_at(7, 150, 0x1010), ["managed!N.Class.First+0x10"]);
        assert_eq!(methods.names_at(7, 250, 0x1010), ["managed!N.Class.Second+0x10"]);
        assert_eq!(methods.names_at(7, 1, 0x20FF), ["managed!N.Class.Old+0xff"]);
        assert!(methods.names_at(7, 250, 0x2100).is_empty());
        assert!(methods.names(8, 0x1010).is_empty());
        assert!(!Methods::is_described_by(RUNTIME, END));
    }

    #[test]
    fn methods_at_one_address_and_the_memory_of_names_are_limited() {
        let mut methods = Methods::default();
        let mut decoder = Decoder::default();
        let mut add = |methods: &mut Methods, name: &str| {
            let payload = payload(0x1000, 0x100, "", name);
            let descriptor = EventDescriptor { id: LOAD, version: 1, ..EventDescriptor::default() };
            let data =
                EventData { provider: RUNTIME, descriptor, process_id: 7, payload: &payload, ..EventData::default() };
            methods.add(&mut decoder, &read(&data).as_ref());
        };
        (0..2 * MAX_AT_ADDRESS).for_each(|number| add(&mut methods, &format!("Method{number}")));
        assert_eq!(methods.count, MAX_AT_ADDRESS);
        let mut full = Methods { bytes: MAX_BYTES, ..Methods::default() };
        add(&mut full, "Method");
        assert!(full.is_empty());
    }
}
