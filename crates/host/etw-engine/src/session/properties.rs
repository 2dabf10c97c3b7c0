//! What a session becomes of what was asked for.

use std::time::Duration;

use etw_etl::ClockKind;
use etw_types::Win32Error;
use etw_types::session::{BUFFER_KIB, ClockType, Properties, SYSTEM_TRACE_CONTROL, mode};

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
        asked.check_enforced().map_err(|limit| limit.code())?;
        // Our limit: the writer of files does not compress.
        if asked.mode & mode::COMPRESSED != 0 {
            return Err(Win32Error::NotSupported);
        }
        let clock = match asked.clock {
            ClockType::SystemTime => ClockKind::SystemTime,
            ClockType::Cycles => ClockKind::Cycles,
            _ => ClockKind::PerformanceCounter,
        };
        let mut properties = asked.clone();
        properties.clock = ClockType::from_int(clock.as_int());
        if asked.is_kernel_logger() {
            properties.guid = SYSTEM_TRACE_CONTROL;
        }
        choose_buffers(&mut properties, processors);
        Ok(Self { properties, clock, is_system: asked.is_system() })
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
