//! Registering and unregistering providers, and testing whether an event is enabled.

use std::collections::BTreeSet;
use std::sync::Arc;

use etw_types::{EventDescriptor, Guid, Keyword, Level, NtStatus};

use crate::callback::Callback;
use crate::finding::Attempt;
use crate::gate::Pass;
use crate::log::Subject;
use crate::notify::Delivery;
use crate::state::{Missing, Registration};
use crate::sync::read;
use crate::{Engine, Finding, Origin, Routine};

/// `Microsoft-Windows-Security-Auditing`, which only the system may register.
pub const SECURITY_PROVIDER: Guid = Guid::from_u128(0x5484_9625_5478_4994_a5ba_3e3b_0328_c30d);

/// What the engine knows about one registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrationInfo {
    /// The handle.
    pub handle: u64,
    /// The GUID.
    pub provider: Guid,
    /// The traits blob, if set.
    pub traits: Option<Vec<u8>>,
    /// Whether ETW honours the kinds of this registration's data descriptors.
    pub uses_descriptor_types: bool,
    /// The provider group that the traits name.
    pub group: Option<Guid>,
    /// Whether the provider's binary is tracked.
    pub tracked: bool,
}

impl Engine {
    /// `EtwRegister`: registers `provider` and returns its handle. One GUID may have several registrations.
    ///
    /// `publish` receives the handle first; this corresponds to writing `*RegHandle`. If a session has already enabled
    /// the GUID, the callback then runs on this thread, with a zero source, before this returns.
    ///
    /// # Errors
    ///
    /// `AccessDenied` for [`SECURITY_PROVIDER`]; `PossibleDeadlock` and a [`Finding`] inside a callback of the same
    /// GUID, where the kernel hangs; a scripted status.
    pub fn register(
        &self,
        provider: Guid,
        callback: Option<Callback>,
        publish: impl FnOnce(u64),
    ) -> Result<u64, NtStatus> {
        self.register_from(Origin::kernel(), provider, callback, publish)
    }

    /// [`Engine::register`] for a user-mode process or the kernel. Filters by process use the origin.
    ///
    /// # Errors
    ///
    /// The same as [`Engine::register`].
    pub fn register_from(
        &self,
        origin: Origin,
        provider: Guid,
        callback: Option<Callback>,
        publish: impl FnOnce(u64),
    ) -> Result<u64, NtStatus> {
        let inner = self.inner();
        let begun = inner.log.begin(Routine::Register, 0, Subject::Provider(provider));
        let result = match inner.script.take(Routine::Register) {
            Some(status) => Err(status),
            None => self.register_now(origin, provider, callback, publish),
        };
        match result {
            Ok(handle) => inner.log.end(begun, Some(handle), NtStatus::Success),
            Err(status) => inner.log.end(begun, None, status),
        }
        result
    }

    fn register_now(
        &self,
        origin: Origin,
        provider: Guid,
        callback: Option<Callback>,
        publish: impl FnOnce(u64),
    ) -> Result<u64, NtStatus> {
        if provider == SECURITY_PROVIDER {
            return Err(NtStatus::AccessDenied);
        }
        let _pass = self.enter_gate(provider, Attempt::Register)?;
        let registration = Registration {
            provider,
            callback,
            traits: None,
            group: None,
            uses_descriptor_types: false,
            tracked: false,
            origin: Arc::new(origin),
        };
        let (handle, delivery) = {
            let mut state = self.inner().write_state();
            let handle = state.insert(registration.clone());
            let delivery = state
                .merged(&registration)
                .and_then(|_| Delivery::for_merged(&state, handle, &registration, Guid::ZERO));
            (handle, delivery)
        };
        publish(handle);
        if let Some(delivery) = delivery {
            delivery.deliver(None);
        }
        self.report_binaries();
        Ok(handle)
    }

    /// `EtwUnregister`: removes a registration. Waits for a callback of its GUID that runs on another thread; no
    /// callback of this registration runs after this returns.
    ///
    /// Returns `InvalidHandle` for 0, and for a handle that is not registered, which is also recorded as a [`Finding`].
    /// Inside a callback of the same GUID, where the kernel hangs, returns `PossibleDeadlock` and records a finding;
    /// the registration then stays.
    pub fn unregister(&self, handle: u64) -> NtStatus {
        self.run(Routine::Unregister, handle, Subject::None, || {
            self.unregister_now(handle).err().unwrap_or(NtStatus::Success)
        })
    }

    fn unregister_now(&self, handle: u64) -> Result<(), NtStatus> {
        let provider = read(&self.inner().state).get(handle).map(|registration| registration.provider);
        let provider = provider.map_err(|missing| self.missing(Routine::Unregister, handle, missing))?;
        let _pass = self.enter_gate(provider, Attempt::Unregister(handle))?;
        // Another thread may have unregistered the handle while this one waited at the gate.
        let removed = self.inner().write_state().remove(handle);
        match removed {
            Some(_) => Ok(()),
            None => Err(self.missing(Routine::Unregister, handle, Missing::Stale)),
        }
    }

    /// `EtwProviderEnabled`: whether a session may accept an event of this level and keyword. This is the kernel's
    /// quick test against the merged request. Returns false for handle 0, and for a handle that is not registered,
    /// which is also recorded as a [`Finding`].
    #[must_use]
    pub fn provider_enabled(&self, handle: u64, level: Level, keyword: Keyword) -> bool {
        let descriptor = EventDescriptor::new(level, keyword);
        self.enabled(Routine::ProviderEnabled, handle, &descriptor)
    }

    /// `EtwEventEnabled`: [`Engine::provider_enabled`] for the level and keyword of a descriptor.
    #[must_use]
    pub fn event_enabled(&self, handle: u64, descriptor: &EventDescriptor) -> bool {
        self.enabled(Routine::EventEnabled, handle, descriptor)
    }

    fn enabled(&self, routine: Routine, handle: u64, descriptor: &EventDescriptor) -> bool {
        let status = self.run(routine, handle, Subject::Event(*descriptor), || {
            let merged = self.with_routes(|routes| routes.get(handle).map(|route| route.merged));
            match merged {
                Ok(Some(settings)) if settings.passes(descriptor.level, descriptor.keyword) => NtStatus::Success,
                Ok(_) => NtStatus::Unsuccessful,
                Err(missing) => {
                    self.missing(routine, handle, missing);
                    NtStatus::Unsuccessful
                }
            }
        });
        status == NtStatus::Success
    }

    /// Returns the registrations, oldest first.
    #[must_use]
    pub fn registrations(&self) -> Vec<RegistrationInfo> {
        read(&self.inner().state)
            .registrations()
            .map(|(handle, registration)| RegistrationInfo {
                handle,
                provider: registration.provider,
                traits: registration.traits.as_deref().map(<[u8]>::to_vec),
                uses_descriptor_types: registration.uses_descriptor_types,
                group: registration.group,
                tracked: registration.tracked,
            })
            .collect()
    }

    /// Enters the gate of one GUID. If waiting would never end, records a finding and returns `PossibleDeadlock`.
    pub(crate) fn enter_gate(&self, provider: Guid, attempt: Attempt) -> Result<Pass<'_>, NtStatus> {
        self.enter_gates(BTreeSet::from([provider]), attempt)
    }

    /// Enters the gates of several GUIDs together.
    pub(crate) fn enter_gates(&self, providers: BTreeSet<Guid>, attempt: Attempt) -> Result<Pass<'_>, NtStatus> {
        let inner = self.inner();
        inner.gates.enter(providers).map_err(|blocked| {
            inner.log.find(Finding::blocked(attempt, blocked));
            NtStatus::PossibleDeadlock
        })
    }

    /// Records the use of a handle that is not registered. Handle 0 is what an unregistered provider passes and is not
    /// a mistake.
    pub(crate) fn missing(&self, routine: Routine, handle: u64, missing: Missing) -> NtStatus {
        let log = &self.inner().log;
        match missing {
            Missing::Zero => {}
            Missing::Stale => log.find(Finding::StaleHandle { routine, handle }),
            Missing::Unknown => log.find(Finding::UnknownHandle { routine, handle }),
        }
        NtStatus::InvalidHandle
    }
}
