//! What a session says about itself.

use std::path::PathBuf;

use etw_types::Guid;
use etw_types::session::{EventTraceProperties, KERNEL_LOGGER_NAME, SYSTEM_TRACE_CONTROL, mode};

use crate::block::text_at;

/// A session as it is: its properties and its counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionStatus {
    /// Its name.
    pub name: String,
    /// Its handle.
    pub handle: u64,
    /// Its GUID.
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
    /// `EVENT_TRACE_FLAG_*`.
    pub enable_flags: u32,
    /// The clock: 1 performance counter, 2 system time, 3 cycles.
    pub clock: u32,
    /// Buffers allocated.
    pub number_of_buffers: u32,
    /// Buffers without events.
    pub free_buffers: u32,
    /// Events lost: no buffer was free.
    pub events_lost: u32,
    /// Buffers written.
    pub buffers_written: u32,
    /// Buffers that could not be written to the file.
    pub log_buffers_lost: u32,
    /// Buffers that no consumer got.
    pub real_time_buffers_lost: u32,
    /// The file.
    pub log_file: Option<PathBuf>,
}

impl SessionStatus {
    /// Reads a block that the system filled in. `None` where it is shorter than the structure.
    #[must_use]
    pub fn parse(block: &[u8]) -> Option<Self> {
        let raw = EventTraceProperties::parse(block)?;
        Some(Self {
            name: text_at(block, raw.logger_name_offset).unwrap_or_default(),
            handle: raw.wnode.historical_context,
            guid: raw.wnode.guid,
            buffer_kib: raw.buffer_size,
            minimum_buffers: raw.minimum_buffers,
            maximum_buffers: raw.maximum_buffers,
            maximum_file_size: raw.maximum_file_size,
            mode: raw.log_file_mode,
            flush_timer: raw.flush_timer,
            enable_flags: raw.enable_flags,
            clock: raw.wnode.client_context,
            number_of_buffers: raw.number_of_buffers,
            free_buffers: raw.free_buffers,
            events_lost: raw.events_lost,
            buffers_written: raw.buffers_written,
            log_buffers_lost: raw.log_buffers_lost,
            real_time_buffers_lost: raw.real_time_buffers_lost,
            log_file: text_at(block, raw.log_file_name_offset).map(PathBuf::from),
        })
    }

    /// Whether anything was lost.
    #[must_use]
    pub const fn has_losses(&self) -> bool {
        self.events_lost != 0 || self.log_buffers_lost != 0 || self.real_time_buffers_lost != 0
    }

    /// Whether consumers are served.
    #[must_use]
    pub const fn is_real_time(&self) -> bool {
        self.mode & mode::REAL_TIME != 0
    }

    /// Whether it takes events of the system providers.
    #[must_use]
    pub fn is_system(&self) -> bool {
        self.mode & mode::SYSTEM_LOGGER != 0
            || self.guid == SYSTEM_TRACE_CONTROL
            || self.name.eq_ignore_ascii_case(KERNEL_LOGGER_NAME)
    }

    /// The names of the modes.
    #[must_use]
    pub fn mode_names(&self) -> Vec<&'static str> {
        MODES.iter().filter(|(_, bit)| self.mode & bit != 0).map(|(name, _)| *name).collect()
    }
}

/// The names that this project's tools give to the modes.
pub const MODES: &[(&str, u32)] = &[
    ("sequential", mode::SEQUENTIAL),
    ("circular", mode::CIRCULAR),
    ("append", mode::APPEND),
    ("numbered", mode::NEWFILE),
    ("ms-flush-timer", mode::USE_MS_FLUSH_TIMER),
    ("preallocate", mode::PREALLOCATE),
    ("nonstoppable", mode::NONSTOPPABLE),
    ("secure", mode::SECURE),
    ("real-time", mode::REAL_TIME),
    ("buffering", mode::BUFFERING),
    ("private", mode::PRIVATE_LOGGER),
    ("kbytes", mode::USE_KBYTES_FOR_SIZE),
    ("global-sequence", mode::USE_GLOBAL_SEQUENCE),
    ("local-sequence", mode::USE_LOCAL_SEQUENCE),
    ("in-process", mode::PRIVATE_IN_PROC),
    ("stop-on-hybrid-shutdown", mode::STOP_ON_HYBRID_SHUTDOWN),
    ("persist-on-hybrid-shutdown", mode::PERSIST_ON_HYBRID_SHUTDOWN),
    ("paged-memory", mode::USE_PAGED_MEMORY),
    ("system", mode::SYSTEM_LOGGER),
    ("compressed", mode::COMPRESSED),
    ("independent", mode::INDEPENDENT_SESSION),
    ("no-per-processor-buffers", mode::NO_PER_PROCESSOR_BUFFERING),
];
