//! Where a record starts and ends. Every header type has a marker, and a size at an offset of its own.

use super::bytes::{u8_at, u16_at, u64_at};
use super::{classic, event, message};

/// Marker bit: the record has one of the headers described here.
pub const MARKER_HEADER: u8 = 0x80;
/// Marker bit: the header type selects the layout.
pub const MARKER_EVENT_TRACE: u8 = 0x40;
/// Marker bit: a WPP message.
pub const MARKER_MESSAGE: u8 = 0x10;

/// The layout of a record's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// `EVENT_HEADER`: TraceLogging and manifest events.
    Event,
    /// `SYSTEM_TRACE_HEADER`: kernel events and the logfile header.
    System,
    /// `SYSTEM_TRACE_HEADER` without processor times.
    Compact,
    /// `PERFINFO_TRACE_HEADER`: kernel events with only a time stamp.
    PerfInfo,
    /// `EVENT_TRACE_HEADER`: classic (MOF) events.
    Full,
    /// `EVENT_INSTANCE_GUID_HEADER`: classic events about instances.
    Instance,
    /// `MESSAGE_TRACE_HEADER`: WPP messages.
    Message,
    /// Another header of known size and unknown layout.
    Foreign,
}

impl Layout {
    /// Returns the size of the header in bytes, which is also the size of the smallest record.
    #[must_use]
    #[inline]
    pub const fn header_size(self) -> usize {
        match self {
            Self::Event => event::SIZE,
            Self::System => classic::SYSTEM_SIZE,
            Self::Compact => classic::COMPACT_SIZE,
            Self::PerfInfo => classic::PERFINFO_SIZE,
            Self::Full => classic::FULL_SIZE,
            Self::Instance => classic::INSTANCE_SIZE,
            Self::Message => message::SIZE,
            Self::Foreign => 8,
        }
    }

    /// Returns whether the record has a hook id: events of the kernel and of the session itself.
    #[must_use]
    #[inline]
    pub const fn is_kernel(self) -> bool {
        matches!(self, Self::System | Self::Compact | Self::PerfInfo)
    }

    #[inline]
    const fn from_type(header_type: u8) -> Self {
        match header_type {
            1 | 2 => Self::System,
            3 | 4 => Self::Compact,
            10 | 20 => Self::Full,
            11 | 21 => Self::Instance,
            16 | 17 => Self::PerfInfo,
            18 | 19 => Self::Event,
            _ => Self::Foreign,
        }
    }

    /// Returns whether the header type is one that 32-bit systems write.
    #[inline]
    pub(crate) const fn is_32_bit(header_type: u8) -> bool {
        matches!(header_type, 1 | 3 | 10 | 11 | 16 | 18)
    }
}

/// What is at an offset in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A record of this layout and size.
    Record(Layout, usize),
    /// The padding after the last record, or the end of the bytes.
    End,
    /// Not a record, or a record that does not fit.
    Bad,
}

/// Returns the time stamp of a record, if it has one.
#[inline]
pub(crate) fn stamp(layout: Layout, record: &[u8]) -> Option<u64> {
    match layout {
        Layout::PerfInfo => u64_at(record, 0x08),
        Layout::Message => message::MessageHeader::parse(record)?.timestamp,
        Layout::Foreign => None,
        _ => u64_at(record, 0x10),
    }
}

/// Examines the bytes of a buffer from a record boundary to the end.
#[must_use]
#[inline]
pub fn next(bytes: &[u8]) -> Next {
    let Some(&[first, second, header_type, marker]) = bytes.first_chunk() else {
        return if bytes.iter().all(|byte| *byte == 0xFF) { Next::End } else { Next::Bad };
    };
    if [first, second, header_type, marker] == [0xFF; 4] {
        return Next::End;
    }
    let layout = if marker & MARKER_HEADER == 0 {
        return Next::Bad;
    } else if marker & MARKER_EVENT_TRACE != 0 {
        Layout::from_type(header_type)
    } else if marker & MARKER_MESSAGE != 0 {
        Layout::Message
    } else {
        Layout::Foreign
    };
    let place = match layout {
        Layout::System | Layout::Compact | Layout::PerfInfo => 4,
        _ => 0,
    };
    match u16_at(bytes, place).map(usize::from) {
        Some(size) if size >= layout.header_size() && size <= bytes.len() => Next::Record(layout, size),
        _ => Next::Bad,
    }
}

/// Returns the header type of a record. Only layouts of the event-trace family have this byte.
#[inline]
pub(crate) fn header_type(record: &[u8]) -> u8 {
    u8_at(record, 2).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Layout, Next, header_type, next};

    fn record(header: [u8; 8], size: usize) -> Vec<u8> {
        let mut bytes = header.to_vec();
        bytes.resize(size, 0);
        bytes
    }

    #[test]
    fn the_header_type_determines_the_offset_of_the_size() {
        for (header_type, layout, at_four, size) in [
            (1, Layout::System, true, 0x28),
            (4, Layout::Compact, true, 0x20),
            (17, Layout::PerfInfo, true, 0x18),
            (20, Layout::Full, false, 0x38),
            (21, Layout::Instance, false, 0x48),
            (19, Layout::Event, false, 0x58),
            (13, Layout::Foreign, false, 0x10),
        ] {
            let size_byte = u8::try_from(size).unwrap();
            let header = if at_four {
                [2, 0, header_type, 0xC0, size_byte, 0, 0, 0]
            } else {
                [size_byte, 0, header_type, 0xC0, 0, 0, 0, 0]
            };
            assert_eq!(next(&record(header, 0x60)), Next::Record(layout, size), "{header_type}");
            assert_eq!(next(&record(header, size - 1)), Next::Bad, "{header_type} cut");
        }
        assert_eq!(next(&record([0x3C, 0, 0, 0x90, 1, 0, 2, 0], 0x60)), Next::Record(Layout::Message, 0x3C));
        assert_eq!(next(&record([0x10, 0, 7, 0x80, 1, 0, 2, 0], 0x60)), Next::Record(Layout::Foreign, 0x10));
    }

    #[test]
    fn half_of_the_header_types_are_those_of_32_bit_systems() {
        for (old, new) in [(1, 2), (3, 4), (10, 20), (11, 21), (16, 17), (18, 19)] {
            assert_eq!(Layout::from_type(old), Layout::from_type(new));
            assert!(Layout::is_32_bit(old), "{old}");
            assert!(!Layout::is_32_bit(new), "{old}");
        }
        assert!(!Layout::is_32_bit(13));
        assert_eq!(header_type(&[0, 0, 7]), 7);
        assert_eq!(header_type(&[]), 0);
    }

    #[test]
    fn a_record_has_at_least_its_header() {
        for (header, size) in [([0x50, 0, 19, 0xC0, 0, 0, 0, 0], 0x50), ([2, 0, 17, 0xC0, 0x10, 0, 0, 0], 0x10)] {
            assert!(matches!(next(&record(header, 0x60)), Next::Record(_, found) if found == size));
            let at = if size == 0x10 { 4 } else { 0 };
            let mut short = header;
            short[at] -= 1;
            assert_eq!(next(&record(short, 0x60)), Next::Bad);
        }
    }

    #[test]
    fn filling_ends_a_buffer_and_anything_else_is_bad() {
        assert_eq!(next(&[]), Next::End);
        assert_eq!(next(&[0xFF; 3]), Next::End);
        assert_eq!(next(&[0xFF; 16]), Next::End);
        assert_eq!(next(&[0; 16]), Next::Bad);
        assert_eq!(next(&[0, 0]), Next::Bad);
        assert_eq!(next(&record([0, 0, 19, 0xC0, 0, 0, 0, 0], 0x60)), Next::Bad);
    }
}
