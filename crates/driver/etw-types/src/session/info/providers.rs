//! Classes 0, 1, 2, 12 and 13: which providers are registered, and which sessions enabled them.

use std::vec::Vec;
use std::{format, vec};

use super::codec::{Element, count, decode_some, encode_all, malformed};
use super::text::ListElement;
use super::{Cell, Information, Length, Malformed, OfMachine, Record, View, enumerable, list_class};
use crate::Guid;
use crate::session::{
    TRACE_PROVIDER_FLAG_LEGACY, TRACE_PROVIDER_FLAG_PRE_ENABLE, TraceEnableInfo, TraceGuidInfo, TraceInfoClass,
    TraceProviderInstanceInfo,
};

list_class! {
    /// Class 0: the providers that are registered with the kernel. Installed manifests are not included.
    RegisteredProviders(Guid) = GuidQueryList, OfMachine
}
list_class! {
    /// Class 2: the providers that the calling process registered.
    ProcessProviders(Guid) = GuidQueryProcess, OfMachine
}
list_class! {
    /// Class 12: the provider groups.
    ProviderGroups(Guid) = GroupQueryList, OfMachine
}
enumerable!(RegisteredProviders, ());
enumerable!(ProcessProviders, ());
enumerable!(ProviderGroups, ());

/// One registration of a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderInstance {
    /// The process id; 0 for a driver.
    pub process_id: u32,
    /// `TRACE_PROVIDER_FLAG_*`: 1 legacy, 2 enabled before it was registered.
    pub flags: u32,
    /// The sessions that enabled it.
    pub enabled: Vec<TraceEnableInfo>,
}

impl ProviderInstance {
    /// Whether the provider is registered. Otherwise it is only enabled in advance.
    #[must_use]
    pub const fn is_registered(&self) -> bool {
        self.flags & TRACE_PROVIDER_FLAG_PRE_ENABLE == 0
    }

    /// Whether this is a provider of the classic API.
    #[must_use]
    pub const fn is_legacy(&self) -> bool {
        self.flags & TRACE_PROVIDER_FLAG_LEGACY != 0
    }
}

/// Class 1: the registrations of a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderInstances(pub Vec<ProviderInstance>);

/// The session, level, keyword masks and properties of a request.
fn request(request: &TraceEnableInfo) -> Record {
    vec![
        ("session", request.logger_id.into()),
        ("level", request.level.into()),
        ("any", format!("{:#x}", request.match_any).into()),
        ("all", format!("{:#x}", request.match_all).into()),
        ("properties", format!("{:#x}", request.enable_property).into()),
    ]
}

fn example_request(logger_id: u16) -> TraceEnableInfo {
    TraceEnableInfo { is_enabled: 1, level: 5, logger_id, match_any: 3, ..TraceEnableInfo::default() }
}

impl Information for ProviderInstances {
    const CLASS: TraceInfoClass = TraceInfoClass::GuidQueryInfo;
    const LENGTH: Length = Length::list(TraceGuidInfo::SIZE, 1);
    type Scope = OfMachine;

    fn encode(&self) -> Vec<u8> {
        let mut bytes = TraceGuidInfo { instance_count: count(self.0.len()), reserved: 0 }.to_bytes().to_vec();
        for (index, instance) in self.0.iter().enumerate() {
            let size = TraceProviderInstanceInfo::SIZE + instance.enabled.len() * TraceEnableInfo::SIZE;
            let header = TraceProviderInstanceInfo {
                next_offset: if index + 1 == self.0.len() { 0 } else { count(size) },
                enable_count: count(instance.enabled.len()),
                process_id: instance.process_id,
                flags: instance.flags,
            };
            bytes.extend(header.to_bytes());
            bytes.extend(encode_all(&instance.enabled));
        }
        bytes
    }

    fn decode(data: &[u8]) -> Result<Self, Malformed> {
        let bad = |reason| malformed(Self::CLASS, reason);
        let info = TraceGuidInfo::parse(data).ok_or(bad("it is shorter than its header"))?;
        let mut rest = data.get(TraceGuidInfo::SIZE..).unwrap_or_default();
        let mut instances = Vec::new();
        for index in 0..info.instance_count {
            let header = TraceProviderInstanceInfo::parse(rest).ok_or(bad("it has too few instances"))?;
            let behind = rest.get(TraceProviderInstanceInfo::SIZE..).unwrap_or_default();
            let (enabled, _) = decode_some(Self::CLASS, behind, header.enable_count)?;
            instances.push(ProviderInstance { process_id: header.process_id, flags: header.flags, enabled });
            // The offset is relative to the instance, and 0 for the last one. It never points backwards, so the loop
            // ends.
            let next = usize::try_from(header.next_offset).unwrap_or(usize::MAX);
            match next {
                0 if index + 1 == info.instance_count => break,
                0 => return Err(bad("it has too few instances")),
                next if next < TraceProviderInstanceInfo::SIZE => return Err(bad("instances overlap")),
                next => rest = rest.get(next..).ok_or(bad("an instance points outside of the data"))?,
            }
        }
        Ok(Self(instances))
    }

    fn view(&self) -> View {
        let mut rows = Vec::new();
        for instance in &self.0 {
            let state = match (instance.is_registered(), instance.is_legacy()) {
                (false, _) => "not registered yet",
                (true, false) => "registered",
                (true, true) => "registered, classic",
            };
            let start = [Cell::from(instance.process_id), state.into()];
            if instance.enabled.is_empty() {
                rows.push(start.iter().cloned().chain(vec![Cell::Missing; 5]).collect());
            }
            for enabled in &instance.enabled {
                let cells = request(enabled).into_iter().map(|(_, cell)| cell);
                rows.push(start.iter().cloned().chain(cells).collect());
            }
        }
        View::List { columns: &["process", "state", "session", "level", "any", "all", "properties"], rows }
    }

    fn examples() -> Vec<Self> {
        let enabled = vec![example_request(3), example_request(4)];
        let early = ProviderInstance { process_id: 5, flags: TRACE_PROVIDER_FLAG_PRE_ENABLE, enabled: Vec::new() };
        vec![Self(vec![ProviderInstance { process_id: 4, flags: 0, enabled }, early])]
    }
}
enumerable!(ProviderInstances, Guid);

/// Class 13: the members of a provider group, and the sessions that enabled it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupInstances {
    /// The sessions that enabled the group.
    pub enabled: Vec<TraceEnableInfo>,
    /// The members.
    pub members: Vec<Guid>,
}

impl GroupInstances {
    /// Decodes data that starts with `requests` requests. Returns `None` if the rest does not fit.
    fn with_requests(data: &[u8], requests: u32) -> Option<Self> {
        let (enabled, rest) = decode_some(Self::CLASS, data, requests).ok()?;
        let members = u32::read(rest)?;
        let (members, rest) = decode_some(Self::CLASS, rest.get(4..)?, members).ok()?;
        rest.is_empty().then_some(Self { enabled, members })
    }
}

impl Information for GroupInstances {
    const CLASS: TraceInfoClass = TraceInfoClass::GroupQueryInfo;
    const LENGTH: Length = Length::list(8, 1);
    type Scope = OfMachine;

    fn encode(&self) -> Vec<u8> {
        let mut bytes = count(self.enabled.len()).to_le_bytes().to_vec();
        bytes.extend(encode_all(&self.enabled));
        bytes.extend(count(self.members.len()).to_le_bytes());
        bytes.extend(encode_all(&self.members));
        bytes
    }

    /// The header file does not say whether the data starts with a count or with a length. Both are tried, the count
    /// first, and the interpretation that consumes all bytes is used. Requests start at byte 4 and are therefore not
    /// aligned.
    fn decode(data: &[u8]) -> Result<Self, Malformed> {
        let bad = |reason| malformed(Self::CLASS, reason);
        let first = u32::read(data).ok_or(bad("it is shorter than its header"))?;
        let rest = data.get(4..).unwrap_or_default();
        let size = count(TraceEnableInfo::SIZE);
        let by_length = || first.is_multiple_of(size).then(|| Self::with_requests(rest, first / size)).flatten();
        Self::with_requests(rest, first).or_else(by_length).ok_or(bad("its counts do not fit its length"))
    }

    fn view(&self) -> View {
        let enabled = self.enabled.iter().map(|enabled| Cell::Record(request(enabled)));
        View::Record(vec![("members", self.members.iter().copied().collect()), ("enabled", enabled.collect())])
    }

    fn examples() -> Vec<Self> {
        vec![Self { enabled: vec![example_request(1)], members: vec![Guid::EXAMPLE; 3] }]
    }
}
enumerable!(GroupInstances, Guid);
