//! The examples of [MS-XCA], and hostile input.

use proptest::prelude::*;

use windows_constants::runtime_library::{
    COMPRESSION_FORMAT_LZNT1 as LZNT1, COMPRESSION_FORMAT_XPRESS as XPRESS,
    COMPRESSION_FORMAT_XPRESS_HUFF as XPRESS_HUFF,
};

use super::append;
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

/// A literal, or a match: distance and length.
#[derive(Clone, Copy)]
enum Token {
    Literal(u8),
    Match(usize, usize),
}
use Token::{Literal, Match};

/// Returns what tokens stand for.
fn plain(tokens: &[Token]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for token in tokens {
        match *token {
            Literal(byte) => bytes.push(byte),
            Match(distance, length) => (0..length).for_each(|_| bytes.push(bytes[bytes.len() - distance])),
        }
    }
    bytes
}

fn literals(count: usize) -> Vec<Token> {
    (0..=255).cycle().take(count).map(Literal).collect()
}

/// Appends what follows when 255 is not enough for a length: a word, or a zero word and four bytes.
fn push_long(out: &mut Vec<u8>, number: usize) {
    match u16::try_from(number) {
        Ok(number) => out.extend(number.to_le_bytes()),
        Err(_) => out.extend([&[0, 0], &u32::try_from(number).unwrap().to_le_bytes()[..]].concat()),
    }
}

/// Encodes tokens as plain LZ77.
fn pack_xpress(tokens: &[Token]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut half = None;
    for group in tokens.chunks(32) {
        let bits = group.iter().enumerate().filter(|(_, token)| matches!(token, Match(..)));
        let flags = bits.fold(0, |flags, (place, _)| flags | 1_u32 << (31 - place));
        out.extend(flags.to_le_bytes());
        for token in group {
            let (distance, length) = match *token {
                Literal(byte) => {
                    out.push(byte);
                    continue;
                }
                Match(distance, length) => (distance, length - 3),
            };
            out.extend(u16::try_from((distance - 1) << 3 | length.min(7)).unwrap().to_le_bytes());
            let Some(more) = length.checked_sub(7) else { continue };
            let nibble = u8::try_from(more.min(15)).unwrap();
            match half.take() {
                None => {
                    half = Some(out.len());
                    out.push(nibble);
                }
                Some(place) => out[place] |= nibble << 4,
            }
            let Some(more) = more.checked_sub(15) else { continue };
            out.push(u8::try_from(more.min(255)).unwrap());
            if more >= 255 {
                push_long(&mut out, length);
            }
        }
    }
    out
}

#[test]
fn plain_lz77_unpacks_matches_of_every_length_and_distance() {
    let start = literals(150);
    // Every length up to the longest that a byte holds; then words; then four bytes.
    for length in (3..30).chain(275..283).chain([0xFFFF + 3, 0x1_0000 + 3]) {
        for distance in [1, 40] {
            let tokens = [&start[..], &[Match(distance, length), Literal(7), Match(150, length)]].concat();
            let whole = plain(&tokens);
            assert!(unpack(XPRESS, &pack_xpress(&tokens), whole.len()) == Ok(whole), "{length} at {distance}");
        }
    }
    let far = [&literals(8192)[..], &[Match(8192, 9)]].concat();
    assert!(unpack(XPRESS, &pack_xpress(&far), 8201) == Ok(plain(&far)));
}

#[test]
fn plain_lz77_refuses_matches_that_do_not_fit() {
    let fits = [Literal(1), Literal(2), Match(2, 5)];
    assert_eq!(unpack(XPRESS, &pack_xpress(&fits), 7), Ok(vec![1, 2, 1, 2, 1, 2, 1]));
    // Beyond the start, and beyond the promised size.
    assert!(unpack(XPRESS, &pack_xpress(&[Literal(1), Literal(2), Match(3, 5)]), 7).is_err());
    assert!(unpack(XPRESS, &pack_xpress(&fits), 6).is_err());
    // A long length that is shorter than a short one can be.
    let mut packed = pack_xpress(&[Literal(1), Match(1, 0x1000)]);
    let end = packed.len();
    packed[end - 2..].copy_from_slice(&21_u16.to_le_bytes());
    assert!(unpack(XPRESS, &packed, 0x1000).is_err());
    packed[end - 2..].copy_from_slice(&22_u16.to_le_bytes());
    assert_eq!(unpack(XPRESS, &packed, 26), Ok(vec![1; 26]));
}

/// Encodes tokens as LZ77 with Huffman coding. Every symbol has a code of nine bits: the symbol itself.
fn pack_huffman(tokens: &[Token]) -> Vec<u8> {
    let mut out = vec![0x99; 256];
    out.extend([0; 4]);
    // Where the word with the next bit and the word after it are. A decoder reads two words ahead, so these are before the
    // bytes that follow a symbol.
    let mut places = [256, 258];
    let mut count = 0;
    let mut put = |out: &mut Vec<u8>, value: usize, width: u32| {
        for bit in (0..width).rev() {
            if count == 16 {
                (places, count) = ([places[1], out.len()], 0);
                out.extend([0; 2]);
            }
            let [low, high] = (u16::from(value >> bit & 1 == 1) << (15 - count)).to_le_bytes();
            out[places[0]] |= low;
            out[places[0] + 1] |= high;
            count += 1;
        }
    };
    for token in tokens {
        let (distance, length) = match *token {
            Literal(byte) => {
                put(&mut out, byte.into(), 9);
                continue;
            }
            Match(distance, length) => (distance, length - 3),
        };
        let width = distance.ilog2();
        put(&mut out, 256 + (usize::try_from(width).unwrap() << 4 | length.min(15)), 9);
        if let Some(more) = length.checked_sub(15) {
            out.push(u8::try_from(more.min(255)).unwrap());
            if more >= 255 {
                push_long(&mut out, length);
            }
        }
        put(&mut out, distance - (1 << width), width);
    }
    out
}

#[test]
fn huffman_unpacks_matches_of_every_length_and_distance() {
    let start = literals(40);
    for length in (3..20).chain(268..276).chain([65_000]) {
        for distance in [1, 2, 3, 40] {
            let tokens = [&start[..], &[Match(distance, length), Literal(7)]].concat();
            let whole = plain(&tokens);
            assert!(unpack(XPRESS_HUFF, &pack_huffman(&tokens), whole.len()) == Ok(whole), "{length} at {distance}");
        }
    }
    let far = [&literals(33_000)[..], &[Match(32_768, 9), Match(33_000, 3), Match(16_383, 4)]].concat();
    assert!(unpack(XPRESS_HUFF, &pack_huffman(&far), 33_016) == Ok(plain(&far)));
}

#[test]
fn every_huffman_block_has_its_own_table() {
    let first = literals(0x1_0000);
    // The last match of a block may reach into the next one; a length may need four bytes.
    for last in [vec![Literal(1)], vec![Match(1, 0x1_0000 + 3)]] {
        let blocks = [&first[..0xFFFF], &last, &[Match(5, 5)]].concat();
        let (before, after) = blocks.split_at(0x1_0000);
        let packed = [pack_huffman(before), pack_huffman(after)].concat();
        let whole = plain(&blocks);
        assert!(unpack(XPRESS_HUFF, &packed, whole.len()) == Ok(whole));
    }
}

#[test]
fn huffman_tables_must_use_every_code() {
    let packed = pack_huffman(&literals(20));
    assert_eq!(unpack(XPRESS_HUFF, &packed, 20), Ok(plain(&literals(20))));
    for (place, lengths) in [(0, 0x98), (0, 0x9A), (255, 0x89), (255, 0x09)] {
        let mut other = packed.clone();
        other[place] = lengths;
        assert!(unpack(XPRESS_HUFF, &other, 20).is_err(), "{place} {lengths:#x}");
    }
}

/// Encodes tokens as chunks of LZNT1.
fn pack_lznt1(chunks: &[&[Token]]) -> Vec<u8> {
    let mut out = Vec::new();
    for tokens in chunks {
        let mut body = Vec::new();
        let mut done = 0_usize;
        for group in tokens.chunks(8) {
            let bits = group.iter().enumerate().filter(|(_, token)| matches!(token, Match(..)));
            body.push(bits.fold(0, |flags, (place, _)| flags | 1_u8 << place));
            for token in group {
                match *token {
                    Literal(byte) => {
                        body.push(byte);
                        done += 1;
                    }
                    Match(distance, length) => {
                        // As many bits as the largest possible distance has, at least four.
                        let distance_bits = done.next_power_of_two().ilog2().clamp(4, 12);
                        let token = (distance - 1) << (16 - distance_bits) | (length - 3);
                        body.extend(u16::try_from(token).unwrap().to_le_bytes());
                        done += length;
                    }
                }
            }
        }
        out.extend((0xB000 | u16::try_from(body.len() - 1).unwrap()).to_le_bytes());
        out.extend(body);
    }
    out
}

/// Returns tokens for this many bytes. A chunk of literals only can be too large.
fn filled(count: usize) -> Vec<Token> {
    let mut tokens = literals(count.min(64));
    let rest = count - tokens.len();
    tokens.extend(std::iter::repeat_n(Match(64, 18), rest / 18));
    tokens.extend(literals(rest % 18));
    tokens
}

#[test]
fn lznt1_lengths_have_fewer_bits_further_into_a_chunk() {
    for count in [1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1024, 1025, 2047, 2048, 2049, 4000] {
        for length in [3, 4, 17] {
            let tokens = [&filled(count)[..], &[Match(count, length), Match(1, 3), Literal(9)]].concat();
            let whole = plain(&tokens);
            assert!(unpack(LZNT1, &pack_lznt1(&[&tokens]), whole.len()) == Ok(whole), "{length} after {count}");
        }
    }
}

#[test]
fn lznt1_matches_stay_within_their_chunk() {
    let first = filled(4096);
    let second = [&literals(5)[..], &[Match(5, 20)]].concat();
    let whole = [plain(&first), plain(&second)].concat();
    assert_eq!(unpack(LZNT1, &pack_lznt1(&[&first, &second]), whole.len()).as_ref(), Ok(&whole));
    // A distance beyond the start of the chunk, and a chunk of more than 4096 bytes.
    let far = [&literals(5)[..], &[Match(6, 20)]].concat();
    assert!(unpack(LZNT1, &pack_lznt1(&[&first, &far]), whole.len()).is_err());
    let large = [&filled(4090)[..], &[Match(1, 7)]].concat();
    assert!(unpack(LZNT1, &pack_lznt1(&[&large, &second]), 4097 + 25).is_err());
    let full = [&filled(4090)[..], &[Match(1, 6)]].concat();
    let packed = pack_lznt1(&[&full, &second]);
    assert_eq!(unpack(LZNT1, &packed, 4096 + 25).map(|bytes| bytes.len()), Ok(4096 + 25));
    // The end of the data, and a chunk that is cut off.
    assert!(unpack(LZNT1, &[&packed[..], &[0, 0]].concat(), 4096 + 26).is_err());
    assert!(unpack(LZNT1, &packed[..packed.len() - 1], 4096 + 25).is_err());
}

#[test]
fn a_size_that_no_compression_reaches_is_refused() {
    let packed = pack_xpress(&[Literal(1), Match(1, 50_000)]);
    let most = packed.len() * 1024;
    assert_eq!(unpack(XPRESS, &pack_xpress(&[Literal(1), Match(1, most - 1)]), most), Ok(vec![1; most]));
    let more = most + 1;
    assert!(unpack(XPRESS, &pack_xpress(&[Literal(1), Match(1, more - 1)]), more).is_err());
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
