//! Turns requested properties into those of a session.

use std::time::Duration;

use etw_etl::ClockKind;
use etw_types::Win32Error;
use etw_types::session::{BUFFER_KIB, ClockType, Properties, SYSTEM_TRACE_CONTROL, mode};

/// KiB of a buffer if no size is given. Our choice: Windows decides by its memory.
const DEFAULT_BUFFER_KIB: u32 = 64;
/// Buffers beyond the minimum if no maximum is given.
const DEFAULT_EXTRA: u32 = 20;
/// Maximum number of buffers. Our choice: Windows is limited only by its memory.
const MAX_BUFFERS: u32 = 16 * 1024;

/// What happens to an event when no buffer is free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// The event is lost and counted, as on Windows. Before that, its writer waits for the session's thread, at most
    /// 1000 times for 50 µs or a little longer: that thread has a high priority on Windows, but the same priority as
    /// the writers here. The writer does not wait if an earlier wait failed and no event has left the buffers since.
    #[default]
    Lose,
    /// Its writer waits for a buffer. Windows does not have this; it is for tests and tools that need every event. If a
    /// session only delivers in real time, its writers then wait for its consumer.
    Wait,
}

/// Validated properties, with the engine's defaults filled in.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) properties: Properties,
    pub(crate) clock: ClockKind,
    pub(crate) is_system: bool,
}

impl Plan {
    /// Returns the size of a buffer in bytes.
    pub(crate) const fn buffer_size(&self) -> u32 {
        self.properties.buffer_kib * 1024
    }

    pub(crate) const fn has(&self, bits: u32) -> bool {
        self.properties.mode & bits != 0
    }

    /// Returns the maximum file size in bytes, if there is one.
    pub(crate) fn max_bytes(&self) -> Option<u64> {
        let unit = if self.has(mode::USE_KBYTES_FOR_SIZE) { 1024 } else { 1024 * 1024 };
        (self.properties.maximum_file_size != 0).then(|| u64::from(self.properties.maximum_file_size) * unit)
    }

    /// Returns the time between two flushes.
    pub(crate) fn flush_every(mode: u32, timer: u32) -> Option<Duration> {
        match timer {
            // A real-time session without a timer flushes every second.
            0 => (mode & mode::REAL_TIME != 0).then(|| Duration::from_secs(1)),
            _ if mode & mode::USE_MS_FLUSH_TIMER != 0 => Some(Duration::from_millis(timer.into())),
            _ => Some(Duration::from_secs(timer.into())),
        }
    }

    /// Checks the properties and fills in the defaults.
    pub(crate) fn new(requested: &Properties, processors: u16) -> Result<Self, Win32Error> {
        requested.check_enforced().map_err(|limit| limit.code())?;
        // Our limit: the file writer does not compress.
        if requested.mode & mode::COMPRESSED != 0 {
            return Err(Win32Error::NotSupported);
        }
        let clock = match requested.clock {
            ClockType::SystemTime => ClockKind::SystemTime,
            ClockType::Cycles => ClockKind::Cycles,
            _ => ClockKind::PerformanceCounter,
        };
        let mut properties = requested.clone();
        properties.clock = ClockType::from_int(clock.as_int());
        if requested.is_kernel_logger() {
            properties.guid = SYSTEM_TRACE_CONTROL;
        }
        choose_buffers(&mut properties, processors);
        Ok(Self { properties, clock, is_system: requested.is_system() })
    }
}

/// Clamps the sizes to their limits, and fills in those that were not given.
fn choose_buffers(properties: &mut Properties, processors: u16) {
    properties.buffer_kib = match properties.buffer_kib {
        0 => DEFAULT_BUFFER_KIB,
        requested => requested.clamp(*BUFFER_KIB.start(), *BUFFER_KIB.end()),
    };
    let per_processor = properties.mode & mode::NO_PER_PROCESSOR_BUFFERING == 0;
    let least = if per_processor { 2 * u32::from(processors.max(1)) } else { 2 };
    let minimum = properties.minimum_buffers.clamp(least, MAX_BUFFERS);
    properties.minimum_buffers = minimum;
    properties.maximum_buffers = match properties.maximum_buffers {
        _ if properties.mode & mode::BUFFERING != 0 => minimum,
        0 => minimum + DEFAULT_EXTRA,
        requested => requested.clamp(minimum, MAX_BUFFERS.max(minimum)),
    };
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Plan;
    use etw_types::session::{Properties, mode};

    #[test]
    fn the_flush_timer_counts_seconds_or_milliseconds_and_is_a_second_in_real_time() {
        for (mode, timer, expected) in [
            (mode::SEQUENTIAL, 0, None),
            (mode::REAL_TIME, 0, Some(Duration::from_secs(1))),
            (mode::REAL_TIME, 5, Some(Duration::from_secs(5))),
            (mode::SEQUENTIAL, 5, Some(Duration::from_secs(5))),
            (mode::SEQUENTIAL | mode::USE_MS_FLUSH_TIMER, 5, Some(Duration::from_millis(5))),
            (mode::SEQUENTIAL | mode::USE_MS_FLUSH_TIMER, 0, None),
        ] {
            assert_eq!(Plan::flush_every(mode, timer), expected, "{mode:#x} {timer}");
        }
    }

    #[test]
    fn the_maximum_file_size_counts_mib_or_kib() {
        for (bits, maximum_file_size, expected) in
            [(0, 0, None), (0, 3, Some(3 << 20)), (mode::USE_KBYTES_FOR_SIZE, 3, Some(3 << 10))]
        {
            let file = Properties::to_file("s", "f.etl");
            let requested = Properties { mode: file.mode | bits, maximum_file_size, ..file };
            assert_eq!(Plan::new(&requested, 1).unwrap().max_bytes(), expected, "{bits:#x} {maximum_file_size}");
        }
    }

    #[test]
    fn buffers_stay_between_their_limits() {
        for (requested, chosen) in [
            ((0, 0, 0), (64, 2, 22)),
            ((3, 2, 3), (4, 2, 3)),
            ((17_000, 5, 4), (16_384, 5, 5)),
            ((64, 20_000, 0), (64, 16_384, 16_404)),
            ((64, 20_000, 30_000), (64, 16_384, 16_384)),
            ((64, 4, 30_000), (64, 4, 16_384)),
        ] {
            let (buffer_kib, minimum_buffers, maximum_buffers) = requested;
            let asked_for =
                Properties { buffer_kib, minimum_buffers, maximum_buffers, ..Properties::to_consumers("s") };
            // Without processors there is still one.
            for processors in [0, 1] {
                let plan = Plan::new(&asked_for, processors).unwrap();
                let Properties { buffer_kib, minimum_buffers, maximum_buffers, .. } = plan.properties;
                assert_eq!((buffer_kib, minimum_buffers, maximum_buffers), chosen, "{requested:?}");
                assert_eq!(plan.buffer_size(), 1024 * buffer_kib);
            }
        }
    }
}
