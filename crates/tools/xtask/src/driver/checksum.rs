//! The checksum in an image's header, which Windows verifies of every driver; LLVM's older linkers leave it zero.

/// Offsets in a file with PE headers (Microsoft's "PE Format").
const HEADER_AT: usize = 0x3c;
const CHECKSUM_IN_HEADER: usize = 4 + 20 + 64;

/// Writes the right checksum; `None` where there are no PE headers.
pub(super) fn write(image: &mut [u8]) -> Option<()> {
    let header = u32::from_le_bytes(image.get(HEADER_AT..HEADER_AT + 4)?.try_into().ok()?);
    let header = usize::try_from(header).ok()?;
    image.get(header..)?.starts_with(b"PE\0\0").then_some(())?;
    let place = header.checked_add(CHECKSUM_IN_HEADER)?;
    image.get_mut(place..place.checked_add(4)?)?.fill(0);
    let sum = of(image);
    image.get_mut(place..place + 4)?.copy_from_slice(&sum.to_le_bytes());
    Some(())
}

/// All words added with end-around carry, and the length of the file; the field itself counts as zero.
fn of(image: &[u8]) -> u32 {
    let words = image.chunks(2).map(|pair| u32::from(pair[0]) | (u32::from(*pair.get(1).unwrap_or(&0)) << 8));
    let folded = words.fold(0, |sum, word| {
        let sum = sum + word;
        (sum & 0xffff) + (sum >> 16)
    });
    folded.wrapping_add(u32::try_from(image.len()).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::write;

    fn image() -> Vec<u8> {
        let mut bytes = vec![0; 0x200];
        bytes[0x3c] = 0x80;
        bytes[0x80..0x84].copy_from_slice(b"PE\0\0");
        bytes
    }

    #[test]
    fn words_and_length_are_summed() {
        let mut bytes = image();
        write(&mut bytes).unwrap();
        // 0x80 of the header's place, "PE", and 0x200 bytes.
        assert_eq!(bytes[0xd8..0xdc], (0x80_u32 + 0x4550 + 0x200).to_le_bytes());
    }

    #[test]
    fn writing_it_twice_changes_nothing() {
        let mut bytes = image();
        write(&mut bytes).unwrap();
        let once = bytes.clone();
        write(&mut bytes).unwrap();
        assert_eq!(bytes, once);
    }

    #[test]
    fn other_files_are_left_alone() {
        assert_eq!(write(&mut []), None);
        assert_eq!(write(&mut [0; 64]), None);
        let mut far = vec![0; 64];
        far[0x3c..0x40].fill(0xff);
        assert_eq!(write(&mut far), None);
    }
}
