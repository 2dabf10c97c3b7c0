//! The examples of [MS-XCA], and hostile input.

use proptest::prelude::*;

use super::{LZNT1, XPRESS, XPRESS_HUFF, append};
use crate::read::report::LossReason;

fn unpack(format: u16, packed: &[u8], size: usize) -> Result<Vec<u8>, LossReason> {
    let mut out = b"before".to_vec();
    append(format, packed, size, &mut out).map(|()| out.split_off(6))
}

fn abc() -> Vec<u8> {
    b"abc".repeat(100)
}

#[test]
fn plain_lz77_unpacks_the_published_examples() {
    let packed = [&[0x3F, 0, 0, 0][..], b"abcdefghijklmnopqrstuvwxyz"].concat();
    assert_eq!(unpack(XPRESS, &packed, 26).unwrap(), b"abcdefghijklmnopqrstuvwxyz");
    let packed = [0xFF, 0xFF, 0xFF, 0x1F, 0x61, 0x62, 0x63, 0x17, 0x00, 0x0F, 0xFF, 0x26, 0x01];
    assert_eq!(unpack(XPRESS, &packed, 300).unwrap(), abc());
}

/// Builds a table of code lengths: 5 bits for the symbols in `five`, 4 bits for those in `four`.
fn table(five: &[u16], four: &[u16]) -> Vec<u8> {
    let mut table = vec![0; 256];
    for (symbols, bits) in [(five, 5), (four, 4)] {
        for symbol in symbols {
            table[usize::from(symbol / 2)] |= bits << (4 * (symbol % 2));
        }
    }
    table
}

#[test]
fn huffman_unpacks_the_published_example() {
    let five: Vec<u16> = (97..=118).collect();
    let mut packed = table(&five, &[119, 120, 121, 122, 256]);
    packed.extend([0xD8, 0x52, 0x3E, 0xD7, 0x94, 0x11, 0x5B, 0xE9, 0x19, 0x5F, 0xF9, 0xD6, 0x7C, 0xDF, 0x8D, 0x04]);
    packed.extend([0; 4]);
    assert_eq!(unpack(XPRESS_HUFF, &packed, 26).unwrap(), b"abcdefghijklmnopqrstuvwxyz");
}

#[test]
fn lznt1_unpacks_matches_and_stored_chunks() {
    // Three literals and a match of 297 bytes at distance 3. After 3 bytes, a length has 12 bits.
    let token = 2_u16 << 12 | (297 - 3);
    let body = [&[0x08][..], b"abc", &token.to_le_bytes()].concat();
    let header = 0xB000 | u16::try_from(body.len() - 1).unwrap();
    let packed = [&header.to_le_bytes()[..], &body, &[0, 0]].concat();
    assert_eq!(unpack(LZNT1, &packed, 300).unwrap(), abc());
    let stored = [&[0x02, 0x30][..], b"xyz"].concat();
    assert_eq!(unpack(LZNT1, &stored, 3).unwrap(), b"xyz");
}

#[test]
fn unknown_formats_and_short_input_are_named() {
    assert_eq!(unpack(7, &[0; 8], 8), Err(LossReason::UnknownCompression(7)));
    for format in [LZNT1, XPRESS, XPRESS_HUFF] {
        assert_eq!(unpack(format, &[], 8), Err(LossReason::BadCompression));
        assert_eq!(unpack(format, &[0; 8], usize::MAX), Err(LossReason::BadCompression));
    }
}

proptest! {
    #[test]
    fn no_input_unpacks_to_more_than_was_promised(
        format in 2_u16..5,
        packed in prop::collection::vec(any::<u8>(), 0..600),
        size in 0_usize..5000,
    ) {
        let mut out = Vec::new();
        let whole = append(format, &packed, size, &mut out).is_ok();
        prop_assert!(out.len() <= size);
        prop_assert!(!whole || out.len() == size);
    }
}
