//! What a session is asked to be.

use std::borrow::ToOwned;
use std::path::{Path, PathBuf};
use std::string::String;
use std::time::Duration;

use super::rules;
use crate::Guid;
use crate::session::{ClockType, KERNEL_LOGGER_NAME, Limit, mode};

/// The properties of a session to be started. Zero and `None` leave the choice to the system.
///
/// The default mode is `INDEPENDENT_SESSION`: without it, a provider that fails for one session loses events of the others.
///
/// ```
/// use etw_types::session::Properties;
///
/// let properties = Properties::new("MyDriver").file("trace.etl").real_time().buffers(64, 8, 32);
/// assert!(properties.check().is_ok());
///
/// let wrong = Properties::new("MyDriver").file("trace.etl").circular(0);
/// assert_eq!(wrong.check().unwrap_err().to_string(), "a circular, numbered or preallocated file needs a largest size");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties {
    /// The session's name.
    pub name: String,
    /// The session's GUID.
    pub guid: Guid,
    /// KiB of a buffer.
    pub buffer_kib: u32,
    /// Buffers at the start.
    pub minimum_buffers: u32,
    /// Most buffers.
    pub maximum_buffers: u32,
    /// Largest file, in MiB or with that mode in KiB.
    pub maximum_file_size: u32,
    /// `EVENT_TRACE_*_MODE`.
    pub mode: u32,
    /// Seconds, or with that mode milliseconds, between two flushes.
    pub flush_timer: u32,
    /// `EVENT_TRACE_FLAG_*` of the system providers.
    pub enable_flags: u32,
    /// What time stamps count.
    pub clock: ClockType,
    /// The file.
    pub log_file: Option<PathBuf>,
}

impl Properties {
    /// A session of this name, which needs a way out: [`file`](Self::file), [`real_time`](Self::real_time) or
    /// [`buffering`](Self::buffering).
    #[must_use]
    pub fn new(name: &str) -> Self {
        let (mode, clock) = (mode::INDEPENDENT_SESSION, ClockType::PerformanceCounter);
        Self { name: name.to_owned(), mode, clock, ..Self::default() }
    }

    /// A session with a sequential file and no other mode.
    #[must_use]
    pub fn to_file(name: &str, path: impl AsRef<Path>) -> Self {
        let log_file = Some(path.as_ref().to_owned());
        Self { name: name.to_owned(), log_file, mode: mode::SEQUENTIAL, ..Self::default() }
    }

    /// A session that delivers to consumers, and has no other mode.
    #[must_use]
    pub fn to_consumers(name: &str) -> Self {
        Self { name: name.to_owned(), mode: mode::REAL_TIME, ..Self::default() }
    }

    /// A session that keeps its newest events in memory, and has no other mode.
    #[must_use]
    pub fn in_memory(name: &str) -> Self {
        Self { name: name.to_owned(), mode: mode::BUFFERING, ..Self::default() }
    }

    /// Writes a file.
    #[must_use]
    pub fn file(mut self, path: impl AsRef<Path>) -> Self {
        self.log_file = Some(path.as_ref().to_owned());
        self
    }

    /// Delivers to consumers while it runs.
    #[must_use]
    pub const fn real_time(self) -> Self {
        self.mode(mode::REAL_TIME)
    }

    /// Keeps the newest events in memory.
    #[must_use]
    pub const fn buffering(self) -> Self {
        self.mode(mode::BUFFERING)
    }

    /// Ends the file at so many MiB.
    #[must_use]
    pub const fn sequential(mut self, max_mib: u32) -> Self {
        self.maximum_file_size = max_mib;
        self.mode(mode::SEQUENTIAL)
    }

    /// Overwrites the oldest events once the file has so many MiB.
    #[must_use]
    pub const fn circular(mut self, max_mib: u32) -> Self {
        self.maximum_file_size = max_mib;
        self.mode(mode::CIRCULAR)
    }

    /// Begins another file every so many MiB. The file's name needs a `%d` for its number.
    #[must_use]
    pub const fn numbered_files(mut self, max_mib: u32) -> Self {
        self.maximum_file_size = max_mib;
        self.mode(mode::NEWFILE)
    }

    /// Size in KiB, least and most number of buffers.
    #[must_use]
    pub const fn buffers(mut self, kib: u32, minimum: u32, maximum: u32) -> Self {
        self.buffer_kib = kib;
        self.minimum_buffers = minimum;
        self.maximum_buffers = maximum;
        self
    }

    /// Flushes this often. Whole seconds where it is so, milliseconds otherwise.
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

    /// What time stamps count.
    #[must_use]
    pub const fn clock(mut self, clock: ClockType) -> Self {
        self.clock = clock;
        self
    }

    /// Takes events of the system providers; `flags` are `EVENT_TRACE_FLAG_*`.
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

    /// The session's GUID.
    #[must_use]
    pub const fn guid(mut self, guid: Guid) -> Self {
        self.guid = guid;
        self
    }

    /// Applies every rule, also those about values that a system would move into their limits.
    ///
    /// # Errors
    ///
    /// The first rule that does not hold.
    pub fn check(&self) -> Result<(), Limit> {
        rules::check(self, |_| true)
    }

    /// Applies the rules that `StartTrace` enforces.
    ///
    /// # Errors
    ///
    /// The first rule that does not hold.
    pub fn check_enforced(&self) -> Result<(), Limit> {
        rules::check(self, |rule| rule.is_enforced)
    }

    /// Whether the session is the kernel's own.
    #[must_use]
    pub fn is_kernel_logger(&self) -> bool {
        self.name.eq_ignore_ascii_case(KERNEL_LOGGER_NAME)
    }

    /// Whether the session takes events of the system providers.
    #[must_use]
    pub fn is_system(&self) -> bool {
        self.is_kernel_logger() || self.mode & mode::SYSTEM_LOGGER != 0
    }

    /// The file's name as it goes into a block.
    pub(super) fn file_name(&self) -> Option<String> {
        self.log_file.as_ref().map(|path| path.to_string_lossy().into_owned())
    }
}
