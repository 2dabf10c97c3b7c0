//! Golden bytes, and each kind of invalid blob.

use std::string::ToString;
use std::vec::Vec;

use super::{TraitsBuilder, TraitsError, validate};
use crate::Guid;

const GROUP: Guid = Guid::from_u128(0xfaaf_2f61_9b26_4591_9bb1_b9b8_bae2_d34c);

const WITH_GROUP: [u8; 32] = [
    0x20, 0x00, 0x4d, 0x79, 0x50, 0x72, 0x6f, 0x76, 0x69, 0x64, 0x65, 0x72, 0x00, 0x13, 0x00, 0x01, 0x61, 0x2f, 0xaf,
    0xfa, 0x26, 0x9b, 0x91, 0x45, 0x9b, 0xb1, 0xb9, 0xb8, 0xba, 0xe2, 0xd3, 0x4c,
];

#[test]
fn a_name_alone_has_the_documented_bytes() {
    const BLOB: Result<[u8; 13], TraitsError> = TraitsBuilder::new("MyProvider").encode();
    assert_eq!(BLOB, Ok(*b"\x0d\x00MyProvider\x00"));
}

#[test]
fn a_group_has_the_documented_bytes() {
    const BLOB: Result<[u8; 32], TraitsError> = TraitsBuilder::new("MyProvider").with_group(GROUP).encode();
    assert_eq!(BLOB, Ok(WITH_GROUP));
}

#[test]
fn every_record_is_found_again() {
    let custom: [(u8, &[u8]); 2] = [(128, b""), (255, b"data")];
    let builder = TraitsBuilder::new("P").with_group(GROUP).with_decode_guid(Guid::from_u128(7)).with_custom(&custom);
    let mut blob = std::vec![0; builder.encoded_len().unwrap()];
    builder.encode_into(&mut blob).unwrap();
    let traits = validate(&blob).unwrap();
    assert_eq!(traits.name(), b"P");
    assert_eq!(traits.group(), Some(GROUP));
    assert_eq!(traits.decode_guid(), Some(Guid::from_u128(7)));
    let own: Vec<_> = traits.records().skip(2).map(|record| (record.kind.as_int(), record.data)).collect();
    assert_eq!(own, custom);
}

#[test]
fn the_group_is_the_first_record_of_type_1_and_size_19() {
    let custom: [(u8, &[u8]); 1] = [(200, &[0; 16])];
    let builder = TraitsBuilder::new("P").with_custom(&custom);
    let mut blob = std::vec![0; builder.encoded_len().unwrap()];
    builder.encode_into(&mut blob).unwrap();
    assert_eq!(validate(&blob).unwrap().group(), None);
}

#[test]
#[cfg_attr(miri, ignore = "walks many kilobytes")]
fn impossible_traits_are_refused_before_encoding() {
    let long = "x".repeat(0x7FFF - 2);
    let reserved: [(u8, &[u8]); 1] = [(127, b"")];
    let huge = std::vec![0; 0x7FFF];
    let too_much: [(u8, &[u8]); 1] = [(128, &huge)];
    for (builder, error) in [
        (TraitsBuilder::new("a\0b"), TraitsError::NulInName),
        (TraitsBuilder::new(&long), TraitsError::TooLarge),
        (TraitsBuilder::new("P").with_custom(&reserved), TraitsError::ReservedType(127)),
        (TraitsBuilder::new("P").with_custom(&too_much), TraitsError::TooLarge),
    ] {
        assert_eq!(builder.encoded_len(), Err(error));
    }
    assert_eq!(TraitsBuilder::new("P").encode::<3>(), Err(TraitsError::WrongArrayLength));
    assert_eq!(TraitsBuilder::new(&long[1..]).encoded_len(), Ok(0x7FFF));
}

#[test]
fn every_malformed_blob_is_named() {
    let cases: [(&[u8], TraitsError); 9] = [
        (b"", TraitsError::TooShort),
        (b"\x03", TraitsError::TooShort),
        (b"\x02\x00", TraitsError::TooShort),
        (b"\x05\x00P\x00", TraitsError::SizeMismatch { declared: 5, actual: 4 }),
        (b"\x03\x00P\x00", TraitsError::SizeMismatch { declared: 3, actual: 4 }),
        (b"\x04\x00Px", TraitsError::UnterminatedName),
        (b"\x06\x00P\x00\x03\x00", TraitsError::BadRecord { offset: 4 }),
        (b"\x07\x00P\x00\x02\x00\x01", TraitsError::BadRecord { offset: 4 }),
        (b"\x07\x00P\x00\x04\x00\x01", TraitsError::BadRecord { offset: 4 }),
    ];
    for (blob, error) in cases {
        assert_eq!(validate(blob), Err(error), "{blob:x?}");
    }
}

#[test]
fn every_error_says_what_is_wrong() {
    for (error, text) in [
        (TraitsError::NulInName, "a NUL"),
        (TraitsError::TooLarge, "larger than 32767 bytes"),
        (TraitsError::ReservedType(127), "type 127 is reserved"),
        (TraitsError::WrongArrayLength, "another length"),
        (TraitsError::TooShort, "shorter than 3 bytes"),
        (TraitsError::SizeMismatch { declared: 5, actual: 4 }, "declare 5 bytes and have 4"),
        (TraitsError::UnterminatedName, "no end"),
        (TraitsError::BadRecord { offset: 4 }, "offset 4"),
    ] {
        assert!(error.to_string().contains(text), "{error}");
    }
}

#[test]
fn no_truncation_of_a_good_blob_is_good() {
    for end in 0..WITH_GROUP.len() {
        assert!(validate(&WITH_GROUP[..end]).is_err());
    }
}
