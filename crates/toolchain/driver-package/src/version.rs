//! The contents of an image's version resource (Learn, "`VS_VERSIONINFO` structure"): a tree of blocks with keys and values.

use std::fmt::Write as _;

/// The most blocks above one another: the root, `StringFileInfo`, a table, and a string.
const DEPTH: usize = 4;
/// The bytes of a block before its key: its length, the length of its value, and whether the value is text.
const HEADER: usize = 6;

/// Returns the values of a version resource (type 16), each with the keys of its blocks, such as
/// `VS_VERSION_INFO/StringFileInfo/040904b0/FileVersion`. Text is text, and other values are hexadecimal. Damaged blocks are left out.
pub(crate) fn version_values(resource: &[u8]) -> Vec<(String, String)> {
    let mut values = Vec::new();
    block(resource, "", DEPTH, &mut values);
    values
}

/// Adds the values of a block and of those in it. Returns the length of the block.
fn block(bytes: &[u8], above: &str, depth: usize, values: &mut Vec<(String, String)>) -> Option<usize> {
    let number = |at: usize| Some(usize::from(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?)));
    let length = number(0)?;
    let units = number(2)?;
    let is_text = number(4)? == 1;
    let bytes = bytes.get(..length).filter(|bytes| bytes.len() > HEADER)?;
    let (key, used) = text(bytes.get(HEADER..)?);
    let key = if above.is_empty() { key } else { format!("{above}/{key}") };
    let start = (HEADER + used).next_multiple_of(4);
    let size = if is_text { units * 2 } else { units };
    let value = bytes.get(start..start.checked_add(size)?)?;
    if is_text {
        values.push((key.clone(), text(value).0));
    } else if !value.is_empty() {
        values.push((key.clone(), hexadecimal(value)));
    }
    let mut at = (start + size).next_multiple_of(4);
    while depth > 1 && at < length {
        at = (at + block(bytes.get(at..)?, &key, depth - 1, values)?).next_multiple_of(4);
    }
    Some(length)
}

/// Reads text up to its end or a zero. Returns the number of bytes that it takes, with the zero.
fn text(bytes: &[u8]) -> (String, usize) {
    let units = bytes.as_chunks().0.iter().map(|unit| u16::from_le_bytes(*unit));
    let units: Vec<u16> = units.take_while(|unit| *unit != 0).collect();
    (String::from_utf16_lossy(&units), (units.len() + 1) * 2)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::version_values;

    /// A block with everything that is in it, padded as the resource compiler does.
    fn block(key: &str, is_text: bool, units: usize, value: &[u8], inner: &[Vec<u8>]) -> Vec<u8> {
        let pad = |bytes: &mut Vec<u8>| bytes.resize(bytes.len().next_multiple_of(4), 0);
        let mut bytes = vec![0; 2];
        bytes.extend(u16::try_from(units).unwrap().to_le_bytes());
        bytes.extend(u16::from(is_text).to_le_bytes());
        bytes.extend(key.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
        pad(&mut bytes);
        bytes.extend(value);
        for inner in inner {
            pad(&mut bytes);
            bytes.extend(inner);
        }
        let length = u16::try_from(bytes.len()).unwrap().to_le_bytes();
        bytes[..2].copy_from_slice(&length);
        bytes
    }

    fn wide(text: &str) -> Vec<u8> {
        text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
    }

    fn whole() -> Vec<u8> {
        let string = block("FileVersion", true, 4, &wide("1.2"), &[]);
        let other = block("Company", true, 2, &wide("X"), &[]);
        let strings = block("StringFileInfo", true, 0, &[], &[block("040904b0", true, 0, &[], &[string, other])]);
        block("VS_VERSION_INFO", false, 4, &[0xbd, 4, 0xef, 0xfe], &[strings])
    }

    #[test]
    fn values_have_the_keys_of_all_blocks_above() {
        let values = version_values(&whole());
        let value = |key: &str| values.iter().find(|(own, _)| own.ends_with(key)).map(|(_, value)| value.as_str());
        assert_eq!(value("VS_VERSION_INFO"), Some("bd04effe"));
        assert_eq!(value("VS_VERSION_INFO/StringFileInfo/040904b0/FileVersion"), Some("1.2"));
        assert_eq!(value("/Company"), Some("X"));
    }

    #[test]
    fn damage_anywhere_ends() {
        let whole = whole();
        for end in 0..whole.len() {
            let _ = version_values(&whole[..end]);
        }
        for at in 0..whole.len() {
            for value in [0, 1, 0xff] {
                let mut changed = whole.clone();
                changed[at] = value;
                let _ = version_values(&changed);
            }
        }
    }
}
