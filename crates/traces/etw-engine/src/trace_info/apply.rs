//! `TraceSetInformation`: checks limits and applies values.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use etw_types::session::{
    LBR_MAXIMUM_EVENTS, MAX_STACK_TRACING_EVENTS, PeriodicCaptureStateInfo, ProfileInterval, TraceInfoClass,
};
use etw_types::{Guid, Win32Error};

use super::class::Function;
use super::set::SetInformation;
use crate::sync::lock;
use crate::timer;
use crate::{Engine, Session, SessionInformation};

/// Control and integer registers. Currently both must be requested.
const CONTROL_AND_INTEGER: u32 = 3;
/// Bits of `TRACE_LBR_CONFIGURATION_*`.
const LBR_BITS: u32 = 0x7FF;

impl Engine {
    /// `TraceSetInformation` over bytes.
    ///
    /// # Errors
    ///
    /// See [`SetInformation::parse`] and [`Engine::set_trace_information`].
    pub fn set_trace_information_bytes(
        &self,
        handle: u64,
        class: TraceInfoClass,
        data: &[u8],
    ) -> Result<(), Win32Error> {
        self.check_class(class, Function::Set, handle)?;
        let information = SetInformation::parse(class, data, self.options().answers.odd_length)?;
        self.set_trace_information(handle, information)
    }

    /// `TraceSetInformation`: sets a value on a session, or on the machine if the handle is 0.
    ///
    /// # Errors
    ///
    /// `InvalidParameter` for a handle of the wrong kind or a value beyond its limit, `WmiInstanceNotFound` for a
    /// session that is not running, `Busy` if another component owns the counters, `PrivilegeNotHeld`, `AccessDenied`,
    /// and those of [`Answers`](crate::Answers).
    pub fn set_trace_information(&self, handle: u64, information: SetInformation) -> Result<(), Win32Error> {
        let class = information.class();
        self.check_class(class, Function::Set, handle)?;
        match information {
            SetInformation::ProfileInterval(interval) => self.set_interval(interval),
            SetInformation::ProfileSources(sources) => self.set_sources(sources),
            other => self.session_for(class, handle)?.apply(other),
        }
    }

    fn set_interval(&self, interval: ProfileInterval) -> Result<(), Win32Error> {
        if !self.options().rights.profile {
            return Err(Win32Error::PrivilegeNotHeld);
        }
        let source = self.options().profile_sources.iter().find(|source| source.source == interval.source);
        // Our choice: a value out of range is clamped.
        let source = source.ok_or(Win32Error::InvalidParameter)?;
        let least = source.min_interval.min(source.max_interval);
        let interval = (interval.source, interval.interval.clamp(least, source.max_interval));
        lock(&self.inner().machine).intervals.extend([interval]);
        Ok(())
    }

    fn set_sources(&self, sources: Vec<u32>) -> Result<(), Win32Error> {
        if !self.options().rights.profile {
            return Err(Win32Error::PrivilegeNotHeld);
        }
        let known = |source: &u32| self.options().profile_sources.iter().any(|known| known.source == *source);
        if !sources.iter().all(known) {
            return Err(Win32Error::InvalidParameter);
        }
        lock(&self.inner().machine).sources = sources;
        Ok(())
    }
}

impl Session {
    /// Returns everything that was set on this session.
    #[must_use]
    pub fn information(&self) -> SessionInformation {
        lock(&self.core.information).clone()
    }

    /// [`Engine::set_trace_information`] on this session.
    ///
    /// # Errors
    ///
    /// The same as [`Engine::set_trace_information`].
    pub fn set_information(&self, information: SetInformation) -> Result<(), Win32Error> {
        self.engine.set_trace_information(self.handle(), information)
    }

    fn apply(&self, value: SetInformation) -> Result<(), Win32Error> {
        let options = self.engine.options();
        let limit = |is_within: bool| if is_within { Ok(()) } else { Err(Win32Error::InvalidParameter) };
        let mut information = lock(&self.core.information);
        match value {
            SetInformation::StackTracing(events) => {
                limit(events.len() <= MAX_STACK_TRACING_EVENTS)?;
                information.stack_tracing = events;
                drop(information);
                // Outdates the routes, through which writers see the new list.
                drop(self.engine.inner().write_state());
            }
            SetInformation::SystemFlags(mask) => information.system_flags = mask,
            SetInformation::PmcEvents(events) => {
                self.set_once(0)?;
                information.pmc_events = events;
            }
            SetInformation::PmcCounters(counters) => {
                limit(counters.len() <= usize::try_from(options.pmc_counters).unwrap_or(usize::MAX))?;
                self.set_once(1)?;
                information.pmc_counters = counters;
            }
            SetInformation::DisallowList(providers) => {
                drop(information);
                return self.disallow(&providers.into_iter().collect());
            }
            SetInformation::PeriodicCapture(_, providers) if providers.is_empty() => {
                information.periodic_capture = None;
                self.core.set_period(0, None);
            }
            SetInformation::PeriodicCapture(seconds, providers) => {
                limit(seconds >= options.periodic_seconds)?;
                limit(providers.len() <= usize::from(options.periodic_providers))?;
                let provider_count = u16::try_from(providers.len()).unwrap_or(u16::MAX);
                let info = PeriodicCaptureStateInfo { seconds, provider_count, reserved: 0 };
                information.periodic_capture = Some((info, providers));
                self.core.set_period(self.engine.now(), Some(seconds));
                drop(information);
                self.engine.start_timer();
            }
            SetInformation::BinaryTracking(tracked) => {
                information.binary_tracking = tracked;
                drop(information);
                self.engine.report_binaries();
            }
            SetInformation::LbrConfiguration(bits) => {
                limit(bits & !LBR_BITS == 0)?;
                information.lbr_configuration = Some(bits);
            }
            SetInformation::LbrEvents(events) => {
                limit(events.len() <= LBR_MAXIMUM_EVENTS)?;
                information.lbr_events = events;
            }
            SetInformation::StackCaching(caching) => information.stack_caching = Some(caching),
            SetInformation::UnifiedStackCaching(caching) => {
                self.core.stacks().set_enabled(caching.enabled != 0);
                information.unified_stack_caching = Some(caching);
            }
            SetInformation::ContextRegisters(info, events) => {
                limit(info.register_types == CONTROL_AND_INTEGER)?;
                information.context_registers = Some((info, events));
            }
            // `set_trace_information` handles machine-wide values.
            SetInformation::ProfileInterval(_) | SetInformation::ProfileSources(_) => limit(false)?,
        }
        Ok(())
    }

    /// Checks that class 8 or 9 was not set before on this session, and that no other component owns the counters.
    fn set_once(&self, which: usize) -> Result<(), Win32Error> {
        let options = self.engine.options();
        if options.pmc_taken {
            return Err(Win32Error::Busy);
        }
        let was_set = self.core.pmc_set.get(which).is_some_and(|set: &AtomicBool| set.swap(true, Ordering::AcqRel));
        if was_set { Err(options.answers.second_pmc_list) } else { Ok(()) }
    }

    /// Replaces the list of providers that groups do not enable here, and runs the callbacks of affected providers.
    fn disallow(&self, providers: &BTreeSet<Guid>) -> Result<(), Win32Error> {
        let status = self.set_disallow_list(providers);
        if status.is_success() { Ok(()) } else { Err(Win32Error::PossibleDeadlock) }
    }

    /// Requests the state of every provider of class 16 once, as [`Engine::run_timers`] does when the period has
    /// elapsed.
    pub fn capture_periodic(&self) {
        let providers = lock(&self.core.information).periodic_capture.clone().map(|(_, providers)| providers);
        timer::each(providers.unwrap_or_default(), |provider| {
            self.capture_state(provider);
        });
    }
}
