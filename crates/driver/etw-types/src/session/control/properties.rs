//! The properties of a session to be started.

use std::borrow::ToOwned;
use std::path::{Path, PathBuf};
use std::string::String;
use std::time::Duration;

use super::rules;
use crate::Guid;
use crate::session::{ClockType, KERNEL_LOGGER_NAME, Limit, mode};

/// The properties of a session to be started. With zero and `None`, the system chooses a value.
///
/// The mode of [`new`](Self::new) is `INDEPENDENT_SESSION`. Without it, an event that cannot be written to one session
/// is not written to the others either.
///
/// ```
/// use etw_types::session::Properties;
///
/// let properties = Properties::new("MyDriver").file("trace.etl").real_time().buffers(64, 8, 32);
/// assert!(properties.check().is_ok());
///
/// let wrong = Properties::new("MyDriver").file("trace.etl").circular(0);
/// assert_eq!(wrong.check().unwrap_err().to_string(), "a circular, numbered or preallocated file needs a maximum size");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties {
    /// The session's name.
    pub name: String,
    /// The session's GUID.
    pub guid: Guid,
    /// Size of a buffer in KiB.
    pub buffer_kib: u32,
    /// Minimum number of buffers, allocated at the start.
    pub minimum_buffers: u32,
    /// Maximum number of buffers.
    pub maximum_buffers: u32,
    /// Maximum size of the file, in MiB, or in KiB with `USE_KBYTES_FOR_SIZE`.
    pub maximum_file_size: u32,
    /// `EVENT_TRACE_*_MODE`.
    pub mode: u32,
    /// Time between flushes, in seconds, or in milliseconds with `USE_MS_FLUSH_TIMER`.
    pub flush_timer: u32,
    /// `EVENT_TRACE_FLAG_*` for the system providers.
    pub enable_flags: u32,
    /// The clock of the time stamps.
    pub clock: ClockType,
    /// The log file.
    pub log_file: Option<PathBuf>,
}

impl Properties {
    /// Creates the properties of a session with this name. It also needs a destination: [`file`](Self::file),
    /// [`real_time`](Self::real_time) or [`buffering`](Self::buffering).
    #[must_use]
    pub fn new(name: &str) -> Self {
        let mode = mode::INDEPENDENT_SESSION;
        let clock = ClockType::PerformanceCounter;
        Self { name: name.to_owned(), mode, clock, ..Self::default() }
    }

    /// Creates the properties of a session that writes a sequential file, with no other mode.
    #[must_use]
    pub fn to_file(name: &str, path: impl AsRef<Path>) -> Self {
        let log_file = Some(path.as_ref().to_owned());
        Self { name: name.to_owned(), log_file, mode: mode::SEQUENTIAL, ..Self::default() }
    }

    /// Creates the properties of a session that delivers to real-time consumers, with no other mode.
    #[must_use]
    pub fn to_consumers(name: &str) -> Self {
        Self { name: name.to_owned(), mode: mode::REAL_TIME, ..Self::default() }
    }

    /// Creates the properties of a session that keeps its newest events in memory, with no other mode.
    #[must_use]
    pub fn in_memory(name: &str) -> Self {
        Self { name: name.to_owned(), mode: mode::BUFFERING, ..Self::default() }
    }

    /// Writes events to a file.
    #[must_use]
    pub fn file(mut self, path: impl AsRef<Path>) -> Self {
        self.log_file = Some(path.as_ref().to_owned());
        self
    }

    /// Delivers events to consumers in real time.
    #[must_use]
    pub const fn real_time(self) -> Self {
        self.mode(mode::REAL_TIME)
    }

    /// Keeps the newest events in memory.
    #[must_use]
    pub const fn buffering(self) -> Self {
        self.mode(mode::BUFFERING)
    }

    /// Stops writing when the file has this many MiB.
    #[must_use]
    pub const fn sequential(mut self, max_mib: u32) -> Self {
        self.maximum_file_size = max_mib;
        self.mode(mode::SEQUENTIAL)
    }

    /// Overwrites the oldest events when the file has this many MiB.
    #[must_use]
    pub const fn circular(mut self, max_mib: u32) -> Self {
        self.maximum_file_size = max_mib;
        self.mode(mode::CIRCULAR)
    }

    /// Starts a new file after this many MiB. The file's name must contain `%d`, which is replaced by a number.
    #[must_use]
    pub const fn numbered_files(mut self, max_mib: u32) -> Self {
        self.maximum_file_size = max_mib;
        self.mode(mode::NEWFILE)
    }

    /// Sets the size of a buffer in KiB, and the minimum and maximum number of buffers.
    #[must_use]
    pub const fn buffers(mut self, kib: u32, minimum: u32, maximum: u32) -> Self {
        self.buffer_kib = kib;
        self.minimum_buffers = minimum;
        self.maximum_buffers = maximum;
        self
    }

    /// Sets the time between flushes. It is stored in seconds if it is a whole number of them, otherwise in
    /// milliseconds.
    #[must_use]
    pub fn flush_every(mut self, time: Duration) -> Self {
        if time.subsec_nanos() == 0 {
            self.flush_timer = u32::try_from(time.as_secs()).unwrap_or(u32::MAX);
            self.mode &= !mode::USE_MS_FLUSH_TIMER;
            self
        } else {
            self.flush_timer = u32::try_from(time.as_millis()).unwrap_or(u32::MAX).max(1);
            self.mode(mode::USE_MS_FLUSH_TIMER)
        }
    }

    /// Sets the clock of the time stamps.
    #[must_use]
    pub const fn clock(mut self, clock: ClockType) -> Self {
        self.clock = clock;
        self
    }

    /// Collects events of the system providers. `flags` are `EVENT_TRACE_FLAG_*`.
    #[must_use]
    pub const fn system_logger(mut self, flags: u32) -> Self {
        self.enable_flags = flags;
        self.mode(mode::SYSTEM_LOGGER)
    }

    /// Adds bits of `EVENT_TRACE_*_MODE`.
    #[must_use]
    pub const fn mode(mut self, bits: u32) -> Self {
        self.mode |= bits;
        self
    }

    /// Removes bits of `EVENT_TRACE_*_MODE`.
    #[must_use]
    pub const fn without_mode(mut self, bits: u32) -> Self {
        self.mode &= !bits;
        self
    }

    /// Sets the session's GUID.
    #[must_use]
    pub const fn guid(mut self, guid: Guid) -> Self {
        self.guid = guid;
        self
    }

    /// Checks every rule, including those about values that the system would adjust to their limits.
    ///
    /// # Errors
    ///
    /// Returns the first rule that is violated.
    pub fn check(&self) -> Result<(), Limit> {
        rules::check(self, |_| true)
    }

    /// Checks the rules that `StartTrace` enforces.
    ///
    /// # Errors
    ///
    /// Returns the first rule that is violated.
    pub fn check_enforced(&self) -> Result<(), Limit> {
        rules::check(self, |rule| rule.is_enforced)
    }

    /// Returns whether this is the session "NT Kernel Logger".
    #[must_use]
    pub fn is_kernel_logger(&self) -> bool {
        self.name.eq_ignore_ascii_case(KERNEL_LOGGER_NAME)
    }

    /// Returns whether the session collects events of the system providers.
    #[must_use]
    pub fn is_system(&self) -> bool {
        self.is_kernel_logger() || self.mode & mode::SYSTEM_LOGGER != 0
    }

    /// Returns the file's name as it is written into a block.
    pub(super) fn file_name(&self) -> Option<String> {
        self.log_file.as_ref().map(|path| path.to_string_lossy().into_owned())
    }
}
