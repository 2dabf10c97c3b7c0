//! The checksum of the optional header: 16-bit words added with end-around carry, plus the file's length.
//!
//! The field itself counts as zero. It covers the whole file, the signature included, so it is the last thing to be
//! written.

/// The checksum in the file and the one it should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum {
    /// What the header says; zero where the linker wrote none.
    pub stored: u32,
    /// What it should say.
    pub computed: u32,
}

impl Checksum {
    /// Whether the header tells the truth.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.stored == self.computed
    }
}

/// The checksum of a file whose field for it is at `field`, an even offset as the format guarantees.
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
    // The length is added modulo 2³²; a file that long is no image anyway.
    let length = u32::try_from(file.len()).unwrap_or(u32::MAX);
    sum.wrapping_add(length)
}

#[cfg(test)]
mod tests {
    use super::checksum;

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
