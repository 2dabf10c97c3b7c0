//! `EnumerateTraceGuidsEx`: which providers are registered, and which sessions enabled them.

use std::collections::BTreeSet;

use etw_types::session::{TraceEnableInfo, TraceGuidInfo, TraceInfoClass, TraceProviderInstanceInfo};
use etw_types::{Guid, Win32Error};
use windows_constants::tracing::TRACE_PROVIDER_FLAG_PRE_ENABLE;

use super::bytes::{count, guid_bytes};
use super::class::{Function, QueryError};
use crate::state::Enablement;
use crate::sync::read;
use crate::{Engine, Target};

/// A session's request.
pub type Enabled = TraceEnableInfo;

/// One registration of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderInstance {
    /// The process that registered; 0 for the kernel.
    pub process_id: u32,
    /// 2 if sessions enabled a provider that is not registered yet.
    pub flags: u32,
    /// The sessions that enabled it.
    pub enabled: Vec<Enabled>,
}

/// A result of `EnumerateTraceGuidsEx`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Enumeration {
    /// Classes 0, 2 and 12.
    Guids(Vec<Guid>),
    /// Class 1.
    Provider(Vec<ProviderInstance>),
    /// Class 13: the requests of sessions for the group, and its members.
    Group(Vec<Enabled>, Vec<Guid>),
    /// Class 19.
    Number(u32),
}

impl Enumeration {
    /// Encodes the result. That class 13 starts with a count, not with a length, is our interpretation of the header
    /// file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Guids(guids) => guid_bytes(guids),
            Self::Number(number) => number.to_le_bytes().to_vec(),
            Self::Group(enabled, members) => {
                let mut bytes = count(enabled.len()).to_le_bytes().to_vec();
                bytes.extend(enabled.iter().flat_map(TraceEnableInfo::to_bytes));
                bytes.extend(count(members.len()).to_le_bytes());
                bytes.extend(guid_bytes(members));
                bytes
            }
            Self::Provider(instances) => {
                let info = TraceGuidInfo { instance_count: count(instances.len()), reserved: 0 };
                let mut bytes = info.to_bytes().to_vec();
                for (index, instance) in instances.iter().enumerate() {
                    let size = TraceProviderInstanceInfo::SIZE + instance.enabled.len() * TraceEnableInfo::SIZE;
                    let header = TraceProviderInstanceInfo {
                        next_offset: if index + 1 == instances.len() { 0 } else { count(size) },
                        enable_count: count(instance.enabled.len()),
                        process_id: instance.process_id,
                        flags: instance.flags,
                    };
                    bytes.extend(header.to_bytes());
                    bytes.extend(instance.enabled.iter().flat_map(TraceEnableInfo::to_bytes));
                }
                bytes
            }
        }
    }
}

fn enabled(enablement: &Enablement) -> Enabled {
    let settings = &enablement.settings;
    let shown = settings.shown();
    TraceEnableInfo {
        is_enabled: 1,
        level: shown.level.as_int(),
        logger_id: enablement.session.logger_id(),
        enable_property: settings.property(),
        match_any: shown.any,
        match_all: shown.all,
        ..TraceEnableInfo::default()
    }
}

impl Engine {
    /// `EnumerateTraceGuidsEx` with a buffer. Returns `ReturnLength`.
    ///
    /// # Errors
    ///
    /// The same as [`Engine::enumerate_trace_guids`]; also `InsufficientBuffer` with the required length.
    pub fn enumerate_trace_guids_bytes(
        &self,
        class: TraceInfoClass,
        input: &[u8],
        buffer: &mut [u8],
    ) -> Result<usize, QueryError> {
        let guid = <[u8; 16]>::try_from(input).ok().map(Guid::from_bytes_le);
        let bytes = self.enumerate_trace_guids(class, guid)?.to_bytes();
        let needed = bytes.len();
        let place = buffer.get_mut(..needed).ok_or(QueryError { code: Win32Error::InsufficientBuffer, needed })?;
        place.copy_from_slice(&bytes);
        Ok(needed)
    }

    /// `EnumerateTraceGuidsEx`. Classes 1 and 13 require a GUID.
    ///
    /// # Errors
    ///
    /// `InvalidParameter` for an unknown class or a missing GUID, `NotSupported` for a class that belongs to other
    /// functions, and `WmiInstanceNotFound` for an unknown GUID (our choice).
    pub fn enumerate_trace_guids(&self, class: TraceInfoClass, guid: Option<Guid>) -> Result<Enumeration, Win32Error> {
        self.check_class(class, Function::Enumerate, 0)?;
        let process = self.options().environment.process_id();
        let state = read(&self.inner().state);
        let registered = state.registrations().map(|(_, registration)| registration);
        Ok(match class {
            TraceInfoClass::GuidQueryList => {
                // Enabled providers are listed even if they are not registered yet.
                let waiting = state.enablements().filter_map(|(target, _)| match target {
                    Target::Provider(guid) => Some(guid),
                    Target::Group(_) => None,
                });
                let guids: BTreeSet<Guid> =
                    registered.map(|registration| registration.provider).chain(waiting).collect();
                Enumeration::Guids(guids.into_iter().collect())
            }
            TraceInfoClass::GuidQueryProcess => {
                let own = registered.filter(|registration| registration.origin.process_id == process);
                let guids: BTreeSet<Guid> = own.map(|registration| registration.provider).collect();
                Enumeration::Guids(guids.into_iter().collect())
            }
            TraceInfoClass::GroupQueryList => {
                let enabled = state.enablements().filter_map(|(target, _)| match target {
                    Target::Group(guid) => Some(guid),
                    Target::Provider(_) => None,
                });
                let guids: BTreeSet<Guid> =
                    registered.filter_map(|registration| registration.group).chain(enabled).collect();
                Enumeration::Guids(guids.into_iter().collect())
            }
            TraceInfoClass::GuidQueryInfo => {
                let target = Target::Provider(guid.ok_or(Win32Error::InvalidParameter)?);
                let requests: Vec<Enabled> = state.requests_to(target).map(enabled).collect();
                let mut instances: Vec<ProviderInstance> = state
                    .registrations_of(target)
                    .map(|(_, registration)| ProviderInstance {
                        process_id: registration.origin.process_id,
                        flags: 0,
                        enabled: requests.clone(),
                    })
                    .collect();
                if instances.is_empty() && !requests.is_empty() {
                    instances.push(ProviderInstance {
                        process_id: 0,
                        flags: TRACE_PROVIDER_FLAG_PRE_ENABLE,
                        enabled: requests,
                    });
                }
                if instances.is_empty() {
                    return Err(Win32Error::WmiInstanceNotFound);
                }
                Enumeration::Provider(instances)
            }
            TraceInfoClass::GroupQueryInfo => {
                let target = Target::Group(guid.ok_or(Win32Error::InvalidParameter)?);
                let requests: Vec<Enabled> = state.requests_to(target).map(enabled).collect();
                let members: Vec<Guid> = state.providers_of(target).into_iter().collect();
                if requests.is_empty() && members.is_empty() {
                    return Err(Win32Error::WmiInstanceNotFound);
                }
                Enumeration::Group(requests, members)
            }
            TraceInfoClass::MaxLoggersQuery => Enumeration::Number(count(self.options().max_sessions)),
            _ => return Err(Win32Error::NotSupported),
        })
    }
}
