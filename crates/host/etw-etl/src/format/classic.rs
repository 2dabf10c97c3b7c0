//! Headers older than `EVENT_HEADER`: kernel events and classic (MOF) events.
//!
//! Declared by the public `evntrace.h` (full and instance headers); the kernel's own follow genuine files.

use etw_types::Guid;

use super::bytes::{guid_at, put, u8_at, u16_at, u32_at, u64_at};

/// Bytes of `SYSTEM_TRACE_HEADER`.
pub const SYSTEM_SIZE: usize = 0x20;
/// Bytes of the compact system header.
pub const COMPACT_SIZE: usize = 0x18;
/// Bytes of `PERFINFO_TRACE_HEADER`.
pub const PERFINFO_SIZE: usize = 0x10;
/// Bytes of `EVENT_TRACE_HEADER`.
pub const FULL_SIZE: usize = 0x30;
/// Bytes of `EVENT_INSTANCE_GUID_HEADER`.
pub const INSTANCE_SIZE: usize = 0x48;
/// Header type of the system header on 64-bit systems, with its marker.
pub const TYPE_SYSTEM_64: u16 = 0xC002;
/// Header type of the perfinfo header on 64-bit systems, with its marker.
pub const TYPE_PERFINFO_64: u16 = 0xC011;

/// The header of a kernel event. Compact and perfinfo headers have fewer members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SystemHeader {
    /// Version of the event.
    pub version: u16,
    /// Header type with its marker.
    pub header_type: u16,
    /// Bytes of header and data; not rounded up.
    pub size: u16,
    /// Group in the upper byte, type in the lower.
    pub hook_id: u16,
    /// The writing thread.
    pub thread_id: Option<u32>,
    /// The writing process.
    pub process_id: Option<u32>,
    /// When, in the clock of the session.
    pub timestamp: u64,
    /// Time of the thread in kernel mode.
    pub kernel_time: u32,
    /// Time of the thread in user mode.
    pub user_time: u32,
}

impl SystemHeader {
    /// Takes a system header apart, with or without (`compact`) processor times.
    #[must_use]
    pub fn parse(bytes: &[u8], compact: bool) -> Option<Self> {
        Some(Self {
            thread_id: Some(u32_at(bytes, 0x08)?),
            process_id: Some(u32_at(bytes, 0x0C)?),
            timestamp: u64_at(bytes, 0x10)?,
            kernel_time: if compact { 0 } else { u32_at(bytes, 0x18)? },
            user_time: if compact { 0 } else { u32_at(bytes, 0x1C)? },
            ..Self::parse_start(bytes)?
        })
    }

    /// Takes a perfinfo header apart.
    #[must_use]
    pub fn parse_perfinfo(bytes: &[u8]) -> Option<Self> {
        Some(Self { timestamp: u64_at(bytes, 0x08)?, ..Self::parse_start(bytes)? })
    }

    /// The perfinfo header as it stands in a file.
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

    fn parse_start(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            version: u16_at(bytes, 0x00)?,
            header_type: u16_at(bytes, 0x02)?,
            size: u16_at(bytes, 0x04)?,
            hook_id: u16_at(bytes, 0x06)?,
            ..Self::default()
        })
    }

    /// The system header as it stands in a file.
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

/// The header of a classic event: `EVENT_TRACE_HEADER` and, longer, `EVENT_INSTANCE_GUID_HEADER`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassicHeader {
    /// Type of the event within its class.
    pub event_type: u8,
    /// Level.
    pub level: u8,
    /// Version of the class.
    pub version: u16,
    /// The writing thread.
    pub thread_id: u32,
    /// The writing process.
    pub process_id: u32,
    /// When, in the clock of the session.
    pub timestamp: u64,
    /// The class.
    pub class: Guid,
    /// Time of the thread in kernel mode.
    pub kernel_time: u32,
    /// Time of the thread in user mode.
    pub user_time: u32,
}

impl ClassicHeader {
    /// Takes the common part of both headers apart.
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
        assert_eq!(SystemHeader::parse_perfinfo(&bytes[..0x10]).map(|header| header.thread_id), Some(None));
        assert_eq!(ClassicHeader::parse(&bytes), None);
    }
}
