//! Headers older than `EVENT_HEADER`: kernel events and classic (MOF) events.
//!
//! The full and instance headers are declared in the public `evntrace.h`. The layouts of the kernel's headers were derived from
//! files captured on Windows.

use etw_types::Guid;

use super::bytes::{guid_at, put, u8_at, u16_at, u32_at, u64_at};

/// Size of `SYSTEM_TRACE_HEADER` in bytes.
pub const SYSTEM_SIZE: usize = 0x20;
/// Size of the compact system header in bytes.
pub const COMPACT_SIZE: usize = 0x18;
/// Size of `PERFINFO_TRACE_HEADER` in bytes.
pub const PERFINFO_SIZE: usize = 0x10;
/// Size of `EVENT_TRACE_HEADER` in bytes.
pub const FULL_SIZE: usize = 0x30;
/// Size of `EVENT_INSTANCE_GUID_HEADER` in bytes.
pub const INSTANCE_SIZE: usize = 0x48;
/// Header type of the system header on 64-bit systems, including the marker.
pub const TYPE_SYSTEM_64: u16 = 0xC002;
/// Header type of the perfinfo header on 64-bit systems, including the marker.
pub const TYPE_PERFINFO_64: u16 = 0xC011;

/// The header of a kernel event. Compact and perfinfo headers lack some of these members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SystemHeader {
    /// Version of the event.
    pub version: u16,
    /// Header type, including the marker.
    pub header_type: u16,
    /// Size of header and data in bytes, not rounded up.
    pub size: u16,
    /// Hook id: group in the upper byte, type in the lower byte.
    pub hook_id: u16,
    /// The thread that wrote the event.
    pub thread_id: Option<u32>,
    /// The process that wrote the event.
    pub process_id: Option<u32>,
    /// Time stamp in the session's clock.
    pub timestamp: u64,
    /// Kernel-mode time of the thread.
    pub kernel_time: u32,
    /// User-mode time of the thread.
    pub user_time: u32,
}

impl SystemHeader {
    /// Parses a system header. A `compact` header has no processor times. Returns `None` if there are too few bytes.
    #[must_use]
    #[inline]
    pub fn parse(bytes: &[u8], compact: bool) -> Option<Self> {
        // The length is checked once for all members.
        let start: &[u8; COMPACT_SIZE] = bytes.first_chunk()?;
        Some(Self {
            thread_id: Some(u32_at(start, 0x08)?),
            process_id: Some(u32_at(start, 0x0C)?),
            timestamp: u64_at(start, 0x10)?,
            kernel_time: if compact { 0 } else { u32_at(bytes, 0x18)? },
            user_time: if compact { 0 } else { u32_at(bytes, 0x1C)? },
            ..Self::parse_start(start)?
        })
    }

    /// Parses a perfinfo header. Returns `None` if there are too few bytes.
    #[must_use]
    #[inline]
    pub fn parse_perfinfo(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; PERFINFO_SIZE] = bytes.first_chunk()?;
        Some(Self { timestamp: u64_at(bytes, 0x08)?, ..Self::parse_start(bytes)? })
    }

    /// Returns the perfinfo header as it is stored in a file.
    #[must_use]
    pub fn to_perfinfo_bytes(&self) -> [u8; PERFINFO_SIZE] {
        let mut bytes = [0; PERFINFO_SIZE];
        put(&mut bytes, 0x00, &self.version.to_le_bytes());
        put(&mut bytes, 0x02, &self.header_type.to_le_bytes());
        put(&mut bytes, 0x04, &self.size.to_le_bytes());
        put(&mut bytes, 0x06, &self.hook_id.to_le_bytes());
        put(&mut bytes, 0x08, &self.timestamp.to_le_bytes());
        bytes
    }

    #[inline]
    fn parse_start(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            version: u16_at(bytes, 0x00)?,
            header_type: u16_at(bytes, 0x02)?,
            size: u16_at(bytes, 0x04)?,
            hook_id: u16_at(bytes, 0x06)?,
            ..Self::default()
        })
    }

    /// Returns the system header as it is stored in a file.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; SYSTEM_SIZE] {
        let mut bytes = [0; SYSTEM_SIZE];
        put(&mut bytes, 0x00, &self.version.to_le_bytes());
        put(&mut bytes, 0x02, &self.header_type.to_le_bytes());
        put(&mut bytes, 0x04, &self.size.to_le_bytes());
        put(&mut bytes, 0x06, &self.hook_id.to_le_bytes());
        put(&mut bytes, 0x08, &self.thread_id.unwrap_or_default().to_le_bytes());
        put(&mut bytes, 0x0C, &self.process_id.unwrap_or_default().to_le_bytes());
        put(&mut bytes, 0x10, &self.timestamp.to_le_bytes());
        put(&mut bytes, 0x18, &self.kernel_time.to_le_bytes());
        put(&mut bytes, 0x1C, &self.user_time.to_le_bytes());
        bytes
    }
}

/// The header of a classic event: `EVENT_TRACE_HEADER`, and the common part of the longer `EVENT_INSTANCE_GUID_HEADER`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassicHeader {
    /// Type of the event within its class.
    pub event_type: u8,
    /// Level.
    pub level: u8,
    /// Version of the class.
    pub version: u16,
    /// The thread that wrote the event.
    pub thread_id: u32,
    /// The process that wrote the event.
    pub process_id: u32,
    /// Time stamp in the session's clock.
    pub timestamp: u64,
    /// GUID of the event class.
    pub class: Guid,
    /// Kernel-mode time of the thread.
    pub kernel_time: u32,
    /// User-mode time of the thread.
    pub user_time: u32,
}

impl ClassicHeader {
    /// Parses the part that both headers have in common. Returns `None` if there are too few bytes.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            event_type: u8_at(bytes, 0x04)?,
            level: u8_at(bytes, 0x05)?,
            version: u16_at(bytes, 0x06)?,
            thread_id: u32_at(bytes, 0x08)?,
            process_id: u32_at(bytes, 0x0C)?,
            timestamp: u64_at(bytes, 0x10)?,
            class: guid_at(bytes, 0x18)?,
            kernel_time: u32_at(bytes, 0x28)?,
            user_time: u32_at(bytes, 0x2C)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{ClassicHeader, SYSTEM_SIZE, SystemHeader};

    #[test]
    fn every_byte_of_a_system_header_survives() {
        let mut bytes = [0_u8; SYSTEM_SIZE];
        for (value, byte) in (1..).zip(&mut bytes) {
            *byte = value;
        }
        assert_eq!(SystemHeader::parse(&bytes, false).map(|header| header.to_bytes()), Some(bytes));
        assert_eq!(SystemHeader::parse(&bytes[..0x18], true).map(|header| header.user_time), Some(0));
        assert_eq!(SystemHeader::parse(&bytes[..0x18], false), None);
        let perfinfo = SystemHeader::parse_perfinfo(&bytes[..0x10]).unwrap();
        assert_eq!(perfinfo.thread_id, None);
        assert_eq!(perfinfo.to_perfinfo_bytes(), *bytes.first_chunk().unwrap());
        assert_eq!(SystemHeader::parse_perfinfo(&bytes[..0x0F]), None);
        assert_eq!(ClassicHeader::parse(&bytes), None);
    }
}
