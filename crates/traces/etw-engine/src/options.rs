//! The system that an engine emulates: its size, its version, its rights, and the results that are not documented.

use std::fmt;
use std::sync::Arc;
use std::thread;

use etw_types::Win32Error;
use etw_types::session::info::ProfileSource;

use crate::environment::{Environment, ThisProcess};

/// The system that an [`Engine`](crate::Engine) emulates.
#[derive(Clone)]
pub struct EngineOptions {
    /// The number of processors. Each has its own buffers in a session.
    pub processors: u16,
    /// The maximum number of running sessions (`EtwMaxLoggers`, 32 to 256 on Windows).
    pub max_sessions: usize,
    /// The maximum number of sessions that can receive events of the system providers.
    pub max_system_sessions: usize,
    /// The maximum number of sessions that can enable one provider. 8 on Windows. A number above 32 counts as 32.
    pub max_sessions_per_provider: usize,
    /// The build of Windows. Classes of later builds are unknown.
    pub os_build: u32,
    /// What the caller may do.
    pub rights: Rights,
    /// The profile sources of the system.
    pub profile_sources: Vec<ProfileSource>,
    /// The number of performance counters of each processor.
    pub pmc_counters: u32,
    /// Whether another component owns the performance counters.
    pub pmc_taken: bool,
    /// The shortest period of the periodic capture state, in seconds. Our choice: Windows has a query for its limit.
    pub periodic_seconds: u32,
    /// The maximum number of providers with a periodic capture state. Also our choice.
    pub periodic_providers: u16,
    /// The type of the extended item that receives the sequence number of an event, in a session with sequence numbers.
    /// `None` by default (our choice), because only messages have a documented place for the number; see
    /// [`Session::trace_message`](crate::Session::trace_message).
    pub event_sequence: Option<u16>,
    /// Results that are not documented.
    pub answers: Answers,
    /// Whether calls are recorded from the start; see [`Engine::record_calls`](crate::Engine::record_calls).
    pub record_calls: bool,
    /// The system around the engine.
    pub environment: Arc<dyn Environment>,
}

/// What a caller may do. Everything by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// May control sessions: an administrator, or a member of Performance Log Users.
    pub control: bool,
    /// May change the profiler: has the profile privilege.
    pub profile: bool,
}

impl Default for Rights {
    fn default() -> Self {
        Self { control: true, profile: true }
    }
}

/// The error codes of calls whose failure is not documented, or is documented inconsistently. All of them are our
/// choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answers {
    /// A second list of counter events or counters for one session.
    pub second_pmc_list: Win32Error,
    /// An information class or a control code that came with a later build.
    pub newer_class: Win32Error,
    /// Data whose length is not a multiple of the element size, or does not match a count inside it.
    pub odd_length: Win32Error,
    /// A buffer that is too short for a result of variable length.
    pub short_buffer: Win32Error,
    /// A class for sessions of the system providers, used on another session.
    pub not_a_system_session: Win32Error,
    /// Enabling a provider that is not registered. `EnableTraceEx2` documents `InvalidFunction`; Windows is known to
    /// keep the request until the provider registers, and so does the engine.
    pub unregistered: Win32Error,
    /// A filter that is malformed or exceeds its limit.
    pub bad_filter: Win32Error,
    /// An update that names the file that is already being written.
    pub same_file: Win32Error,
    /// A query of the events with stacks (class 3). Microsoft Learn documents that it returns the list, which is
    /// `Success` here; the authors of Tracy observed `NotSupported` on Windows.
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
