//! `TraceSetInformation`: checks limits, keeps values and applies them.

use std::sync::atomic::{AtomicBool, Ordering};

use etw_types::Win32Error;
use etw_types::session::TraceInfoClass;
use etw_types::session::info::{
    DisallowList, Facts, Information, PeriodicCapture, PmcCounters, Privilege, ProfileSourcesInUse, Refused,
    SampleInterval, Settable, Setting, UnifiedStackCaching,
};

use super::check::Function;
use crate::sync::lock;
use crate::timer;
use crate::{Engine, Session, SetInformation};

impl Engine {
    /// `TraceSetInformation`: sets a value on a session, or on the machine if the handle is 0.
    ///
    /// # Errors
    ///
    /// `BadLength` for data shorter than the minimum of the class, `InvalidParameter` for a handle of the wrong kind or
    /// a value beyond its limit, `NotSupported` for a class that cannot be set, `WmiInstanceNotFound` for a session that
    /// is not running, `Busy` if another component owns the counters, `PrivilegeNotHeld`, `AccessDenied`, and those of
    /// [`Answers`](crate::Answers).
    pub fn set_trace_information_bytes(
        &self,
        handle: u64,
        class: TraceInfoClass,
        data: &[u8],
    ) -> Result<(), Win32Error> {
        let facts = self.check_class(class, Function::Set, handle)?;
        let setting = facts.set.ok_or(Win32Error::NotSupported)?;
        self.check_length(&setting, data.len())?;
        let session = if facts.is_of_session() { Some(self.session_for(facts, handle)?) } else { None };
        if setting.privilege == Privilege::Needed && !self.options().rights.profile {
            return Err(Win32Error::PrivilegeNotHeld);
        }
        let data = (setting.accept)(data).map_err(|refused| match refused {
            Refused::Malformed(_) => self.options().answers.odd_length,
            Refused::Limit(limit) => limit.code(),
        })?;
        match session {
            Some(session) => session.apply(facts, data),
            None => self.apply(facts, data),
        }
    }

    /// [`set_trace_information_bytes`](Self::set_trace_information_bytes) with a value.
    ///
    /// # Errors
    ///
    /// The same.
    pub fn set_trace_information<T: Settable>(&self, handle: u64, value: &T) -> Result<(), Win32Error> {
        self.set_trace_information_bytes(handle, T::CLASS, &value.encode())
    }

    fn check_length(&self, setting: &Setting, length: usize) -> Result<(), Win32Error> {
        match length {
            length if setting.length.takes(length) => Ok(()),
            length if length < setting.length.least => Err(Win32Error::BadLength),
            _ => Err(self.options().answers.odd_length),
        }
    }

    /// Applies and keeps a value of the machine.
    fn apply(&self, facts: &Facts, data: Vec<u8>) -> Result<(), Win32Error> {
        match facts.class {
            TraceInfoClass::SampledProfileIntervalInfo => return self.set_interval(decoded(&data)?),
            TraceInfoClass::ProfileSourceConfigInfo => self.check_sources(&decoded(&data)?)?,
            _ => {}
        }
        lock(&self.inner().machine).values.keep(facts.class, data);
        Ok(())
    }

    /// Keeps an interval for each source. Our choice: a value out of range is clamped.
    fn set_interval(&self, interval: SampleInterval) -> Result<(), Win32Error> {
        let source = self.options().profile_sources.iter().find(|source| source.source == interval.source);
        let source = source.ok_or(Win32Error::InvalidParameter)?;
        let least = source.min_interval.min(source.max_interval);
        let clamped = interval.interval.clamp(least, source.max_interval);
        lock(&self.inner().machine).intervals.insert(interval.source, clamped);
        Ok(())
    }

    fn check_sources(&self, ProfileSourcesInUse(sources): &ProfileSourcesInUse) -> Result<(), Win32Error> {
        let exists = |source: &u32| self.options().profile_sources.iter().any(|other| other.source == *source);
        within(sources.iter().all(exists))
    }
}

/// Decodes data that was accepted.
fn decoded<T: Information>(data: &[u8]) -> Result<T, Win32Error> {
    T::decode(data).map_err(|_| Win32Error::InvalidParameter)
}

/// The error of a value beyond a limit of this machine.
fn within(is_within: bool) -> Result<(), Win32Error> {
    if is_within { Ok(()) } else { Err(Win32Error::InvalidParameter) }
}

impl Session {
    /// Returns everything that was set on this session.
    #[must_use]
    pub fn information(&self) -> SetInformation {
        lock(&self.core.information).clone()
    }

    /// [`Engine::set_trace_information`] on this session.
    ///
    /// # Errors
    ///
    /// The same as [`Engine::set_trace_information`].
    pub fn set_information<T: Settable>(&self, value: &T) -> Result<(), Win32Error> {
        self.engine.set_trace_information(self.handle(), value)
    }

    /// Applies and keeps a value of a session. What is refused changes nothing, so every check comes first; what reads
    /// the value again, such as a timer or the routes, is told after it was kept.
    fn apply(&self, facts: &Facts, data: Vec<u8>) -> Result<(), Win32Error> {
        let options = self.engine.options();
        let class = facts.class;
        match class {
            TraceInfoClass::PmcEventListInfo => self.set_once(0)?,
            TraceInfoClass::PmcCounterListInfo => {
                let PmcCounters(counters) = decoded(&data)?;
                within(counters.len() <= usize::try_from(options.pmc_counters).unwrap_or(usize::MAX))?;
                self.set_once(1)?;
            }
            TraceInfoClass::PeriodicCaptureStateListInfo if !data.is_empty() => {
                let capture: PeriodicCapture = decoded(&data)?;
                within(capture.seconds() >= options.periodic_seconds)?;
                within(capture.providers().len() <= usize::from(options.periodic_providers))?;
            }
            TraceInfoClass::SetDisallowList => self.disallow(decoded(&data)?)?,
            TraceInfoClass::UnifiedStackCachingInfo => {
                let caching: UnifiedStackCaching = decoded(&data)?;
                self.core.stacks().set_enabled(caching.enabled);
            }
            _ => {}
        }
        let period = lock(&self.core.information).keep(class, data).get::<PeriodicCapture>();
        match class {
            // Outdates the routes, through which writers see the new list.
            TraceInfoClass::StackTracingInfo => drop(self.engine.inner().write_state()),
            TraceInfoClass::PeriodicCaptureStateListInfo => {
                let seconds = period.map(|capture| capture.seconds());
                self.core.set_period(self.engine.now(), seconds);
                if seconds.is_some() {
                    self.engine.start_timer();
                }
            }
            TraceInfoClass::ProviderBinaryTracking => self.engine.report_binaries(),
            _ => {}
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
    fn disallow(&self, DisallowList(providers): DisallowList) -> Result<(), Win32Error> {
        let status = self.set_disallow_list(&providers.into_iter().collect());
        if status.is_success() { Ok(()) } else { Err(Win32Error::PossibleDeadlock) }
    }

    /// Requests the state of every provider of class 16 once, as [`Engine::run_timers`] does when the period has
    /// elapsed.
    pub fn capture_periodic(&self) {
        let capture = self.information().get::<PeriodicCapture>().unwrap_or_default();
        timer::each(capture.providers().to_vec(), |provider| {
            self.capture_state(provider);
        });
    }
}
