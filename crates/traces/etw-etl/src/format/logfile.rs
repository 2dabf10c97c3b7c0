//! `TRACE_LOGFILE_HEADER`: the first record of a file. It holds the clock, the sizes and the names.

use super::bytes::{array_at, i64_at, put, split_utf16z, u32_at, u64_at, utf16z};

/// Size of the body in bytes on 64-bit systems, without the names.
pub const SIZE_64: usize = 0x118;
/// Size of the body in bytes on 32-bit systems, without the names.
pub const SIZE_32: usize = 0x110;
/// Size of `TIME_ZONE_INFORMATION` in bytes.
pub const TIME_ZONE_SIZE: usize = 172;
/// Offset of the end time in the body.
pub const END_TIME_OFFSET: usize = 0x10;

/// The logfile header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogfileHeader {
    /// Size of a buffer in bytes.
    pub buffer_size: u32,
    /// Major version, minor version, sub-version, sub-minor version.
    pub version: [u8; 4],
    /// Build number of the operating system.
    pub provider_version: u32,
    /// Number of processors.
    pub processors: u32,
    /// When the session stopped, in 100 ns units since 1601.
    pub end_time: i64,
    /// Timer interval in 100 ns units.
    pub timer_resolution: u32,
    /// Maximum size of the file, in MiB, or in KiB with [`USE_KBYTES_FOR_SIZE`](etw_types::session::mode::USE_KBYTES_FOR_SIZE); 0 for no limit.
    pub maximum_file_size: u32,
    /// `LogFileMode`: bits of [`etw_types::session::mode`].
    pub log_file_mode: u32,
    /// Number of buffers written, including the first one.
    pub buffers_written: u32,
    /// Number of buffers when the session started.
    pub start_buffers: u32,
    /// Size of a pointer in bytes on the system that wrote the file.
    pub pointer_size: u32,
    /// Number of events lost.
    pub events_lost: u32,
    /// Processor speed in MHz.
    pub cpu_mhz: u32,
    /// The field that held the pointer to the session's name in memory.
    pub logger_name_pointer: u64,
    /// The field that held the pointer to the file's name in memory.
    pub file_name_pointer: u64,
    /// `TIME_ZONE_INFORMATION`.
    pub time_zone: [u8; TIME_ZONE_SIZE],
    /// When the system was booted, in 100 ns units since 1601.
    pub boot_time: i64,
    /// Performance counter ticks per second.
    pub perf_freq: u64,
    /// When the session started, in 100 ns units since 1601.
    pub start_time: i64,
    /// The clock of the time stamps: 1 for the performance counter, 2 for system time, 3 for cycles.
    pub clock_type: u32,
    /// Number of buffers lost.
    pub buffers_lost: u32,
    /// Name of the session.
    pub logger_name: String,
    /// Name of the file when it was written.
    pub file_name: String,
}

impl LogfileHeader {
    /// Returns whether the file was closed. Windows writes the end and the numbers of what was written and lost when it closes a file;
    /// until then, they are 0.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.end_time != 0 && self.buffers_written != 0
    }

    /// Returns whether two sessions ran since the same start of one machine, so that ids of processes and threads, and addresses,
    /// mean the same in both. Unknown if a header is damaged.
    #[must_use]
    pub const fn is_same_boot(&self, other: &Self) -> bool {
        self.boot_time != 0 && self.boot_time == other.boot_time
    }
}

impl Default for LogfileHeader {
    /// A header whose time stamps are 100 ns units since 1601. A reader uses it if the header of a file is damaged.
    fn default() -> Self {
        Self {
            buffer_size: 0,
            version: [10, 0, 1, 5],
            provider_version: 0,
            processors: 1,
            end_time: 0,
            timer_resolution: 156_250,
            maximum_file_size: 0,
            log_file_mode: 0,
            buffers_written: 1,
            start_buffers: 1,
            pointer_size: 8,
            events_lost: 0,
            cpu_mhz: 1000,
            logger_name_pointer: 0,
            file_name_pointer: 0,
            time_zone: [0; TIME_ZONE_SIZE],
            boot_time: 0,
            perf_freq: 10_000_000,
            start_time: 0,
            clock_type: 2,
            buffers_lost: 0,
            logger_name: String::new(),
            file_name: String::new(),
        }
    }
}

/// Offsets that depend on the size of the two pointers.
struct Offsets {
    second_name: usize,
    time_zone: usize,
    boot_time: usize,
    names: usize,
}

impl Offsets {
    const fn for_pointer_size(pointer_size: u32) -> Self {
        if pointer_size == 4 {
            Self { second_name: 0x3C, time_zone: 0x40, boot_time: 0xF0, names: SIZE_32 }
        } else {
            Self { second_name: 0x40, time_zone: 0x48, boot_time: 0xF8, names: SIZE_64 }
        }
    }
}

impl LogfileHeader {
    /// Parses the body, without the header of the record. Returns `None` if it is too short.
    #[must_use]
    pub fn parse(body: &[u8]) -> Option<Self> {
        let pointer_size = u32_at(body, 0x2C)?;
        let at = Offsets::for_pointer_size(pointer_size);
        let pointer =
            |offset| if pointer_size == 4 { u32_at(body, offset).map(u64::from) } else { u64_at(body, offset) };
        let (logger_name, rest) = split_utf16z(body.get(at.names..)?);
        Some(Self {
            buffer_size: u32_at(body, 0x00)?,
            version: array_at(body, 0x04)?,
            provider_version: u32_at(body, 0x08)?,
            processors: u32_at(body, 0x0C)?,
            end_time: i64_at(body, END_TIME_OFFSET)?,
            timer_resolution: u32_at(body, 0x18)?,
            maximum_file_size: u32_at(body, 0x1C)?,
            log_file_mode: u32_at(body, 0x20)?,
            buffers_written: u32_at(body, 0x24)?,
            start_buffers: u32_at(body, 0x28)?,
            pointer_size,
            events_lost: u32_at(body, 0x30)?,
            cpu_mhz: u32_at(body, 0x34)?,
            logger_name_pointer: pointer(0x38)?,
            file_name_pointer: pointer(at.second_name)?,
            time_zone: array_at(body, at.time_zone)?,
            boot_time: i64_at(body, at.boot_time)?,
            perf_freq: u64_at(body, at.boot_time + 0x08)?,
            start_time: i64_at(body, at.boot_time + 0x10)?,
            clock_type: u32_at(body, at.boot_time + 0x18)?,
            buffers_lost: u32_at(body, at.boot_time + 0x1C)?,
            logger_name,
            file_name: split_utf16z(rest).0,
        })
    }

    /// Returns the body as it is stored in a file, including the names.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let at = Offsets::for_pointer_size(self.pointer_size);
        let pointer_size = if self.pointer_size == 4 { 4 } else { 8 };
        let mut bytes = vec![0; at.names];
        for (offset, value) in [
            (0x00, self.buffer_size),
            (0x04, u32::from_le_bytes(self.version)),
            (0x08, self.provider_version),
            (0x0C, self.processors),
            (0x18, self.timer_resolution),
            (0x1C, self.maximum_file_size),
            (0x20, self.log_file_mode),
            (0x24, self.buffers_written),
            (0x28, self.start_buffers),
            (0x2C, self.pointer_size),
            (0x30, self.events_lost),
            (0x34, self.cpu_mhz),
            (at.boot_time + 0x18, self.clock_type),
            (at.boot_time + 0x1C, self.buffers_lost),
        ] {
            put(&mut bytes, offset, &value.to_le_bytes());
        }
        put(&mut bytes, END_TIME_OFFSET, &self.end_time.to_le_bytes());
        let pointers = [(0x38, self.logger_name_pointer), (at.second_name, self.file_name_pointer)];
        for (offset, pointer) in pointers {
            put(&mut bytes, offset, pointer.to_le_bytes().get(..pointer_size).unwrap_or_default());
        }
        put(&mut bytes, at.time_zone, &self.time_zone);
        put(&mut bytes, at.boot_time, &self.boot_time.to_le_bytes());
        put(&mut bytes, at.boot_time + 0x08, &self.perf_freq.to_le_bytes());
        put(&mut bytes, at.boot_time + 0x10, &self.start_time.to_le_bytes());
        bytes.extend(utf16z(&self.logger_name));
        bytes.extend(utf16z(&self.file_name));
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::{END_TIME_OFFSET, LogfileHeader, SIZE_32, SIZE_64, TIME_ZONE_SIZE};

    #[test]
    fn both_pointer_sizes_round_trip() {
        for (pointer_size, size) in [(4, SIZE_32), (8, SIZE_64)] {
            let header = LogfileHeader {
                buffer_size: 11,
                version: [1, 2, 3, 4],
                provider_version: 12,
                processors: 13,
                end_time: 14,
                timer_resolution: 15,
                maximum_file_size: 16,
                log_file_mode: 17,
                buffers_written: 18,
                start_buffers: 19,
                events_lost: 20,
                cpu_mhz: 21,
                time_zone: [22; TIME_ZONE_SIZE],
                pointer_size,
                boot_time: 1,
                perf_freq: 2,
                start_time: 3,
                clock_type: 1,
                buffers_lost: 5,
                logger_name_pointer: 10,
                file_name_pointer: 7,
                logger_name: "session".into(),
                file_name: "C:\\ü.etl".into(),
            };
            let bytes = header.to_bytes();
            assert_eq!(bytes.len(), size + 2 * ("session".len() + 1 + "C:\\ü.etl".chars().count() + 1));
            // The end time is the word of this offset, which is written again at the end.
            assert_eq!(bytes[END_TIME_OFFSET], 14);
            assert_eq!(LogfileHeader::parse(&bytes), Some(header));
            assert_eq!(LogfileHeader::parse(&bytes[..size - 1]), None);
        }
    }
}
