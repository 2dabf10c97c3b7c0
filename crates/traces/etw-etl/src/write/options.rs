//! Options of a writer.

use std::path::Path;

use crate::error::Error;
use crate::format::buffer::{self, MAX_BUFFER_SIZE};
use crate::format::logfile::LogfileHeader;
use crate::time::{Clock, FileTime};
use etw_types::session::mode;

/// Minimum buffer size in bytes: the first buffer must hold the header.
const MIN_BUFFER_SIZE: u32 = 1024;
/// The placeholder for the file number in a path.
const NUMBER: &str = "%d";
const MIB: u64 = 1024 * 1024;

/// What happens when a file has reached its maximum size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileMode {
    /// Nothing more is written; later buffers are counted as lost.
    Sequential {
        /// Maximum size of the file; `None` for no limit.
        max_bytes: Option<u64>,
    },
    /// The oldest buffer is overwritten.
    Circular {
        /// Maximum size of the file.
        max_bytes: u64,
    },
    /// Writing continues in a new file. `%d` in the path is replaced with the number of the file, starting at 1.
    NewFile {
        /// Maximum size of each file.
        max_bytes: u64,
    },
}

impl FileMode {
    pub(crate) const fn max_bytes(self) -> Option<u64> {
        match self {
            Self::Sequential { max_bytes } => max_bytes,
            Self::Circular { max_bytes } | Self::NewFile { max_bytes } => Some(max_bytes),
        }
    }

    const fn as_int(self) -> u32 {
        match self {
            Self::Sequential { .. } => mode::SEQUENTIAL,
            Self::Circular { .. } => mode::CIRCULAR,
            Self::NewFile { .. } => mode::NEWFILE,
        }
    }
}

/// Options of a writer: the session as its file describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriterOptions {
    /// Name of the session.
    pub session_name: String,
    /// File name in the header; `None` to use the path.
    pub file_name: Option<String>,
    /// Size of a buffer in bytes: 1024 to 16 MiB, a multiple of 8.
    pub buffer_size: u32,
    /// Number of processors of the machine.
    pub processors: u16,
    /// What happens when the file is full.
    pub mode: FileMode,
    /// Whether the maximum size of a file is reserved when it is created. Unused space is released when the file is closed.
    pub preallocate: bool,
    /// Additional bits of `LogFileMode` in the header.
    pub mode_bits: u32,
    /// Id of the session.
    pub logger_id: u16,
    /// How to interpret the time stamps of events.
    pub clock: Clock,
    /// When the system was booted.
    pub boot_time: FileTime,
    /// Build number of the operating system.
    pub os_build: u32,
    /// Processor speed in MHz. Must not be zero, because some readers divide by it.
    pub cpu_mhz: u32,
    /// The process that started the session.
    pub process_id: u32,
    /// The thread that started the session.
    pub thread_id: u32,
}

impl Default for WriterOptions {
    fn default() -> Self {
        let clock = Clock::default();
        Self {
            session_name: "etw-etl".into(),
            file_name: None,
            buffer_size: 0x1_0000,
            processors: 1,
            mode: FileMode::Sequential { max_bytes: None },
            preallocate: false,
            mode_bits: 0,
            logger_id: 1,
            clock,
            boot_time: clock.start,
            os_build: 26_100,
            cpu_mhz: 1000,
            process_id: 0,
            thread_id: 0,
        }
    }
}

impl WriterOptions {
    pub(crate) fn check(&self, path: &Path) -> Result<(), Error> {
        let size = usize::try_from(self.buffer_size).unwrap_or(usize::MAX);
        if self.buffer_size < MIN_BUFFER_SIZE || size > MAX_BUFFER_SIZE || !self.buffer_size.is_multiple_of(8) {
            return Err(Error::Options("the buffer size must be a multiple of 8 from 1024 bytes to 16 MiB"));
        }
        if self.mode.max_bytes().is_some_and(|most| most < u64::from(self.buffer_size) * 2) {
            return Err(Error::Options("the largest file size must be at least two buffers"));
        }
        if matches!(self.mode, FileMode::NewFile { .. }) && !path.to_string_lossy().contains(NUMBER) {
            return Err(Error::Options("the path must contain %d where every file gets a number"));
        }
        if self.preallocate && self.mode.max_bytes().is_none() {
            return Err(Error::Options("a file can be reserved only where it has a largest size"));
        }
        if self.clock.frequency == 0 || self.cpu_mhz == 0 {
            return Err(Error::Options("the clock and the processors must have a frequency"));
        }
        if self.session_name.contains('\0') || self.file_name.as_ref().is_some_and(|name| name.contains('\0')) {
            return Err(Error::Options("the name of the session or the file contains a NUL"));
        }
        Ok(())
    }

    /// Returns the path of file number `number`.
    pub(crate) fn path(&self, pattern: &Path, number: u32) -> std::path::PathBuf {
        match (self.mode, pattern.to_str()) {
            (FileMode::NewFile { .. }, Some(text)) => text.replacen(NUMBER, &number.to_string(), 1).into(),
            _ => pattern.to_owned(),
        }
    }

    /// Returns the header of a new file.
    pub(crate) fn header(&self, path: &Path) -> LogfileHeader {
        let max_bytes = self.mode.max_bytes().unwrap_or(0);
        let (maximum, unit) = if max_bytes.is_multiple_of(MIB) {
            (max_bytes / MIB, 0)
        } else {
            (max_bytes.div_ceil(1024), mode::USE_KBYTES_FOR_SIZE)
        };
        LogfileHeader {
            buffer_size: self.buffer_size,
            provider_version: self.os_build,
            processors: self.processors.max(1).into(),
            end_time: self.clock.start.0,
            maximum_file_size: u32::try_from(maximum).unwrap_or(u32::MAX),
            log_file_mode: self.mode.as_int()
                | self.mode_bits
                | unit
                | if self.preallocate { mode::PREALLOCATE } else { 0 },
            cpu_mhz: self.cpu_mhz,
            logger_name_pointer: 10,
            file_name_pointer: 7,
            boot_time: self.boot_time.0,
            perf_freq: self.clock.frequency,
            start_time: self.clock.start.0,
            clock_type: self.clock.kind.as_int(),
            logger_name: self.session_name.clone(),
            file_name: self.file_name.clone().unwrap_or_else(|| path.to_string_lossy().into_owned()),
            ..LogfileHeader::default()
        }
    }

    /// Returns the maximum size of an event in a buffer, in bytes.
    pub(crate) fn room(&self) -> usize {
        usize::try_from(self.buffer_size).unwrap_or(usize::MAX).saturating_sub(buffer::SIZE)
    }
}
