//! What a session is asked to be, and the rules that decide.
//!
//! The rules are those of `StartTrace` and of the page about logging modes; where they name no code, the choice is
//! marked as ours.

use std::path::{Path, PathBuf};
use std::time::Duration;

use etw_etl::ClockKind;
use etw_types::session::{BUFFER_KIB, KERNEL_LOGGER_NAME, MAX_NAME, SYSTEM_TRACE_CONTROL, mode};
use etw_types::{Guid, Win32Error};

/// KiB of a buffer where none are asked for. Our choice: Windows decides by its memory.
const DEFAULT_BUFFER_KIB: u32 = 64;
/// Buffers beyond the minimum where no maximum is asked for.
const DEFAULT_EXTRA: u32 = 20;
/// Most buffers. Our choice; Windows is limited by its memory only.
const MAX_BUFFERS: u32 = 16 * 1024;

/// What happens to an event when no buffer is free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// It is lost and counted, as on Windows.
    #[default]
    Lose,
    /// Its writer waits for a buffer. Windows has no such thing: for tests and tools that want every event. A session
    /// that only delivers in real time then waits for its consumer.
    Wait,
}

/// `EVENT_TRACE_PROPERTIES`, as far as a caller fills it in. Zero means that the engine chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties {
    /// The session's name.
    pub name: String,
    /// The session's GUID; zero for a new one.
    pub guid: Guid,
    /// KiB of a buffer.
    pub buffer_kib: u32,
    /// Buffers at the start.
    pub minimum_buffers: u32,
    /// Most buffers.
    pub maximum_buffers: u32,
    /// Largest size of the file, in MiB or with that mode in KiB.
    pub maximum_file_size: u32,
    /// `EVENT_TRACE_*_MODE`: see [`mode`].
    pub mode: u32,
    /// Seconds, or with that mode milliseconds, between two flushes.
    pub flush_timer: u32,
    /// Flags of the system providers.
    pub enable_flags: u32,
    /// The clock: 1 performance counter, 2 system time, 3 cycles.
    pub clock: u32,
    /// The file.
    pub log_file: Option<PathBuf>,
    /// What happens when no buffer is free.
    pub overflow: Overflow,
}

impl Properties {
    /// A session that writes a file until it is stopped.
    #[must_use]
    pub fn file(name: &str, path: impl AsRef<Path>) -> Self {
        let log_file = Some(path.as_ref().to_owned());
        Self { name: name.to_owned(), log_file, mode: mode::SEQUENTIAL, ..Self::default() }
    }

    /// A session that delivers to consumers.
    #[must_use]
    pub fn real_time(name: &str) -> Self {
        Self { name: name.to_owned(), mode: mode::REAL_TIME, ..Self::default() }
    }

    /// A session that keeps its newest events in memory.
    #[must_use]
    pub fn buffering(name: &str) -> Self {
        Self { name: name.to_owned(), mode: mode::BUFFERING, ..Self::default() }
    }
}

/// Properties that passed the rules, with the engine's choices filled in.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) properties: Properties,
    pub(crate) clock: ClockKind,
    pub(crate) is_system: bool,
}

impl Plan {
    /// Bytes of a buffer.
    pub(crate) const fn buffer_size(&self) -> u32 {
        self.properties.buffer_kib * 1024
    }

    pub(crate) const fn has(&self, bits: u32) -> bool {
        self.properties.mode & bits != 0
    }

    /// The largest file in bytes.
    pub(crate) fn max_bytes(&self) -> Option<u64> {
        let unit = if self.has(mode::USE_KBYTES_FOR_SIZE) { 1024 } else { 1024 * 1024 };
        (self.properties.maximum_file_size != 0).then(|| u64::from(self.properties.maximum_file_size) * unit)
    }

    /// The time between two flushes.
    pub(crate) fn flush_every(mode: u32, timer: u32) -> Option<Duration> {
        match timer {
            // Real time without a timer gets one second.
            0 => (mode & mode::REAL_TIME != 0).then(|| Duration::from_secs(1)),
            _ if mode & mode::USE_MS_FLUSH_TIMER != 0 => Some(Duration::from_millis(timer.into())),
            _ => Some(Duration::from_secs(timer.into())),
        }
    }

    /// Applies the rules.
    pub(crate) fn new(asked: &Properties, processors: u16) -> Result<Self, Win32Error> {
        check_names(asked)?;
        check_modes(asked.mode)?;
        let is_kernel = asked.name.eq_ignore_ascii_case(KERNEL_LOGGER_NAME);
        if asked.guid == SYSTEM_TRACE_CONTROL && !is_kernel {
            return Err(Win32Error::InvalidParameter);
        }
        let is_system = is_kernel || asked.mode & mode::SYSTEM_LOGGER != 0;
        if is_system && asked.mode & mode::USE_PAGED_MEMORY != 0 {
            return Err(Win32Error::InvalidParameter);
        }
        check_file(asked)?;
        let clock = match asked.clock {
            0 | 1 => ClockKind::PerformanceCounter,
            2 => ClockKind::SystemTime,
            3 => ClockKind::Cycles,
            // Our choice: the page names no code.
            _ => return Err(Win32Error::InvalidParameter),
        };
        if asked.mode & mode::APPEND != 0 && clock != ClockKind::SystemTime {
            return Err(Win32Error::InvalidParameter);
        }
        let mut properties = asked.clone();
        properties.clock = clock.as_int();
        if is_kernel {
            properties.guid = SYSTEM_TRACE_CONTROL;
        }
        choose_buffers(&mut properties, processors);
        Ok(Self { properties, clock, is_system })
    }
}

fn check_names(asked: &Properties) -> Result<(), Win32Error> {
    let file = asked.log_file.as_ref().map_or(0, |path| path.to_string_lossy().encode_utf16().count());
    match asked.name.encode_utf16().count() {
        0 => Err(Win32Error::InvalidParameter),
        _ if asked.name.contains('\0') => Err(Win32Error::InvalidParameter),
        length if length > MAX_NAME || file > MAX_NAME => Err(Win32Error::BadLength),
        _ => Ok(()),
    }
}

/// Pairs of modes that exclude each other, and modes that are not for `StartTrace`.
fn check_modes(bits: u32) -> Result<(), Win32Error> {
    let alone = bits & mode::PRIVATE_IN_PROC != 0 && bits & mode::PRIVATE_LOGGER == 0;
    if alone || mode::conflict(bits).is_some() {
        return Err(Win32Error::InvalidParameter);
    }
    // Our limit: the writer of files does not compress.
    if bits & mode::COMPRESSED != 0 { Err(Win32Error::NotSupported) } else { Ok(()) }
}

fn check_file(asked: &Properties) -> Result<(), Win32Error> {
    let sized = mode::CIRCULAR | mode::NEWFILE | mode::PREALLOCATE;
    if asked.mode & sized != 0 && asked.maximum_file_size == 0 {
        return Err(Win32Error::InvalidParameter);
    }
    match &asked.log_file {
        None if asked.mode & (mode::REAL_TIME | mode::BUFFERING) == 0 => Err(Win32Error::BadPathname),
        None if asked.mode & mode::FILE_MODES != 0 => Err(Win32Error::BadPathname),
        Some(path) if asked.mode & mode::NEWFILE != 0 && !path.to_string_lossy().contains("%d") => {
            // Our choice of code: the page says only that the name must contain it.
            Err(Win32Error::InvalidParameter)
        }
        _ => Ok(()),
    }
}

/// Sizes within their limits, and what was left open.
fn choose_buffers(properties: &mut Properties, processors: u16) {
    properties.buffer_kib = match properties.buffer_kib {
        0 => DEFAULT_BUFFER_KIB,
        asked => asked.clamp(*BUFFER_KIB.start(), *BUFFER_KIB.end()),
    };
    let per_processor = properties.mode & mode::NO_PER_PROCESSOR_BUFFERING == 0;
    let least = if per_processor { 2 * u32::from(processors.max(1)) } else { 2 };
    let minimum = properties.minimum_buffers.clamp(least, MAX_BUFFERS);
    properties.minimum_buffers = minimum;
    properties.maximum_buffers = match properties.maximum_buffers {
        _ if properties.mode & mode::BUFFERING != 0 => minimum,
        0 => minimum + DEFAULT_EXTRA,
        asked => asked.clamp(minimum, MAX_BUFFERS.max(minimum)),
    };
}
