//! The providers with a manifest or a MOF class that are registered on this machine, by name.

use etw_types::Guid;

use crate::platform;

/// Size of `PROVIDER_ENUMERATION_INFO` before its array, and of a `TRACE_PROVIDER_INFO`, in bytes.
const HEADER: usize = 8;
const ENTRY: usize = 24;

/// Returns the id of a provider that is registered on this machine with a manifest or a MOF class. Case does not matter. Only
/// Windows knows such providers: elsewhere, there is none.
///
/// ```
/// # #[cfg(not(windows))]
/// assert_eq!(etw_session::registered_provider("Microsoft-Windows-Kernel-Process"), None);
/// ```
#[must_use]
pub fn registered_provider(name: &str) -> Option<Guid> {
    find(&platform::registered_providers()?, name)
}

/// Finds a name in a `PROVIDER_ENUMERATION_INFO`.
fn find(block: &[u8], name: &str) -> Option<Guid> {
    let count = usize::try_from(u32::from_le_bytes(*block.first_chunk()?)).ok()?;
    let entries = block.get(HEADER..)?.as_chunks::<ENTRY>().0;
    entries.iter().take(count).find_map(|entry| {
        let (guid, rest) = entry.split_first_chunk::<16>()?;
        let offset = usize::try_from(u32::from_le_bytes(*rest.last_chunk()?)).ok()?;
        let units = block.get(offset..)?.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit));
        let found: String = char::decode_utf16(units.take_while(|unit| *unit != 0))
            .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect();
        found.eq_ignore_ascii_case(name).then(|| Guid::from_bytes_le(guid))
    })
}

#[cfg(test)]
mod tests {
    use etw_types::Guid;

    use super::find;

    #[test]
    fn a_provider_is_found_by_its_registered_name() {
        let guids = [Guid::from_u128(1), Guid::from_u128(2)];
        let mut block = [2_u32.to_le_bytes(), [0; 4]].concat();
        for (guid, offset) in guids.iter().zip([56_u32, 60]) {
            block.extend(guid.to_bytes_le());
            block.extend([0; 4]);
            block.extend(offset.to_le_bytes());
        }
        block.extend("A\0Two\0".encode_utf16().flat_map(u16::to_le_bytes));
        assert_eq!(find(&block, "a"), Some(guids[0]));
        assert_eq!(find(&block, "TWO"), Some(guids[1]));
        assert_eq!(find(&block, "B"), None);
        for length in 0..block.len() {
            let _ = find(&block[..length], "Two");
        }
        block[28] = 0xFF;
        assert_eq!(find(&block, "none"), None);
    }
}
