//! Definitions of stack keys: records that give the return addresses for the key in an extended item.
//!
//! Public analyses of the kernel name the hooks (group `STACKWALK`, types create, delete and rundown), and public readers parse
//! the data as a key and addresses. A definition of type delete or rundown comes after the events that refer to the key, and the
//! key may then get another stack: Microsoft's public `TraceEvent` library (`TraceLog.cs`) resolves them so, and two traces in its
//! tests have keys that are used again. No captured file with a create record was available; this crate's sessions write one before the first event with
//! the key.

use super::bytes::{u32_at, u64_at, utf16z};
use super::classic::{PERFINFO_SIZE, SYSTEM_SIZE, SystemHeader, TYPE_PERFINFO_64, TYPE_SYSTEM_64};
use super::record::{Layout, header_type};
use etw_types::Guid;

/// Hook of the definition that is written when a key is created.
pub const HOOK_CREATE: u16 = 0x1822;
/// Hook of the definition that is written when a key is deleted.
pub const HOOK_DELETE: u16 = 0x1823;
/// Hook of the definition that is written for every key when a trace ends.
pub const HOOK_RUNDOWN: u16 = 0x1824;
/// Hook of `WMI_LOG_TYPE_BINARY_PATH`: the path of a provider's binary.
pub const HOOK_BINARY_PATH: u16 = 0x0043;

/// Appends the definition of a key. Returns `false` without appending anything if it has more than 65535 bytes.
pub fn push_definition(out: &mut Vec<u8>, hook_id: u16, stamp: u64, key: u64, frames: &[u64]) -> bool {
    let Ok(size) = u16::try_from(PERFINFO_SIZE + 8 + frames.len() * 8) else {
        return false;
    };
    let header = SystemHeader {
        version: 2,
        header_type: TYPE_PERFINFO_64,
        size,
        hook_id,
        timestamp: stamp,
        ..SystemHeader::default()
    };
    out.extend_from_slice(&header.to_perfinfo_bytes());
    out.extend_from_slice(&key.to_le_bytes());
    out.extend(frames.iter().flat_map(|frame| frame.to_le_bytes()));
    true
}

/// The definition of a key.
#[derive(Debug)]
pub(crate) struct Definition<'a> {
    pub(crate) key: u64,
    /// Whether the record precedes the events that refer to the key.
    pub(crate) is_create: bool,
    is_32_bit: bool,
    frames: &'a [u8],
}

impl Definition<'_> {
    /// Returns the number of addresses.
    pub(crate) const fn len(&self) -> usize {
        self.frames.len() / if self.is_32_bit { 4 } else { 8 }
    }

    /// Appends the addresses to `out`.
    pub(crate) fn append(&self, out: &mut Vec<u64>) {
        if self.is_32_bit {
            out.extend(self.frames.as_chunks::<4>().0.iter().map(|frame| u64::from(u32::from_le_bytes(*frame))));
        } else {
            out.extend(self.frames.as_chunks::<8>().0.iter().map(|frame| u64::from_le_bytes(*frame)));
        }
    }

    /// Returns whether this is a stack in kernel mode. Keys of both modes can be equal, and only the addresses tell the modes
    /// apart.
    pub(crate) fn is_kernel(&self) -> bool {
        if self.is_32_bit {
            self.frames.as_chunks::<4>().0.last().is_some_and(|frame| u32::from_le_bytes(*frame) >> 31 != 0)
        } else {
            self.frames.as_chunks::<8>().0.last().is_some_and(|frame| u64::from_le_bytes(*frame) >> 47 != 0)
        }
    }
}

/// Returns the key and the addresses that a record defines, or `None` if it defines none.
#[inline]
pub(crate) fn definition(layout: Layout, record: &[u8]) -> Option<Definition<'_>> {
    let start = match layout {
        Layout::PerfInfo | Layout::System | Layout::Compact => layout.header_size(),
        _ => return None,
    };
    let hook = super::bytes::u16_at(record, 6)?;
    if !matches!(hook, HOOK_CREATE | HOOK_DELETE | HOOK_RUNDOWN) {
        return None;
    }
    let is_32_bit = Layout::is_32_bit(header_type(record));
    let (key, size) = if is_32_bit { (u32_at(record, start)?.into(), 4) } else { (u64_at(record, start)?, 8) };
    Some(Definition { key, is_create: hook == HOOK_CREATE, is_32_bit, frames: record.get(start + size..)? })
}

/// Creates a record that names the binary of a provider. Returns `None` if it has more than 65535 bytes.
///
/// The data is the class `Header_ProviderBinaryPath_TypeGroup` of Microsoft's WMI package: a number of GUIDs, the GUIDs, and the
/// path as NUL-terminated UTF-16.
#[must_use]
pub fn binary_path(stamp: u64, process_id: u32, provider: &Guid, path: &str) -> Option<Vec<u8>> {
    let path = utf16z(path);
    let header = SystemHeader {
        version: 2,
        header_type: TYPE_SYSTEM_64,
        size: u16::try_from(SYSTEM_SIZE + 20 + path.len()).ok()?,
        hook_id: HOOK_BINARY_PATH,
        thread_id: Some(0),
        process_id: Some(process_id),
        timestamp: stamp,
        ..SystemHeader::default()
    };
    Some([&header.to_bytes()[..], &1_u32.to_le_bytes(), &provider.to_bytes_le(), &path].concat())
}

#[cfg(test)]
mod tests {
    use super::{
        Definition, HOOK_BINARY_PATH, HOOK_CREATE, HOOK_DELETE, HOOK_RUNDOWN, binary_path, definition, push_definition,
    };
    use crate::format::classic::{SYSTEM_SIZE, SystemHeader};
    use crate::format::record::{Layout, Next, next};
    use etw_types::Guid;

    fn frames(definition: &Definition<'_>) -> Vec<u64> {
        let mut frames = Vec::new();
        definition.append(&mut frames);
        frames
    }

    #[test]
    fn a_definition_is_found_again() {
        let mut record = Vec::new();
        assert!(push_definition(&mut record, HOOK_CREATE, 5, 77, &[1, 2]));
        assert_eq!(next(&record), Next::Record(Layout::PerfInfo, 16 + 8 + 16));
        let found = definition(Layout::PerfInfo, &record).unwrap();
        assert_eq!(found.key, 77);
        assert_eq!(found.len(), 2);
        assert!(found.is_create);
        assert!(!found.is_kernel());
        assert_eq!(frames(&found), [1, 2]);
        assert!(definition(Layout::Event, &record).is_none());
        assert!(definition(Layout::PerfInfo, &record[..20]).is_none());
        record[6] = 0x20;
        assert!(definition(Layout::PerfInfo, &record).is_none(), "a stack of a kernel event is not a definition");
        assert!(!push_definition(&mut Vec::new(), HOOK_CREATE, 5, 77, &vec![0; 9000]));
    }

    #[test]
    fn every_definition_has_its_place_after_the_header() {
        let body = [7_u64, 1, 2].map(u64::to_le_bytes).concat();
        for (layout, hook) in
            [(Layout::PerfInfo, HOOK_CREATE), (Layout::Compact, HOOK_DELETE), (Layout::System, HOOK_RUNDOWN)]
        {
            let mut record = vec![0; layout.header_size()];
            record[6..8].copy_from_slice(&hook.to_le_bytes());
            record.extend(&body);
            let found = definition(layout, &record).unwrap();
            assert_eq!(found.key, 7, "{layout:?}");
            assert_eq!(frames(&found), vec![1, 2], "{layout:?}");
            assert_eq!(found.is_create, hook == HOOK_CREATE);
        }
    }

    #[test]
    fn keys_and_addresses_have_the_size_of_the_system_that_wrote_them() {
        let words = |words: [u32; 3]| words.map(u32::to_le_bytes).concat();
        for (outermost, is_kernel) in [(0x8000_0000, true), (0x7FFF_FFFF, false)] {
            let mut record = vec![2, 0, 0x10, 0xC0, 28, 0, 0x23, 0x18, 5, 0, 0, 0, 0, 0, 0, 0];
            record.extend(words([7, 1, outermost]));
            let found = definition(Layout::PerfInfo, &record).unwrap();
            assert_eq!(found.key, 7);
            assert_eq!(found.len(), 2);
            assert_eq!(frames(&found), vec![1, outermost.into()]);
            assert_eq!(found.is_kernel(), is_kernel);
        }
        for (outermost, is_kernel) in [(1 << 47, true), ((1 << 47) - 1, false)] {
            let mut record = Vec::new();
            assert!(push_definition(&mut record, HOOK_DELETE, 5, 77, &[1, outermost]));
            assert_eq!(definition(Layout::PerfInfo, &record).unwrap().is_kernel(), is_kernel);
        }
    }

    #[test]
    fn a_record_names_the_binary_of_a_provider() {
        let provider = Guid::from_u128(0x1122);
        let record = binary_path(9, 4, &provider, "a.sys").unwrap();
        let header = SystemHeader::parse(&record, false).unwrap();
        assert_eq!(next(&record), Next::Record(Layout::System, record.len()));
        assert_eq!(header.version, 2);
        assert_eq!(header.hook_id, HOOK_BINARY_PATH);
        assert_eq!(header.timestamp, 9);
        assert_eq!(header.process_id, Some(4));
        assert_eq!(header.thread_id, Some(0));
        let data = [&[1, 0, 0, 0][..], &provider.to_bytes_le(), b"a\0.\0s\0y\0s\0\0\0"].concat();
        assert_eq!(record[SYSTEM_SIZE..], data);
        let longest = (0xFFFF - SYSTEM_SIZE - 20 - 2) / 2;
        assert!(binary_path(9, 4, &provider, &"n".repeat(longest)).is_some());
        assert!(binary_path(9, 4, &provider, &"n".repeat(longest + 1)).is_none());
    }
}
