//! `EnumerateTraceGuidsEx`: which providers are registered, and which sessions enabled them.

use std::collections::BTreeSet;

use etw_types::session::info::{
    Enumerable, GroupInstances, Information, MaxSessions, ProcessProviders, ProviderGroups, ProviderInstance,
    ProviderInstances, RegisteredProviders,
};
use etw_types::session::{TRACE_PROVIDER_FLAG_PRE_ENABLE, TraceEnableInfo, TraceInfoClass};
use etw_types::{Guid, Win32Error};

use super::check::{Function, QueryError};
use super::query::count;
use crate::state::Enablement;
use crate::sync::read;
use crate::{Engine, Target};

fn enabled(enablement: &Enablement) -> TraceEnableInfo {
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
    /// `EnumerateTraceGuidsEx` with a buffer. Classes 1 and 13 require a GUID. Returns `ReturnLength`.
    ///
    /// # Errors
    ///
    /// `InvalidParameter` for an unknown class or a missing GUID, `NotSupported` for a class that belongs to other
    /// functions, `WmiInstanceNotFound` for an unknown GUID (our choice), and `InsufficientBuffer` with the required
    /// length.
    pub fn enumerate_trace_guids_bytes(
        &self,
        class: TraceInfoClass,
        input: &[u8],
        buffer: &mut [u8],
    ) -> Result<usize, QueryError> {
        let bytes = self.enumeration(class, input)?;
        let needed = bytes.len();
        let result = buffer.get_mut(..needed).ok_or(QueryError { code: Win32Error::InsufficientBuffer, needed })?;
        result.copy_from_slice(&bytes);
        Ok(needed)
    }

    /// [`enumerate_trace_guids_bytes`](Self::enumerate_trace_guids_bytes) with a value as its result.
    ///
    /// # Errors
    ///
    /// The same, except that no buffer is too short.
    pub fn enumerate_trace_guids<T: Enumerable>(&self, input: &T::Input) -> Result<T, Win32Error> {
        let bytes = self.enumeration(T::CLASS, &T::input_bytes(input))?;
        T::decode(&bytes).map_err(|_| Win32Error::FileCorrupt)
    }

    fn enumeration(&self, class: TraceInfoClass, input: &[u8]) -> Result<Vec<u8>, Win32Error> {
        self.check_class(class, Function::Enumerate, 0)?;
        let guid = <[u8; 16]>::try_from(input).map(Guid::from_bytes_le).map_err(|_| Win32Error::InvalidParameter);
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
                RegisteredProviders(guids.into_iter().collect()).encode()
            }
            TraceInfoClass::GuidQueryProcess => {
                let own = registered.filter(|registration| registration.origin.process_id == process);
                let guids: BTreeSet<Guid> = own.map(|registration| registration.provider).collect();
                ProcessProviders(guids.into_iter().collect()).encode()
            }
            TraceInfoClass::GroupQueryList => {
                let enabled = state.enablements().filter_map(|(target, _)| match target {
                    Target::Group(guid) => Some(guid),
                    Target::Provider(_) => None,
                });
                let guids: BTreeSet<Guid> =
                    registered.filter_map(|registration| registration.group).chain(enabled).collect();
                ProviderGroups(guids.into_iter().collect()).encode()
            }
            TraceInfoClass::GuidQueryInfo => {
                let target = Target::Provider(guid?);
                let requests: Vec<TraceEnableInfo> = state.requests_to(target).map(enabled).collect();
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
                ProviderInstances(instances).encode()
            }
            TraceInfoClass::GroupQueryInfo => {
                let target = Target::Group(guid?);
                let requests: Vec<TraceEnableInfo> = state.requests_to(target).map(enabled).collect();
                let members: Vec<Guid> = state.providers_of(target).into_iter().collect();
                if requests.is_empty() && members.is_empty() {
                    return Err(Win32Error::WmiInstanceNotFound);
                }
                GroupInstances { enabled: requests, members }.encode()
            }
            TraceInfoClass::MaxLoggersQuery => MaxSessions(count(self.options().max_sessions)).encode(),
            _ => return Err(Win32Error::NotSupported),
        })
    }
}
