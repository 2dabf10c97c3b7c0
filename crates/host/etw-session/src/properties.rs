//! What a session is asked to be: a builder with the documented rules, checked before the system is asked.

use std::path::{Path, PathBuf};
use std::time::Duration;

use etw_types::session::{BUFFER_KIB, KERNEL_LOGGER_NAME, MAX_NAME, SYSTEM_TRACE_CONTROL, mode};
use etw_types::{Guid, Win32Error};

use crate::limit::Limit;

/// What time stamps count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockType {
    /// The performance counter.
    #[default]
    PerformanceCounter = 1,
    /// The system's time, 100 ns.
    SystemTime = 2,
    /// Cycles of the processor.
    Cycles = 3,
}

/// The properties of a session to be started. Zero and `None` leave the choice to the system.
///
/// The default mode is `INDEPENDENT_SESSION`: without it, a provider that fails for one session loses events of the others.
///
/// ```
/// use etw_session::Properties;
///
/// let properties = Properties::new("MyDriver").file("trace.etl").real_time().buffers(64, 8, 32);
/// assert!(properties.check().is_ok());
///
/// let wrong = Properties::new("MyDriver").file("trace.etl").circular(0);
/// assert_eq!(wrong.check().unwrap_err().to_string(), "a circular, numbered or preallocated file needs a largest size");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
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
        Self {
            name: name.to_owned(),
            guid: Guid::ZERO,
            buffer_kib: 0,
            minimum_buffers: 0,
            maximum_buffers: 0,
            maximum_file_size: 0,
            mode: mode::INDEPENDENT_SESSION,
            flush_timer: 0,
            enable_flags: 0,
            clock: ClockType::default(),
            log_file: None,
        }
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

    /// Applies the documented rules.
    ///
    /// # Errors
    ///
    /// The first rule that does not hold.
    pub fn check(&self) -> Result<(), Limit> {
        let has = |bits: u32| self.mode & bits != 0;
        let is_kernel = self.name.eq_ignore_ascii_case(KERNEL_LOGGER_NAME);
        Limit::rule(!self.name.is_empty(), "a session needs a name")?;
        Limit::rule(!self.name.contains('\0'), "a session's name cannot contain NUL")?;
        Limit::no_longer("the session's name", self.name.encode_utf16().count(), MAX_NAME)?;
        let file = self.log_file.as_ref().map(|path| path.to_string_lossy());
        let file_length = file.as_ref().map_or(0, |name| name.encode_utf16().count());
        Limit::no_longer("the file's name", file_length, MAX_NAME)?;
        if let Some(rule) = mode::conflict(self.mode) {
            Limit::rule(false, rule)?;
        }
        Limit::rule_as(
            file.is_some() || (has(mode::REAL_TIME | mode::BUFFERING) && !has(mode::FILE_MODES)),
            "a session needs a file, real time or buffering, and a mode of files needs a file",
            Win32Error::BadPathname,
        )?;
        let needs_size = has(mode::CIRCULAR | mode::NEWFILE | mode::PREALLOCATE);
        Limit::rule(
            !needs_size || self.maximum_file_size != 0,
            "a circular, numbered or preallocated file needs a largest size",
        )?;
        Limit::rule(
            !has(mode::NEWFILE) || file.is_some_and(|name| name.contains("%d")),
            "the name of numbered files needs a %d",
        )?;
        Limit::rule(
            !has(mode::APPEND) || self.clock == ClockType::SystemTime,
            "appending to a file needs the clock of the system's time",
        )?;
        Limit::rule(
            !has(mode::PRIVATE_IN_PROC) || has(mode::PRIVATE_LOGGER),
            "a session in a process must be a private one",
        )?;
        Limit::rule(
            self.guid != SYSTEM_TRACE_CONTROL || is_kernel,
            "the GUID of the system's control belongs to the session \"NT Kernel Logger\"",
        )?;
        Limit::rule(
            !(has(mode::USE_PAGED_MEMORY) && (is_kernel || has(mode::SYSTEM_LOGGER))),
            "a session of the system providers cannot use paged memory",
        )?;
        Limit::rule(self.buffer_kib == 0 || BUFFER_KIB.contains(&self.buffer_kib), "a buffer has 4 to 16384 KiB")?;
        Limit::rule(
            self.maximum_buffers == 0 || self.minimum_buffers <= self.maximum_buffers,
            "the least number of buffers exceeds the most",
        )
    }
}
