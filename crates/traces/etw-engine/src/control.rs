//! Session control: enable, disable, capture state, stop.
//!
//! Every change first enters the gates of the GUIDs that it notifies, then changes the tables, then runs the callbacks.
//! The statuses for a stopped session and for a ninth session are those of `EnableTraceEx2`, expressed as kernel
//! statuses. Disabling a target that is not enabled, or requesting its state, succeeds without effect (our choice).

use std::collections::BTreeSet;
use std::sync::Arc;

use etw_types::{Guid, NtStatus, Win32Error};

use crate::callback::FilterData;
use crate::enable::{Settings, Shown, Target};
use crate::filter::Filters;
use crate::finding::Attempt;
use crate::notify::Delivery;
use crate::routes::MAX_SESSIONS;
use crate::state::{Enablement, Registration, State};
use crate::sync::read;
use crate::{Enable, Engine, Session};

impl Session {
    /// Enables a provider, or every provider of a group; a second request replaces the first. The callbacks of all
    /// affected registrations run before this returns. They receive the merged request of all sessions.
    ///
    /// Returns `WmiInstanceNotFound` if the session is stopped and `InsufficientResources` for the ninth session of one
    /// provider. Inside a callback of the provider, records a finding and returns `PossibleDeadlock` without effect.
    /// Returns `InvalidParameter` for an invalid filter.
    #[expect(clippy::needless_pass_by_value, reason = "a request is written in place, as a literal")]
    pub fn enable(&self, target: impl Into<Target>, enable: Enable) -> NtStatus {
        self.enable_as(target.into(), &enable, false)
    }

    /// [`enable`](Self::enable), to test how a provider handles zeros: the callback receives level 0 and mask 0
    /// unchanged, where ETW itself would pass 0xFF and all ones. Which events the session captures does not change.
    #[expect(clippy::needless_pass_by_value, reason = "a request is written in place, as a literal")]
    pub fn enable_raw(&self, target: impl Into<Target>, enable: Enable) -> NtStatus {
        self.enable_as(target.into(), &enable, true)
    }

    fn enable_as(&self, target: Target, enable: &Enable, raw: bool) -> NtStatus {
        let options = self.engine.options();
        let target = target.with_property(enable.property);
        let id = self.core.id();
        let Some(filters) = Filters::new(enable).map(Arc::new) else {
            return NtStatus::InvalidParameter;
        };
        let enablement = Enablement {
            session: Arc::clone(&self.core),
            settings: Settings::new(enable, raw),
            filters: Arc::clone(&filters),
            source: enable.source,
        };
        let status = self.engine.control(target, filters.passed_on(), |state| {
            if self.core.is_stopped() {
                return Err(NtStatus::WmiInstanceNotFound);
            }
            let most = options.max_sessions_per_provider.min(MAX_SESSIONS);
            if state.enablement(target, id).is_none() && state.sessions_of(target) >= most {
                return Err(NtStatus::InsufficientResources);
            }
            state.set_enablement(target, enablement.clone());
            Ok(report(state, target, enablement.source))
        });
        if status.is_success() {
            self.engine.report_binaries();
        }
        status
    }

    /// `EnableTraceEx2` with `EVENT_CONTROL_CODE_ENABLE_PROVIDER`: [`Session::enable`] with that function's error
    /// codes.
    ///
    /// # Errors
    ///
    /// `InvalidParameter` for a zero GUID, `NoSystemResources` for the ninth session of a provider,
    /// `WmiInstanceNotFound` if the session is stopped, `AccessDenied`, `PossibleDeadlock` inside a callback of the
    /// provider, and the errors that [`Answers`](crate::Answers) configures for an invalid filter and a provider that
    /// is not registered.
    pub fn enable_trace(&self, target: impl Into<Target>, enable: Enable) -> Result<(), Win32Error> {
        let options = self.engine.options();
        let target = target.into().with_property(enable.property);
        let (Target::Provider(guid) | Target::Group(guid)) = target;
        if guid.is_zero() {
            return Err(Win32Error::InvalidParameter);
        }
        if !options.rights.control {
            return Err(Win32Error::AccessDenied);
        }
        Filters::new(&enable).ok_or(options.answers.bad_filter)?;
        if read(&self.engine.inner().state).registrations_of(target).next().is_none() {
            options.answers.unregistered.ok()?;
        }
        win32(self.enable(target, enable))
    }

    /// `EnableTraceEx2` with `EVENT_CONTROL_CODE_DISABLE_PROVIDER`.
    ///
    /// # Errors
    ///
    /// `WmiInstanceNotFound` if the session is stopped, `AccessDenied`, `PossibleDeadlock` inside a callback of the
    /// provider.
    pub fn disable_trace(&self, target: impl Into<Target>) -> Result<(), Win32Error> {
        self.check_running()?;
        win32(self.disable(target))
    }

    /// `EnableTraceEx2` with `EVENT_CONTROL_CODE_CAPTURE_STATE`. The callbacks receive level, masks, source and filter of
    /// `enable`.
    ///
    /// # Errors
    ///
    /// The same as [`Session::disable_trace`], and the error that [`Answers`](crate::Answers) configures for an invalid
    /// filter.
    pub fn capture_trace(&self, target: impl Into<Target>, enable: &Enable) -> Result<(), Win32Error> {
        self.check_running()?;
        let filters = Filters::new(enable).ok_or(self.engine.options().answers.bad_filter)?;
        let shown = Settings::new(enable, false).shown();
        win32(self.capture_as(target.into(), filters.passed_on(), |_| (shown, enable.source)))
    }

    /// Removes the request. If other sessions still enable the target, the callbacks receive the merged request of
    /// those sessions; otherwise they receive the control code for disabled.
    pub fn disable(&self, target: impl Into<Target>) -> NtStatus {
        let target = target.into();
        let id = self.core.id();
        self.engine.control(target, None, |state| {
            let source = state.enablement(target, id).map_or(Guid::ZERO, |enablement| enablement.source);
            if state.remove_enablement(target, id) { Ok(report(state, target, source)) } else { Ok(Vec::new()) }
        })
    }

    /// Requests the state of every registration that this session enabled. The callbacks receive this session's own
    /// level and masks.
    pub fn capture_state(&self, target: impl Into<Target>) -> NtStatus {
        self.capture_as(target.into(), None, |enablement| (enablement.settings.shown(), enablement.source))
    }

    /// Requests the state with the values that `values` returns for this session's request.
    fn capture_as(
        &self,
        target: Target,
        filter: Option<&FilterData>,
        values: impl Fn(&Enablement) -> (Shown, Guid),
    ) -> NtStatus {
        let id = self.core.id();
        self.engine.control(target, filter, |state| {
            if self.core.is_stopped() {
                return Err(NtStatus::WmiInstanceNotFound);
            }
            let Some((shown, source)) = state.enablement(target, id).map(&values) else {
                return Ok(Vec::new());
            };
            let registrations = state.registrations_of(target);
            Ok(registrations
                .filter_map(|(handle, registration)| Delivery::for_capture(handle, registration, shown, source))
                .collect())
        })
    }

    /// Stops the session. It captures nothing from now on, and everything it enabled is disabled with callbacks. The
    /// captured events stay readable.
    ///
    /// Inside a callback of an enabled provider this records a finding and returns `PossibleDeadlock`. That provider
    /// keeps the request until the session is stopped again outside the callback.
    pub fn stop(&self) -> NtStatus {
        self.end();
        let targets = read(&self.engine.inner().state).targets_of(self.core.id());
        targets
            .into_iter()
            .map(|target| self.disable(target))
            .fold(NtStatus::Success, |worst, status| if worst.is_success() { status } else { worst })
    }

    /// Replaces the set of providers that a group request of this session does not enable. The callbacks of affected
    /// providers run.
    pub(crate) fn set_disallow_list(&self, providers: &BTreeSet<Guid>) -> NtStatus {
        let id = self.core.id();
        let before: BTreeSet<Guid> = read(&self.engine.inner().state).disallowed(id).into_iter().collect();
        let mut worst = NtStatus::Success;
        for &provider in before.symmetric_difference(providers) {
            let target = Target::Provider(provider);
            let status = self.engine.control(target, None, |state| {
                let mut list: BTreeSet<Guid> = state.disallowed(id).into_iter().collect();
                if providers.contains(&provider) {
                    list.insert(provider)
                } else {
                    list.remove(&provider)
                };
                state.set_disallowed(id, list);
                Ok(report_if(state, target, Guid::ZERO, |state, registration| {
                    registration.group.is_some_and(|group| state.enablement(Target::Group(group), id).is_some())
                }))
            });
            worst = if worst.is_success() { status } else { worst };
        }
        worst
    }
}

/// Converts a status of this module into a Win32 error.
fn win32(status: NtStatus) -> Result<(), Win32Error> {
    match status {
        NtStatus::Success => Ok(()),
        NtStatus::WmiInstanceNotFound => Err(Win32Error::WmiInstanceNotFound),
        NtStatus::InsufficientResources => Err(Win32Error::NoSystemResources),
        NtStatus::PossibleDeadlock => Err(Win32Error::PossibleDeadlock),
        _ => Err(Win32Error::InvalidParameter),
    }
}

/// Returns the callbacks that report the merged request of all sessions to every registration of `target`.
fn report(state: &State, target: Target, source: Guid) -> Vec<Delivery> {
    report_if(state, target, source, |_, _| true)
}

/// [`report`], limited to the registrations for which `concerned` returns true.
fn report_if(
    state: &State,
    target: Target,
    source: Guid,
    concerned: impl Fn(&State, &Registration) -> bool,
) -> Vec<Delivery> {
    state
        .registrations_of(target)
        .filter(|(_, registration)| concerned(state, registration))
        .filter_map(|(handle, registration)| Delivery::for_merged(state, handle, registration, source))
        .collect()
}

impl Engine {
    /// Changes the tables and runs the callbacks, all inside the gates of the providers that `target` refers to.
    fn control(
        &self,
        target: Target,
        filter: Option<&FilterData>,
        mut change: impl FnMut(&mut State) -> Result<Vec<Delivery>, NtStatus>,
    ) -> NtStatus {
        loop {
            let providers = read(&self.inner().state).providers_of(target);
            let pass = match self.enter_gates(providers, Attempt::Control) {
                Ok(pass) => pass,
                Err(status) => return status,
            };
            let changed = {
                let mut state = self.inner().write_state();
                // A provider may have joined the group while this thread waited. Its gate is needed too.
                if !pass.covers(&state.providers_of(target)) {
                    continue;
                }
                change(&mut state)
            };
            return match changed {
                Ok(deliveries) => {
                    for delivery in deliveries {
                        delivery.deliver(filter);
                    }
                    NtStatus::Success
                }
                Err(status) => status,
            };
        }
    }
}
