//! Session control: enable, disable, ask for state, stop.
//!
//! Every change goes through the gates of the GUIDs that it reports to, then changes the tables, then calls back. The
//! statuses of a stopped session and of a ninth session are those of `EnableTraceEx2` in the kernel's terms; that
//! disabling or asking what is not enabled succeeds without effect is a choice of ours.

use std::sync::Arc;

use etw_types::{Guid, NtStatus};

use crate::enable::{Settings, Target};
use crate::finding::Attempt;
use crate::notify::Delivery;
use crate::state::{Enablement, State};
use crate::sync::{read, write};
use crate::{Enable, Engine, Filter, Session};

/// How many sessions can enable one provider.
const SESSIONS_PER_PROVIDER: usize = 8;

/// `STATUS_WMI_INSTANCE_NOT_FOUND`: the session is not running.
const NO_SUCH_SESSION: NtStatus = NtStatus::from_int(0xC000_0297);

impl Session {
    /// Asks for events of a provider, or of every provider of a group; a second request replaces the first. The
    /// callbacks of all registrations concerned run before this returns, with what all sessions together want now.
    ///
    /// Answers `STATUS_WMI_INSTANCE_NOT_FOUND` (0xC0000297) once stopped, `InsufficientResources` for the ninth session
    /// of one provider, and `PossibleDeadlock`, with a finding and without effect, inside a callback of the provider.
    #[expect(clippy::needless_pass_by_value, reason = "a request is written in place, as a literal")]
    pub fn enable(&self, target: impl Into<Target>, enable: Enable) -> NtStatus {
        let target = target.into().with_property(enable.property);
        let id = self.core.id();
        let enablement =
            Enablement { session: Arc::clone(&self.core), settings: Settings::new(&enable), source: enable.source };
        self.engine.control(target, enable.filter.as_ref(), |state| {
            if self.core.is_stopped() {
                return Err(NO_SUCH_SESSION);
            }
            if state.enablement(target, id).is_none() && state.sessions_of(target) >= SESSIONS_PER_PROVIDER {
                return Err(NtStatus::InsufficientResources);
            }
            state.set_enablement(target, enablement.clone());
            Ok(report(state, target, enablement.source))
        })
    }

    /// Takes the request back. Where other sessions remain the callbacks see what those want, else they see the
    /// control code for disabled.
    pub fn disable(&self, target: impl Into<Target>) -> NtStatus {
        let target = target.into();
        let id = self.core.id();
        self.engine.control(target, None, |state| {
            let source = state.enablement(target, id).map_or(Guid::ZERO, |enablement| enablement.source);
            if state.remove_enablement(target, id) { Ok(report(state, target, source)) } else { Ok(Vec::new()) }
        })
    }

    /// Asks every registration that this session enabled for its state; the callbacks see this session's own level and
    /// masks.
    pub fn capture_state(&self, target: impl Into<Target>) -> NtStatus {
        let target = target.into();
        let id = self.core.id();
        self.engine.control(target, None, |state| {
            if self.core.is_stopped() {
                return Err(NO_SUCH_SESSION);
            }
            let Some(enablement) = state.enablement(target, id) else {
                return Ok(Vec::new());
            };
            let shown = enablement.settings.shown();
            Ok(state
                .registrations_of(target)
                .filter_map(|(handle, registration)| {
                    Delivery::of_capture(handle, registration, shown, enablement.source)
                })
                .collect())
        })
    }

    /// Stops the session: it captures nothing from here on, and everything it enabled is disabled with callbacks. What
    /// it captured stays readable.
    ///
    /// Inside a callback of an enabled provider this answers `PossibleDeadlock` with a finding; that provider keeps the
    /// request until the session is stopped again from outside.
    pub fn stop(&self) -> NtStatus {
        self.core.mark_stopped();
        let targets = read(&self.engine.inner().state).targets_of(self.core.id());
        targets
            .into_iter()
            .map(|target| self.disable(target))
            .fold(NtStatus::Success, |worst, status| if worst.is_success() { status } else { worst })
    }
}

/// The callbacks that tell every registration of `target` what all sessions together want.
fn report(state: &State, target: Target, source: Guid) -> Vec<Delivery> {
    state
        .registrations_of(target)
        .filter_map(|(handle, registration)| Delivery::of_merged(state, handle, registration, source))
        .collect()
}

impl Engine {
    /// Changes the tables and calls back, all behind the gates of the providers that `target` stands for.
    fn control(
        &self,
        target: Target,
        filter: Option<&Filter>,
        mut change: impl FnMut(&mut State) -> Result<Vec<Delivery>, NtStatus>,
    ) -> NtStatus {
        loop {
            let providers = read(&self.inner().state).providers_of(target);
            let pass = match self.enter_gates(providers, Attempt::Control) {
                Ok(pass) => pass,
                Err(status) => return status,
            };
            let changed = {
                let mut state = write(&self.inner().state);
                // A provider may have joined the group while this thread waited: then its gate is needed too.
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
