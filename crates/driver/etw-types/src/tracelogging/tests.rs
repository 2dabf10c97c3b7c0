//! Golden bytes, limits, and malformed events.

use core::fmt::Write as _;
use std::string::{String, ToString};
use std::vec;
use std::vec::Vec;

use super::{
    BuildError, Count, DecodeError, EventBuilder, Field, InType, Metadata, MetadataError, OutType, Piece, Value,
    Visitor, decode, encode_pieces, encode_tag, filetime_from_duration_after_1970, filetime_from_duration_before_1970,
    filetime_from_time32, filetime_from_time64, pieces_len, tag_len,
};

/// Event `E { u32 a; str8 b utf8; u8[4] const c; struct s { i32 x; bool8 y } }`.
const GOLDEN: [u8; 28] = [
    0x1c, 0x00, 0x00, 0x45, 0x00, 0x61, 0x00, 0x08, 0x62, 0x00, 0x97, 0x23, 0x63, 0x00, 0x24, 0x04, 0x00, 0x73, 0x00,
    0x98, 0x02, 0x78, 0x00, 0x07, 0x79, 0x00, 0x84, 0x03,
];

#[test]
fn pieces_make_the_documented_bytes() {
    const PIECES: &[Piece<'_>] = &[
        Piece::Tag(0),
        Piece::Bytes(b"E\0a\0"),
        Piece::Type(InType::U32.as_int()),
        Piece::Bytes(b"b\0\x97"),
        Piece::Type(OutType::Utf8.as_int()),
        Piece::Bytes(b"c\0\x24\x04\x00s\0\x98\x02x\0\x07y\0\x84\x03"),
    ];
    const METADATA: Option<[u8; pieces_len(PIECES)]> = encode_pieces(PIECES);
    assert_eq!(METADATA, Some(GOLDEN));
    assert_eq!(encode_pieces::<27>(PIECES), None);
}

#[test]
#[cfg_attr(miri, ignore = "walks many kilobytes")]
fn metadata_over_64_kib_is_refused() {
    let name = vec![b'x'; 0xFFFF];
    assert_eq!(pieces_len(&[Piece::Bytes(&name)]), 0x1_0001);
    assert_eq!(encode_pieces::<0x1_0001>(&[Piece::Bytes(&name)]), None);
    assert!(encode_pieces::<0xFFFF>(&[Piece::Bytes(&name[2..])]).is_some(), "the limit itself is allowed");
}

#[test]
fn tags_have_the_documented_bytes() {
    for (tag, bytes) in [
        (0, &[0x00][..]),
        (0x0240_0000, &[0x12]),
        (0x0FE0_0000, &[0x7f]),
        (0x0FFF_C000, &[0xff, 0x7f]),
        (0x0FFF_FF80, &[0xff, 0xff, 0x7f]),
        (0x0FFF_FFFF, &[0xff, 0xff, 0xff, 0x7f]),
    ] {
        assert_eq!(&encode_tag(tag)[..tag_len(tag)], bytes, "{tag:#x}");
        assert_eq!(super::tag::split_tag(bytes), Some((tag, &[][..])));
    }
}

/// Renders a decoded event for comparison.
#[derive(Default)]
struct Transcript(String);

impl<'a> Visitor<'a> for Transcript {
    fn value(&mut self, field: &Field<'a>, value: Value<'a>) {
        let _ = write!(self.0, "{}={value} ", String::from_utf8_lossy(field.name));
    }
    fn begin_array(&mut self, _: &Field<'a>, count: u16) {
        let _ = write!(self.0, "[{count}: ");
    }
    fn end_array(&mut self, _: &Field<'a>) {
        self.0 += "] ";
    }
    fn begin_struct(&mut self, field: &Field<'a>) {
        let _ = write!(self.0, "{}{{ ", String::from_utf8_lossy(field.name));
    }
    fn end_struct(&mut self, _: &Field<'a>) {
        self.0 += "} ";
    }
    fn custom(&mut self, _: &Field<'a>, bytes: &'a [u8]) {
        let _ = write!(self.0, "custom {bytes:x?} ");
    }
}

fn transcript(metadata: &[u8], payload: &[u8]) -> Result<String, DecodeError> {
    let (metadata, _) = Metadata::parse(metadata)?;
    let mut transcript = Transcript::default();
    decode(&metadata, payload, &mut transcript)?;
    Ok(transcript.0.trim_end().to_string())
}

#[test]
fn the_golden_event_decodes() {
    let payload = b"\x07\x00\x00\x00\x02\x00hi\x01\x02\x03\x04\xff\xff\xff\xff\x01";
    assert_eq!(transcript(&GOLDEN, payload).unwrap(), "a=7 b=hi [4: c=1 c=2 c=3 c=4 ] s{ x=-1 y=1 }");
}

#[test]
fn fields_carry_count_format_and_tag() {
    let (metadata, behind) = Metadata::parse(b"\x10\x00\x00E\0f\0\xa8\x84\x81\x00\x05\x00g\0\x48tail").unwrap();
    assert_eq!(behind, b"tail");
    let fields: Vec<_> = metadata.fields().map(Result::unwrap).collect();
    assert_eq!(
        fields[0],
        Field { name: b"f", in_type: InType::U32, count: Count::Constant(5), out_type: OutType::Hex, tag: 0x0020_0000 }
    );
    assert_eq!(fields[1].count, Count::Variable);
}

#[test]
fn an_array_of_structs_repeats_its_members_and_an_empty_one_skips_them() {
    let metadata = b"\x12\x00\x00E\0s\0\xd8\x02a\0\x04b\0\x04c\0\x04";
    assert_eq!(metadata.len(), 0x12);
    let two = transcript(metadata, b"\x02\x00\x01\x02\x03\x04\x09").unwrap();
    assert_eq!(two, "[2: s{ a=1 b=2 } s{ a=3 b=4 } ] c=9");
    assert_eq!(transcript(metadata, b"\x00\x00\x09").unwrap(), "[0: ] c=9");
    let nested = b"\x16\x00\x00E\0s\0\xd8\x02t\0\x98\x01a\0\x04b\0\x04c\0\x04";
    assert_eq!(transcript(nested, b"\x01\x00\x01\x02\x09").unwrap(), "[1: s{ t{ a=1 } b=2 } ] c=9");
    assert_eq!(transcript(nested, b"\x00\x00\x09").unwrap(), "[0: ] c=9", "members of members are skipped, too");
}

#[test]
fn every_truncation_of_metadata_or_payload_is_an_error() {
    let payload = b"\x07\x00\x00\x00\x02\x00hi\x01\x02\x03\x04\xff\xff\xff\xff\x01";
    for end in 0..GOLDEN.len() {
        assert!(transcript(&GOLDEN[..end], payload).is_err());
    }
    for end in 0..payload.len() {
        assert_eq!(transcript(&GOLDEN, &payload[..end]), Err(DecodeError::Payload));
    }
}

#[test]
fn malformed_metadata_is_named() {
    for (metadata, error) in [
        (&b"\x03\x00\x80"[..], DecodeError::Metadata(MetadataError::UnterminatedTag)),
        (b"\x04\x00\x00E", DecodeError::Metadata(MetadataError::UnterminatedName)),
        (b"\x06\x00\x00E\0f", DecodeError::Metadata(MetadataError::UnterminatedName)),
        (b"\x07\x00\x00E\0f\0", DecodeError::Metadata(MetadataError::MissingType)),
        (b"\x08\x00\x00E\0f\0\x28", DecodeError::Metadata(MetadataError::MissingType)),
        (b"\x09\x00\x00E\0s\0\x98\x01", DecodeError::MissingStructFields),
        (b"\x08\x00\x00E\0f\0\x10", DecodeError::Payload),
    ] {
        assert_eq!(transcript(metadata, b"\0\0\0\0"), Err(error), "{metadata:x?}");
    }
}

/// Constant counts of nested empty structs multiply: 65535 × 65535 × … without a byte of payload.
#[test]
#[cfg_attr(miri, ignore = "walks many kilobytes")]
fn counts_that_multiply_without_bytes_are_stopped() {
    let mut metadata = b"\0\0\0E\0".to_vec();
    for _ in 0..4 {
        metadata.extend_from_slice(b"s\0\xb8\x01\xff\xff");
    }
    metadata.extend_from_slice(b"s\0\xb8\x00\xff\xff");
    metadata[0] = u8::try_from(metadata.len()).unwrap();
    assert_eq!(transcript(&metadata, b""), Err(DecodeError::TooManyValues));
}

/// Members of empty arrays take no payload bytes either, but they are read again for each struct that contains them.
#[test]
#[cfg_attr(miri, ignore = "walks many kilobytes")]
fn members_walked_again_and_again_are_stopped() {
    let mut metadata = b"\0\0\0E\0s\0\xb8\x0a\x00\x02".to_vec();
    for _ in 0..10 {
        metadata.extend_from_slice(b"n\0\xb8\x7f\x00\x00");
        metadata.extend_from_slice(&b"member of a name that is not short\0\x04".repeat(127));
    }
    let size = u16::try_from(metadata.len()).unwrap().to_le_bytes();
    metadata[..2].copy_from_slice(&size);
    assert_eq!(transcript(&metadata, b""), Err(DecodeError::TooManyValues));
}

#[test]
#[cfg_attr(miri, ignore = "walks many kilobytes")]
fn as_many_structs_as_a_payload_has_bytes_are_walked() {
    let mut payload = vec![0xff; 2];
    payload.resize(2 + 0xffff + 1, 7);
    let mut metadata = b"\0\0\0E\0s\0\xd8\x01".to_vec();
    metadata.extend_from_slice(&[b'm'; 60]);
    metadata.extend_from_slice(b"\0\x04last\0\x04");
    metadata[0] = u8::try_from(metadata.len()).unwrap();
    let text = transcript(&metadata, &payload).unwrap();
    assert_eq!(text.matches("m=7").count(), 0xffff);
    assert!(text.ends_with("] last=7"));
}

#[test]
fn structs_nested_too_deeply_are_stopped() {
    let mut metadata = b"\0\0\0E\0".to_vec();
    for _ in 0..1000 {
        metadata.extend_from_slice(b"s\0\x98\x01");
    }
    let size = u16::try_from(metadata.len()).unwrap().to_le_bytes();
    metadata[..2].copy_from_slice(&size);
    assert_eq!(transcript(&metadata, b""), Err(DecodeError::TooDeep));
}

#[test]
fn a_builder_encodes_as_the_constants_do() {
    let mut metadata = [0; 64];
    let mut payload = [0; 64];
    let (metadata, payload) = EventBuilder::new(&mut metadata, &mut payload, "E", 0)
        .u32("a", 7)
        .str8("b", "hi")
        .structure("s", 2, 0)
        .i32("x", -1)
        .bool8("y", true)
        // The flag of an array is added once.
        .array("v", InType::from_int(0x46), OutType::Hex, 0x0FE0_0000, 2, &[1, 0, 2, 0])
        .finish()
        .unwrap();
    assert_eq!(transcript(metadata, payload).unwrap(), "a=7 b=hi s{ x=-1 y=1 } [2: v=1 v=2 ]");
    assert_eq!(metadata[..7], *b"\x1c\x00\x00E\x00a\x00");
    assert_eq!(&metadata[metadata.len() - 5..], b"v\0\xc6\x84\x7f");
}

#[test]
fn a_builder_fails_cleanly_at_every_buffer_length() {
    let build = |metadata_room: usize, payload_room: usize| {
        let mut metadata = vec![0; metadata_room];
        let mut payload = vec![0; payload_room];
        EventBuilder::new(&mut metadata, &mut payload, "Event", 0).str16("Text", &[0x41, 0x42]).finish().map(|_| ())
    };
    assert_eq!(build(15, 6), Ok(()));
    for room in 0..15 {
        assert_eq!(build(room, 6), Err(BuildError::MetadataFull));
    }
    for room in 0..6 {
        assert_eq!(build(15, room), Err(BuildError::PayloadFull));
    }
}

#[test]
#[cfg_attr(miri, ignore = "walks many kilobytes")]
fn a_builder_keeps_its_first_error() {
    let mut metadata = [0; 4096];
    let mut payload = [0; 512];
    let event = EventBuilder::new(&mut metadata, &mut payload, "E\0", 0).structure("s", 128, 0);
    assert_eq!(event.finish(), Err(BuildError::NulInName));
    let event = EventBuilder::new(&mut metadata, &mut payload, "E", 0x1000_0000).u8("a", 1);
    assert_eq!(event.finish(), Err(BuildError::TagTooLarge));
    let event = EventBuilder::new(&mut metadata, &mut payload, "E", 0).structure("s", 128, 0);
    assert_eq!(event.finish(), Err(BuildError::TooManyFields));
    let event = EventBuilder::new(&mut metadata, &mut payload, "E", 0);
    let event = (0..129).fold(event, |event, _| event.u8("a", 1));
    assert_eq!(event.finish(), Err(BuildError::TooManyFields));
    let event = EventBuilder::new(&mut metadata, &mut payload, "E", 0).binary("b", &vec![0; 0x1_0000]);
    assert_eq!(event.finish(), Err(BuildError::ValueTooLong));
    let event = EventBuilder::new(&mut metadata, &mut payload, "E", 0);
    let event = event.field("b", InType::from_int(0x84), OutType::Default, 0, b"");
    assert_eq!(event.finish(), Err(BuildError::BadType));
    let event = EventBuilder::new(&mut metadata, &mut payload, "E", 0);
    let event = event.field("b", InType::U8, OutType::from_int(0x83), 0, b"");
    assert_eq!(event.finish(), Err(BuildError::BadType));
    let event = EventBuilder::new(&mut metadata, &mut payload, "E", 0);
    let event = event.field("b", InType::U8, OutType::Default, 0x1000_0000, b"");
    assert_eq!(event.room(), (0, 0));
    assert_eq!(event.finish(), Err(BuildError::TagTooLarge));
}

#[test]
fn a_builder_allows_the_limits_themselves() {
    let mut metadata = [0; 4096];
    let mut payload = [0; 512];
    let event = EventBuilder::new(&mut metadata, &mut payload, "E", 0x0FFF_FFFF).structure("s", 127, 0x0FFF_FFFF);
    let (metadata, _) = (0..127).fold(event, |event, _| event.u8("a", 1)).finish().unwrap();
    let (read, _) = Metadata::parse(metadata).unwrap();
    let structure = read.fields().next().unwrap().unwrap();
    assert_eq!(read.tag(), 0x0FFF_FFFF);
    assert_eq!(structure.tag, 0x0FFF_FFFF);
    assert_eq!(structure.struct_fields(), Some(127));
    assert_eq!(read.fields().count(), 128);
}

#[test]
fn the_room_of_a_builder_is_what_later_fields_can_use() {
    let mut metadata = [0; 20];
    let mut payload = [0; 10];
    let event = EventBuilder::new(&mut metadata, &mut payload, "E", 0);
    assert_eq!(event.room(), (20 - 5, 10), "size, tag and name are there");
    let event = event.u32("a", 7);
    assert_eq!(event.room(), (20 - 5 - 3, 10 - 4));
    assert_eq!(event.str16("text", &[0x41; 2]).room(), (20 - 5 - 3 - 6, 0));
}

#[test]
fn every_error_says_what_is_wrong() {
    let build = [
        (BuildError::MetadataFull, "metadata is full"),
        (BuildError::PayloadFull, "data is full"),
        (BuildError::NulInName, "a NUL"),
        (BuildError::TagTooLarge, "28 bits"),
        (BuildError::ValueTooLong, "65535 bytes"),
        (BuildError::TooManyFields, "128 fields"),
        (BuildError::BadType, "out of range"),
    ];
    for (error, text) in build {
        assert!(error.to_string().contains(text), "{error}");
    }
    let decode = [
        (DecodeError::Metadata(MetadataError::Truncated), "shorter than its size"),
        (MetadataError::UnterminatedTag.into(), "a tag in the event metadata has no end"),
        (MetadataError::UnterminatedName.into(), "a name in the event metadata has no end"),
        (MetadataError::MissingType.into(), "no type"),
        (DecodeError::Payload, "does not fit"),
        (DecodeError::MissingStructFields, "lacks fields"),
        (DecodeError::TooDeep, "too deeply"),
        (DecodeError::TooManyValues, "more values"),
    ];
    for (error, text) in decode {
        assert!(error.to_string().contains(text), "{error}");
    }
}

#[test]
fn unix_times_become_filetimes_and_saturate() {
    use core::time::Duration;
    const MAX: i64 = 0x7FFF_35F4_F06C_7FFF;
    assert_eq!(filetime_from_time32(0), 116_444_736_000_000_000);
    assert_eq!(filetime_from_time32(-2), 116_444_735_980_000_000);
    assert_eq!(filetime_from_time64(2), 116_444_736_020_000_000);
    assert_eq!(filetime_from_time64(-11_644_473_600), 0);
    assert_eq!(filetime_from_time64(-11_644_473_601), 0);
    assert_eq!(filetime_from_time64(i64::MAX), MAX);
    assert_eq!(filetime_from_duration_after_1970(Duration::from_nanos(199)), 116_444_736_000_000_001);
    assert_eq!(filetime_from_duration_after_1970(Duration::new(2, 300)), 116_444_736_020_000_003);
    assert_eq!(filetime_from_duration_before_1970(Duration::ZERO), 116_444_736_000_000_000);
    assert_eq!(filetime_from_duration_before_1970(Duration::from_nanos(1)), 116_444_735_999_999_999);
    assert_eq!(filetime_from_duration_before_1970(Duration::new(2, 300)), 116_444_735_979_999_997);
    assert_eq!(filetime_from_duration_after_1970(Duration::MAX), MAX);
    assert_eq!(filetime_from_duration_before_1970(Duration::MAX), 0);
}

#[test]
fn values_are_shown_by_their_encoding() {
    for (in_type, payload, shown) in [
        (InType::I8, &b"\xff"[..], "-1"),
        (InType::I16, b"\xfe\xff", "-2"),
        (InType::U64, b"\xff\xff\xff\xff\xff\xff\xff\xff", "18446744073709551615"),
        (InType::Hex32, b"\xff\0\0\x80", "0x800000ff"),
        (InType::FileTime, b"\x01\x01\0\0\0\0\0\0", "257"),
        (InType::BinaryC, b"\x01\0\x0a", "0a"),
        (InType::CStr16, b"h\0e\0y\0\0\0", "hey"),
        (InType::CStr8, b"hi\0", "hi"),
        (InType::Str16, b"\x04\x00\x00\xd8A\0", "\u{FFFD}A"),
        (InType::Str8, b"\x02\x00\xffa", "\u{FFFD}a"),
        (InType::Bool32, b"\x02\0\0\0", "true"),
        (InType::Hex64, b"\xff\0\0\0\0\0\0\0", "0xff"),
        (InType::Binary, b"\x02\0\x0a\xff", "0aff"),
        (InType::F32, b"\0\0\x80\x3f", "1"),
        (InType::F64, b"\0\0\0\0\0\0\xf0\x3f", "1"),
        (InType::Guid, &[0; 16], "00000000-0000-0000-0000-000000000000"),
        (InType::Sid, b"\x01\x02\0\0\0\0\0\x05\x20\0\0\0\x20\x02\0\0", "01020000000000052000000020020000"),
        (
            InType::SystemTime,
            b"\xea\x07\x0b\x00\x00\x00\x0f\x00\x01\x00\x02\x00\x03\x00\x04\x00",
            "2026-11-15T01:02:03.004",
        ),
    ] {
        let (value, rest) = Value::split(in_type, payload).unwrap();
        assert_eq!(value.to_string().as_str(), shown, "{in_type:?}");
        assert_eq!(rest, &b""[..], "{in_type:?}");
        for end in 0..payload.len() {
            assert!(Value::split(in_type, &payload[..end]).is_none(), "{in_type:?} at {end}");
        }
    }
    assert!(Value::split(InType::Str16, b"\x01\0a").is_none());
}
