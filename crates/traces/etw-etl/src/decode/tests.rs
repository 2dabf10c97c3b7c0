//! Tests of the text that decoded events are shown as.

use etw_types::tracelogging::{
    DecodeError, EventBuilder, Field, MetadataError, Piece, Value, Visitor, encode_pieces, pieces_len,
};
use etw_types::{Channel, EventDescriptor, Guid, InType, OutType};
use test_support::reencode;

use super::{Kind, Node, Parts, Scalar};
use crate::digits::hex;
use crate::format::event::{
    EVENT_HEADER_FLAG_CLASSIC_HEADER, EVENT_HEADER_FLAG_STRING_ONLY, EVENT_HEADER_FLAG_TRACE_MESSAGE,
};
use crate::testing::{TRAITS, descriptor, event_of, read, read_record, trace_logging};
use crate::{EventData, ExtendedItem, ExtendedType};

/// Returns the text of a single field of this type.
fn shown(in_type: InType, out_type: OutType, value: &[u8]) -> String {
    let event = trace_logging("E", |builder| builder.field("f", in_type, out_type, 0, value));
    let decoded = event.decode();
    assert_eq!(decoded.error, None, "{in_type:?} {out_type:?}");
    let parts = Parts::from_event(&event).unwrap();
    let again = reencode(parts.metadata, parts.payload).unwrap();
    assert_eq!(again.metadata.as_slice(), parts.metadata);
    assert_eq!(again.payload.as_slice(), parts.payload);
    decoded.fields[0].node.to_string()
}

fn counted(bytes: &[u8]) -> Vec<u8> {
    [&u16::try_from(bytes.len()).unwrap().to_le_bytes()[..], bytes].concat()
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn integers_have_the_format_that_the_provider_chose() {
    for (in_type, out_type, value, text) in [
        (InType::I8, OutType::Default, &[0xFF][..], "-1"),
        (InType::U8, OutType::Default, &[0xFF], "255"),
        (InType::I8, OutType::Hex, &[0xFF], "0xff"),
        (InType::I8, OutType::Unsigned, &[0xFF], "255"),
        (InType::U8, OutType::Signed, &[0xFF], "-1"),
        (InType::U8, OutType::Boolean, &[1], "true"),
        (InType::U8, OutType::Boolean, &[2], "2"),
        (InType::U8, OutType::String, b"A", "A"),
        (InType::U8, OutType::String, &[0x80], "128"),
        (InType::U16, OutType::String, &[0xFC, 0], "ü"),
        (InType::U16, OutType::String, &[0, 0xD8], "55296"),
        (InType::U16, OutType::Port, &[0x1F, 0x90], "8080"),
        (InType::I16, OutType::Default, &[0xFE, 0xFF], "-2"),
        (InType::U32, OutType::Pid, &[4, 0, 0, 0], "4"),
        (InType::U32, OutType::Tid, &[8, 0, 0, 0], "8"),
        (InType::U32, OutType::IPv4, &[127, 0, 0, 1], "127.0.0.1"),
        (InType::U32, OutType::Win32Error, &[5, 0, 0, 0], "5 ERROR_ACCESS_DENIED"),
        (InType::U32, OutType::NtStatus, &[0xBB, 0, 0, 0xC0], "0xC00000BB STATUS_NOT_SUPPORTED"),
        (InType::Hex32, OutType::NtStatus, &[0xBB, 0, 0, 0xC0], "0xC00000BB STATUS_NOT_SUPPORTED"),
        (InType::I32, OutType::HResult, &[5, 0, 7, 0x80], "0x80070005 ERROR_ACCESS_DENIED"),
        (InType::I32, OutType::HResult, &[1, 2, 3, 0x84], "0x84030201"),
        (InType::Hex32, OutType::Default, &[0x10, 0, 0, 0], "0x10"),
        (InType::Hex64, OutType::CodePointer, &[0, 0, 0, 0, 0, 0, 0, 0x80], "0x8000000000000000"),
        (InType::Hex32, OutType::Pid, &[0x10, 0, 0, 0], "16"),
        (InType::U64, OutType::Default, &[0xFF; 8], "18446744073709551615"),
        (InType::I64, OutType::Default, &[0xFF; 8], "-1"),
        (InType::I64, OutType::DateTimeUtc, &[2, 0, 0, 0, 0, 0, 0, 0], "1601-01-01T00:00:00.0000002Z"),
        (InType::I16, OutType::Hex, &[0xFE, 0xFF], "0xfffe"),
        (InType::I32, OutType::Hex, &[0xFE, 0xFF, 0xFF, 0xFF], "0xfffffffe"),
        (InType::I64, OutType::Hex, &[0x9A, 0, 0, 0, 0, 0, 0, 0], "0x9a"),
        (InType::U8, OutType::Hex, &[0], "0x0"),
        (InType::U16, OutType::Signed, &[0xFE, 0xFF], "-2"),
        (InType::U32, OutType::Signed, &[0xFE, 0xFF, 0xFF, 0xFF], "-2"),
        (InType::U64, OutType::Signed, &[0xFF; 8], "-1"),
        (InType::I16, OutType::Boolean, &[0xFF, 0xFF], "-1"),
        (InType::I16, OutType::Boolean, &[0, 0], "false"),
        (InType::Hex32, OutType::Boolean, &[1, 0, 0, 0], "true"),
        (InType::Hex32, OutType::Boolean, &[16, 0, 0, 0], "0x10"),
        (InType::Hex32, OutType::NoPrint, &[16, 0, 0, 0], "0x10"),
        (InType::Hex32, OutType::Signed, &[0xFF; 4], "-1"),
        (InType::Hex32, OutType::Unsigned, &[16, 0, 0, 0], "16"),
        (InType::Hex32, OutType::Tid, &[16, 0, 0, 0], "16"),
        (InType::Hex32, OutType::Port, &[16, 0, 0, 0], "16"),
        (InType::I8, OutType::String, b"A", "A"),
        (InType::I8, OutType::String, &[0x80], "-128"),
        (InType::U8, OutType::Utf8, &[0x7F], "\"\\u{7f}\""),
        (InType::U16, OutType::Xml, b"A\0", "A"),
        (InType::U16, OutType::Json, b"A\0", "A"),
        (InType::U32, OutType::String, &[65, 0, 0, 0], "65"),
        (InType::U32, OutType::Port, &[0x1F, 0x90, 0, 0], "36895"),
        (InType::U16, OutType::IPv4, &[127, 0], "127"),
        (InType::U64, OutType::IPv4, &[127, 0, 0, 1, 0, 0, 0, 0], "16777343"),
        (InType::U64, OutType::NtStatus, &[0, 0, 0, 0, 1, 0, 0, 0], "4294967296"),
        (InType::U32, OutType::DateTime, &[5, 0, 0, 0], "5"),
        (InType::U64, OutType::DateTime, &[0; 8], "0"),
        (InType::U64, OutType::DateTimeCultureInsensitive, &[1, 0, 0, 0, 0, 0, 0, 0], "1601-01-01T00:00:00.0000001Z"),
        (InType::Bool32, OutType::Default, &[1, 0, 0, 0], "true"),
        (InType::Bool32, OutType::Default, &[0; 4], "false"),
        (InType::Bool32, OutType::Default, &[0xFF; 4], "-1"),
        (InType::F32, OutType::Default, &[0, 0, 0x80, 0x3F], "1"),
        (InType::F64, OutType::Default, &[0, 0, 0, 0, 0, 0, 0xF8, 0x7F], "NaN"),
    ] {
        assert_eq!(shown(in_type, out_type, value), text, "{in_type:?} {out_type:?} {value:x?}");
    }
}

#[test]
fn invalid_text_is_shown_with_its_bytes() {
    for (in_type, out_type, value, text) in [
        (InType::CStr16, OutType::Default, [utf16("grün"), vec![0, 0]].concat(), "grün"),
        (InType::CStr16, OutType::Default, [utf16("一"), vec![0, 0]].concat(), "一"),
        (InType::Str16, OutType::Default, counted(&[]), "\"\""),
        (InType::CStr8, OutType::Default, b"a,b\0".to_vec(), "\"a,b\""),
        (InType::CStr16, OutType::Xml, [utf16("<a/>"), vec![0, 0]].concat(), "<a/>"),
        (InType::CStr8, OutType::Default, b"two words\0".to_vec(), "\"two words\""),
        (InType::Str16, OutType::Default, counted(&utf16("a\0b")), "\"a\\0b\""),
        (InType::Str16, OutType::Json, counted(&utf16("{}")), "\"{}\""),
        (InType::Str16, OutType::Default, counted(&[0, 0xD8]), "\u{FFFD}(bytes 00d8)"),
        (InType::Str8, OutType::Utf8, counted("grün".as_bytes()), "grün"),
        (InType::Str8, OutType::Default, counted(&[0xFF]), "\u{FFFD}(bytes ff)"),
        (InType::Str8, OutType::NoPrint, counted(b"x"), "x"),
    ] {
        assert_eq!(shown(in_type, out_type, &value), text, "{in_type:?} {out_type:?}");
    }
}

#[test]
fn bytes_are_addresses_dates_and_identifiers() {
    let v4 = [2, 0, 0x1F, 0x90, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut v4_odd = v4;
    v4_odd[15] = 1;
    let mut v6 = [0; 28];
    v6[..4].copy_from_slice(&[23, 0, 0, 80]);
    v6[23] = 1;
    let mut v6_scope = v6;
    v6_scope[24] = 9;
    let mut v6_flow = v6;
    v6_flow[7] = 1;
    let sid = [1, 2, 0, 0, 0, 0, 0, 5, 32, 0, 0, 0, 32, 2, 0, 0];
    let saturday = [0xE8, 7, 2, 0, 6, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0];
    let mut not_a_date = saturday;
    not_a_date[4] = 5;
    for (in_type, out_type, value, text) in [
        (InType::Binary, OutType::Default, counted(&[1, 0xAB]), "01ab"),
        (InType::BinaryC, OutType::Pkcs7WithTypeInfo, counted(&[]), ""),
        (InType::Binary, OutType::IPv4, counted(&[1, 2, 3, 4]), "1.2.3.4"),
        (InType::Binary, OutType::IPv6, counted(&[0; 16]), "::"),
        (InType::Binary, OutType::IPv6, counted(&[0; 3]), "000000"),
        (InType::Binary, OutType::SocketAddress, counted(&v4), "10.0.0.1:8080"),
        (InType::Binary, OutType::SocketAddress, counted(&v4_odd), "02001f900a0000010000000000000001"),
        (InType::BinaryC, OutType::SocketAddress, counted(&v6), "[::1]:80"),
        (InType::BinaryC, OutType::SocketAddress, counted(&v6_scope), "[::1%9]:80"),
        (InType::BinaryC, OutType::SocketAddress, counted(&v6_flow), &hex(&v6_flow)),
        (InType::Binary, OutType::SocketAddress, counted(&v4[..15]), &hex(&v4[..15])),
        (InType::Binary, OutType::SocketAddress, counted(&[3; 16]), &hex(&[3; 16])),
        (InType::Binary, OutType::IPv4, counted(&[1, 2, 3]), "010203"),
        (InType::Binary, OutType::String, counted(b"text"), "text"),
        (InType::Binary, OutType::Json, counted(b"[1]"), "\"[1]\""),
        (InType::Sid, OutType::Default, vec![1, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF], "S-1-4294967295"),
        (InType::Guid, OutType::Default, (0..16).collect(), "03020100-0504-0706-0809-0a0b0c0d0e0f"),
        (InType::FileTime, OutType::Default, 0_i64.to_le_bytes().to_vec(), "0"),
        (InType::FileTime, OutType::Default, 1_i64.to_le_bytes().to_vec(), "1601-01-01T00:00:00.0000001Z"),
        (InType::FileTime, OutType::DateTimeUtc, (-1_i64).to_le_bytes().to_vec(), "-1"),
        (InType::SystemTime, OutType::Default, saturday.to_vec(), "2024-02-03T04:05:06.007Z"),
        (InType::SystemTime, OutType::Default, not_a_date.to_vec(), "[2024, 2, 5, 3, 4, 5, 6, 7]"),
        (InType::Sid, OutType::Default, sid.to_vec(), "S-1-5-32-544"),
        (InType::Sid, OutType::Default, vec![1, 0, 1, 0, 0, 0, 0, 0], "S-1-0x010000000000"),
    ] {
        assert_eq!(shown(in_type, out_type, &value), text, "{in_type:?} {out_type:?}");
    }
}

#[test]
fn a_system_time_is_a_date_only_if_it_exists() {
    // Year, month, day of week, day, hour, minute, second, millisecond.
    let time = |parts: [u16; 8]| {
        let bytes: Vec<u8> = parts.into_iter().flat_map(u16::to_le_bytes).collect();
        let text = shown(InType::SystemTime, OutType::Default, &bytes);
        if text.starts_with('[') { None } else { Some(text) }
    };
    assert_eq!(time([2024, 2, 6, 3, 23, 59, 59, 999]).as_deref(), Some("2024-02-03T23:59:59.999Z"));
    assert_eq!(time([9999, 12, 5, 31, 0, 0, 0, 0]).as_deref(), Some("9999-12-31T00:00:00.000Z"));
    for parts in [
        [2024, 2, 6, 3, 24, 0, 0, 0],
        [2024, 2, 6, 3, 0, 60, 0, 0],
        [2024, 2, 6, 3, 0, 0, 60, 0],
        [2024, 2, 6, 3, 0, 0, 0, 1000],
        [2024, 2, 5, 3, 0, 0, 0, 0],
        [2024, 13, 6, 3, 0, 0, 0, 0],
        [10_000, 1, 6, 1, 0, 0, 0, 0],
    ] {
        assert_eq!(time(parts), None, "{parts:?}");
    }
}

#[test]
fn arrays_and_structs_nest() {
    let event = trace_logging("E", |builder| {
        builder
            .array("numbers", InType::U16, OutType::Hex, 0, 2, &[1, 0, 2, 0])
            .array("none", InType::U8, OutType::Default, 0, 0, &[])
            .array("letters", InType::U8, OutType::String, 0, 2, b"hi")
            .structure("outer", 2, 0x0020_0000)
            .u8("first", 1)
            .structure("inner", 1, 0)
            .field("second", InType::U8, OutType::Default, 0x0FFF_FFFF, &[2])
    });
    assert_eq!(
        event.decode().to_string(),
        "TestProvider/E numbers=[0x1, 0x2] none=[] letters=hi outer[tag=0x200000]={first=1 inner={second[tag=0xfffffff]=2}}"
    );
}

#[test]
fn constant_arrays_custom_fields_and_arrays_of_structs_decode_and_return() {
    const PIECES: &[Piece<'_>] = &[
        // The event tag takes two bytes although it is zero, as older headers write it.
        Piece::Bytes(
            b"\x80\x00E\0fixed\0\x24\x02\x00custom\0\x74\x01\x00!points\0\xD8\x82\x00x\0\x04y\0\x84\x04none\0\x58",
        ),
        Piece::Bytes(b"after\0\x04"),
    ];
    const METADATA: [u8; pieces_len(PIECES)] = match encode_pieces(PIECES) {
        Some(metadata) => metadata,
        None => panic!("another length"),
    };
    let payload = [7, 8, 2, 0, 0xAA, 0xBB, 2, 0, 1, 0x10, 2, 0x20, 0, 0, 9];
    let event = event_of(&METADATA, &payload);
    let decoded = event.decode();
    assert_eq!(
        decoded.to_string(),
        "TestProvider/E fixed=[7, 8] custom=aabb points=[{x=1 y=0x10}, {x=2 y=0x20}] none=[] after=9"
    );
    assert_eq!(decoded.raw, None);
    let Node::Custom { description, .. } = &decoded.fields[1].node else { panic!("not custom") };
    assert_eq!(**description, *b"!");
    let parts = Parts::from_event(&event).unwrap();
    let again = reencode(parts.metadata, parts.payload).unwrap();
    assert_eq!(again.metadata.as_slice(), &METADATA[..]);
    assert_eq!(again.payload.as_slice(), &payload[..]);
}

#[test]
fn tags_in_more_bytes_than_they_have_bits_are_encoded_as_they_were() {
    let metadata = b"\x15\0\x80\x80\x80\xff\xff\x81\x01E\0f\0\x84\x80\x80\x80\x80\x80\xff\x7f";
    let again = reencode(metadata, &[5]).unwrap();
    assert_eq!(again.metadata.as_slice(), &metadata[..]);
    assert_eq!(again.payload.as_slice(), &[5][..]);
}

#[test]
fn metadata_at_the_start_of_the_payload_is_found() {
    let mut metadata = [0; 64];
    let mut payload = [0; 64];
    let (metadata, payload) = EventBuilder::new(&mut metadata, &mut payload, "E", 0).u8("f", 1).finish().unwrap();
    let data = [TRAITS, metadata, payload].concat();
    let event = read(&EventData { descriptor: descriptor(), payload: &data, ..EventData::default() });
    assert_eq!(event.kind(), Kind::TraceLogging);
    assert_eq!(event.decode().to_string(), "TestProvider/E f=1");
    let other = EventDescriptor { channel: Channel::from_int(16), ..descriptor() };
    let event = read(&EventData { descriptor: other, payload: &data, ..EventData::default() });
    assert_eq!(event.kind(), Kind::Manifest);
    assert_eq!(event.decode().raw, Some(data));
}

#[test]
fn a_provider_is_named_even_if_its_traits_are_damaged() {
    let name = |traits: &[u8]| {
        let items = ExtendedItem::trace_logging(traits, b"\x05\x00\x00E\0");
        read(&EventData { items: &items, ..EventData::default() }).decode().provider
    };
    assert_eq!(name(TRAITS).as_deref(), Some("TestProvider"));
    assert_eq!(name(b"\xFF\x00Name\0rest").as_deref(), Some("Name"));
    assert_eq!(name(b"\x03\x00\0"), None);
    assert_eq!(name(b"\x01"), None);
    // In the payload, the sizes of traits and metadata include themselves.
    let event = |payload| read(&EventData { descriptor: descriptor(), payload, ..EventData::default() });
    for payload in [&b"\x02\x00\x05\x00\x00E\0"[..], b"\x03\x00\0\x02\x00", b"\x09\x00\0", b"\x03\x00\0"] {
        assert!(event(payload).as_ref().parts().is_none(), "{payload:?}");
    }
    assert!(event(b"\x03\x00\0\x05\x00\x00E\0").as_ref().parts().is_some());
}

#[test]
fn values_are_visited_one_by_one() {
    #[derive(Default)]
    struct Numbers(Vec<u64>);
    impl<'a> Visitor<'a> for Numbers {
        fn value(&mut self, _: &Field<'a>, value: Value<'a>) {
            self.0.extend(if let Value::Unsigned(number) = value { Some(number) } else { None });
        }
    }
    let visit = |event: &crate::Event| {
        let mut numbers = Numbers::default();
        (event.as_ref().visit(&mut numbers), numbers.0)
    };
    assert_eq!(visit(&trace_logging("E", |builder| builder.u8("a", 1).u32("b", 2))), (Ok(true), vec![1, 2]));
    assert_eq!(visit(&event_of(b"\x08\x00\x00E\0a\0\x04", &[5, 6])), (Ok(false), vec![5]), "one byte more");
    assert_eq!(visit(&event_of(b"\x08\x00\x00E\0a\0\x04", &[])), (Err(DecodeError::Payload), vec![]));
    assert_eq!(visit(&read(&EventData::default())), (Ok(false), vec![]));
}

#[test]
fn data_that_cannot_be_decoded_is_kept_as_bytes() {
    let event = event_of(b"\x0b\x00\x00E\0a\0\x04b\0\x08", &[5, 1, 2]);
    let decoded = event.decode();
    assert_eq!(decoded.error, Some(DecodeError::Payload));
    assert_eq!(decoded.raw.as_deref(), Some(&[5, 1, 2][..]));
    assert_eq!(decoded.fields[0].node, Node::Value(Scalar::Integer(5)));
    let event = event_of(b"\xFF\x00\x00E\0", &[5]);
    assert_eq!(event.decode().error, Some(DecodeError::Metadata(MetadataError::Truncated)));
    let event = event_of(b"\x05\x00\x00E\0", &[5]);
    assert_eq!(event.decode().error, None, "data that no field describes");
    assert_eq!(event.decode().raw, Some(vec![5]), "data that no field describes");
}

#[test]
fn strings_and_related_activities_are_shown() {
    let related = Guid::from_u128(7).to_bytes_le();
    let items = [ExtendedItem { kind: ExtendedType::RELATED_ACTIVITY_ID, data: &related }];
    let text = [utf16("hello"), vec![0, 0]].concat();
    let data =
        EventData { flags: EVENT_HEADER_FLAG_STRING_ONLY, items: &items, payload: &text, ..EventData::default() };
    let event = read(&data);
    assert_eq!(event.related(), Some(Guid::from_u128(7)));
    assert_eq!(event.kind(), Kind::Manifest);
    assert_eq!(event.decode().raw, None);
    assert_eq!(event.decode().fields[0].to_string(), "message=hello");
    for (payload, raw) in
        [(&text[..10], true), (&text[..11], true), (&[&text[..], b"x"].concat(), true), (&text, false)]
    {
        let decoded =
            read(&EventData { flags: EVENT_HEADER_FLAG_STRING_ONLY, payload, ..EventData::default() }).decode();
        assert_eq!(decoded.fields[0].to_string(), "message=hello");
        assert_eq!(decoded.raw.is_some(), raw, "{payload:?}");
    }
    let kind = |flags, items, of| read(&EventData { flags, items, descriptor: of, ..EventData::default() }).kind();
    let schema = ExtendedItem::trace_logging(TRAITS, b"\x05\x00\x00E\0");
    let manifest = EventDescriptor::default();
    for (flags, items, of, expected) in [
        (EVENT_HEADER_FLAG_CLASSIC_HEADER, &[][..], manifest, Kind::Mof),
        (EVENT_HEADER_FLAG_TRACE_MESSAGE, &[], manifest, Kind::Wpp),
        (0, &[], manifest, Kind::Manifest),
        (0, &[], descriptor(), Kind::TraceLogging),
        (0, &schema, manifest, Kind::TraceLogging),
        (EVENT_HEADER_FLAG_TRACE_MESSAGE | EVENT_HEADER_FLAG_CLASSIC_HEADER, &schema, manifest, Kind::TraceLogging),
    ] {
        assert_eq!(kind(flags, items, of), expected, "{flags:#x} {}", items.len());
    }
}

#[test]
fn older_records_have_what_their_headers_have() {
    let mut system = vec![2, 0, 2, 0xC0, 0x24, 0, 0x01, 0x03, 9, 0, 0, 0, 4, 0, 0, 0];
    system.resize(0x24, 0);
    let event = read_record(&system, 0);
    assert_eq!(event.kind(), Kind::System);
    assert_eq!(event.header.descriptor.id, 0x0301);
    assert_eq!(event.header.thread_id, Some(9));
    assert_eq!(event.header.process_id, Some(4));
    assert_eq!(event.payload().len(), 4);
    let mut full = vec![0x32, 0, 20, 0xC0, 33, 2, 1, 0];
    full.resize(0x32, 0x11);
    let event = read_record(&full, 0);
    assert_eq!(event.kind(), Kind::Mof);
    assert_eq!(event.header.descriptor.opcode.as_int(), 33);
    assert_eq!(event.header.provider, Some(Guid::from_bytes_le([0x11; 16])));
    let event = read_record(&[0x0A, 0, 0, 0x90, 5, 0, 0, 0, 0xAB, 0xCD], 0);
    assert_eq!(event.kind(), Kind::Wpp);
    assert_eq!(event.header.descriptor.id, 5);
    assert_eq!(event.payload(), &[0xAB, 0xCD][..]);
    let event = read_record(&[0x09, 0, 13, 0xC0, 5, 0, 0, 0, 1], 0);
    assert_eq!(event.kind(), Kind::System);
    assert_eq!(event.payload(), &[1][..]);
}

#[test]
fn names_that_are_not_utf8_are_escaped() {
    let event = event_of(b"\x08\x00\x00E\xFF\0a\0", &[]);
    assert_eq!(event.decode().event.as_deref(), Some("E\\xff"));
    assert_eq!(event.decode().error, Some(DecodeError::Metadata(MetadataError::MissingType)));
}

/// Structs need no payload bytes: a few bytes of metadata and a count could expand to any amount of text.
#[test]
fn an_array_of_empty_structs_stops_at_a_limit_that_says_so() {
    // A size, no tag, a name, and an array of structs without members, whose count is in the payload.
    let metadata =
        [&9_u16.to_le_bytes()[..], &[0], b"E\0", b"A\0", &[InType::Struct.as_int() | 0x40 | 0x80, 0]].concat();
    let decoded = event_of(&metadata, &0xFFFF_u16.to_le_bytes()).decode();
    assert!(decoded.to_string().len() < 0x4000, "{} bytes of text", decoded.to_string().len());
    assert_eq!(decoded.error, Some(DecodeError::TooManyValues));
    assert!(decoded.raw.is_some(), "the bytes are there for what was left out");
}

#[test]
fn nothing_follows_what_exceeds_a_limit() {
    // 0x2_0000 bytes of names, and 64 for each byte of the payload: enough for 140 names of 1000 bytes, each with a value.
    for (count, error) in [(139, None), (150, Some(DecodeError::TooManyValues))] {
        let name = "n".repeat(1000);
        let mut metadata = [b"\0\0\0E\0A\0\xD8\x01", name.as_bytes(), b"\0\x04z\0\x04"].concat();
        let size = u16::try_from(metadata.len()).unwrap();
        metadata[..2].copy_from_slice(&size.to_le_bytes());
        let payload = [&u16::to_le_bytes(count)[..], &vec![7; usize::from(count) + 1]].concat();
        let decoded = event_of(&metadata, &payload).decode();
        assert_eq!(decoded.error, error);
        assert_eq!(decoded.field("z").is_some(), error.is_none(), "a short name would fit, but its place is unknown");
    }
}
