//! The checksum of the optional header: 16-bit words added with end-around carry, plus the file's length.
//!
//! The field itself counts as zero. The checksum covers the whole file, including the signature, so it must be written last.

/// Returns the checksum of a file. `field` is the offset of the checksum field, which the format guarantees to be even.
#[must_use]
pub fn checksum(file: &[u8], field: u64) -> u32 {
    let mut sum: u32 = 0;
    let mut offset: u64 = 0;
    for pair in file.chunks(2) {
        let word = match *pair {
            [low, high] => u16::from_le_bytes([low, high]),
            [low] => u16::from(low),
            _ => 0,
        };
        if offset < field || offset >= field.saturating_add(4) {
            sum += u32::from(word);
            sum = (sum & 0xffff) + (sum >> 16);
        }
        offset += 2;
    }
    // The length is added modulo 2³². A file longer than that is not a valid image anyway.
    let length = u32::try_from(file.len()).unwrap_or(u32::MAX);
    sum.wrapping_add(length)
}

/// Offset of the field that holds the offset of the PE signature, and offset of `CheckSum` relative to the signature.
const HEADER_AT: usize = 0x3c;
const CHECKSUM_IN_HEADER: usize = 4 + 20 + 64;

/// Writes the correct checksum into a file. Returns `None` and changes nothing if the file has no PE headers.
pub fn write_checksum(file: &mut [u8]) -> Option<()> {
    let header = usize::try_from(u32::from_le_bytes(*file.get(HEADER_AT..)?.first_chunk()?)).ok()?;
    file.get(header..)?.strip_prefix(b"PE\0\0")?;
    let place = header.checked_add(CHECKSUM_IN_HEADER)?;
    let sum = checksum(file, u64::try_from(place).ok()?);
    *file.get_mut(place..)?.first_chunk_mut()? = sum.to_le_bytes();
    Some(())
}

#[cfg(test)]
mod tests {
    use super::{checksum, write_checksum};

    #[test]
    fn writing_it_twice_changes_nothing() {
        let mut file = vec![0; 0x200];
        file[0x3c] = 0x80;
        file[0x80..0x84].copy_from_slice(b"PE\0\0");
        write_checksum(&mut file).unwrap();
        // The value 0x80 of the header's offset, "PE", and the length of 0x200 bytes.
        assert_eq!(file[0xd8..0xdc], (0x80_u32 + 0x4550 + 0x200).to_le_bytes());
        let once = file.clone();
        write_checksum(&mut file).unwrap();
        assert_eq!(file, once);
    }

    #[test]
    fn files_without_headers_are_left_alone() {
        assert_eq!(write_checksum(&mut []), None);
        assert_eq!(write_checksum(&mut [0; 64]), None);
        let mut far = vec![0; 64];
        far[0x3c..0x40].fill(0xff);
        assert_eq!(write_checksum(&mut far), None);
    }

    #[test]
    fn words_are_added_with_the_carry_brought_round() {
        assert_eq!(checksum(&[0xff, 0xff, 0x02, 0x00], 100), 0x0002 + 4);
        assert_eq!(checksum(&[], 0), 0);
    }

    #[test]
    fn the_field_itself_does_not_count() {
        let plain = [1, 0, 0, 0, 0, 0, 2, 0];
        let filled = [1, 0, 9, 9, 9, 9, 2, 0];
        assert_eq!(checksum(&plain, 2), 3 + 8);
        assert_eq!(checksum(&filled, 2), 3 + 8);
    }

    #[test]
    fn an_odd_last_byte_is_the_low_half_of_a_word() {
        assert_eq!(checksum(&[1, 0, 7], 100), 8 + 3);
    }
}
