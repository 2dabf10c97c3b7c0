//! What kind of system an engine is: its size, its version, its rights, and the answers that nobody documents.

use std::fmt;
use std::sync::Arc;
use std::thread;

use etw_types::Win32Error;

use crate::environment::{Environment, ThisProcess};

/// What kind of system an [`Engine`](crate::Engine) is.
#[derive(Clone)]
pub struct EngineOptions {
    /// Processors: each has buffers of its own in a session.
    pub processors: u16,
    /// How many sessions can run (`EtwMaxLoggers`, 32 to 256 on Windows).
    pub max_sessions: usize,
    /// How many of them can take events of the system providers.
    pub max_system_sessions: usize,
    /// How many sessions can enable one provider.
    pub max_sessions_per_provider: usize,
    /// The build of Windows: classes that came later are unknown.
    pub os_build: u32,
    /// What the caller may do.
    pub rights: Rights,
    /// The sources that the profiler knows.
    pub profile_sources: Vec<ProfileSource>,
    /// Counters of each processor.
    pub pmc_counters: u32,
    /// Whether somebody else owns the counters.
    pub pmc_taken: bool,
    /// The shortest time between two periodic requests for state, in seconds. Our choice: Windows says to ask.
    pub periodic_seconds: u32,
    /// How many providers can be asked periodically. Our choice as well.
    pub periodic_providers: u16,
    /// The type of the extended item that gets the sequence number of an event in a session with such numbers. Our choice: by
    /// default none does, as only messages have a documented place for one; see
    /// [`Session::trace_message`](crate::Session::trace_message).
    pub event_sequence: Option<u16>,
    /// Answers that are not documented.
    pub answers: Answers,
    /// Whether calls are recorded from the start; see [`Engine::record_calls`](crate::Engine::record_calls).
    pub record_calls: bool,
    /// The system around the engine.
    pub environment: Arc<dyn Environment>,
}

/// What a caller may do. The default is everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// Control sessions: an administrator, or a member of Performance Log Users.
    pub control: bool,
    /// Change the profiler: the profile privilege.
    pub profile: bool,
}

impl Default for Rights {
    fn default() -> Self {
        Self { control: true, profile: true }
    }
}

/// A source of samples or counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileSource {
    /// Its number; 0 is the timer.
    pub source: u32,
    /// Smallest interval.
    pub min_interval: u32,
    /// Largest interval.
    pub max_interval: u32,
    /// Its name.
    pub description: String,
}

/// The answers to calls whose failure no document describes, or which documents describe differently. All are choices
/// of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answers {
    /// A second list of counter events or counters for one session.
    pub second_pmc_list: Win32Error,
    /// An information class or a control code that came with a later build.
    pub newer_class: Win32Error,
    /// Data whose length is no multiple of its elements, or does not match a count within.
    pub odd_length: Win32Error,
    /// A buffer too short for an answer of variable length.
    pub short_buffer: Win32Error,
    /// A class for sessions of the system providers on another session.
    pub not_a_system_session: Win32Error,
    /// Enabling a provider that is not registered. `EnableTraceEx2` documents `InvalidFunction`; Windows is known to
    /// keep the request for later, and so does the engine.
    pub unregistered: Win32Error,
    /// A filter that does not have its layout or is beyond its limit.
    pub bad_filter: Win32Error,
    /// An update that names the file that is written already.
    pub same_file: Win32Error,
    /// A query of the events with stacks (class 3). Learn documents that it returns the list, which is `Success` here; Tracy's
    /// authors saw `NotSupported` on Windows.
    pub stack_tracing_query: Win32Error,
}

impl Default for Answers {
    fn default() -> Self {
        Self {
            second_pmc_list: Win32Error::InvalidParameter,
            newer_class: Win32Error::InvalidParameter,
            odd_length: Win32Error::BadLength,
            short_buffer: Win32Error::InsufficientBuffer,
            not_a_system_session: Win32Error::InvalidParameter,
            unregistered: Win32Error::Success,
            bad_filter: Win32Error::InvalidParameter,
            same_file: Win32Error::BadPathname,
            stack_tracing_query: Win32Error::Success,
        }
    }
}

impl Default for EngineOptions {
    fn default() -> Self {
        let timer =
            ProfileSource { source: 0, min_interval: 1221, max_interval: 10_000_000, description: "Timer".to_owned() };
        let processors = thread::available_parallelism().map_or(1, |count| u16::try_from(count.get()).unwrap_or(1));
        Self {
            processors,
            max_sessions: 64,
            max_system_sessions: 8,
            max_sessions_per_provider: 8,
            os_build: 26_100,
            rights: Rights::default(),
            profile_sources: vec![timer],
            pmc_counters: 4,
            pmc_taken: false,
            periodic_seconds: 60,
            periodic_providers: 16,
            event_sequence: None,
            answers: Answers::default(),
            record_calls: true,
            environment: Arc::new(ThisProcess),
        }
    }
}

impl fmt::Debug for EngineOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineOptions")
            .field("processors", &self.processors)
            .field("max_sessions", &self.max_sessions)
            .field("os_build", &self.os_build)
            .finish_non_exhaustive()
    }
}
