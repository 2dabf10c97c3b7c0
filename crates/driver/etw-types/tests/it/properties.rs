//! Property tests: decoding is the inverse of encoding, and no input makes a reader panic.

use etw_types::tracelogging::{EventBuilder, Field, InType, Metadata, OutType, Value, Visitor, decode};
use etw_types::traits::{TraitsBuilder, validate};
use etw_types::{Guid, Keyword};
use proptest::prelude::*;

/// A generated field. Decoding must return the value that was encoded.
#[derive(Clone, Debug, PartialEq)]
enum Datum {
    U32(u32),
    I64(i64),
    Bool(bool),
    Text(String),
    Wide(Vec<u16>),
    Bytes(Vec<u8>),
    Id(u128),
    Array(Vec<u16>),
}

fn datum() -> impl Strategy<Value = Datum> {
    prop_oneof![
        any::<u32>().prop_map(Datum::U32),
        any::<i64>().prop_map(Datum::I64),
        any::<bool>().prop_map(Datum::Bool),
        ".{0,40}".prop_map(Datum::Text),
        prop::collection::vec(any::<u16>(), 0..20).prop_map(Datum::Wide),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(Datum::Bytes),
        any::<u128>().prop_map(Datum::Id),
        prop::collection::vec(any::<u16>(), 0..20).prop_map(Datum::Array),
    ]
}

fn name() -> impl Strategy<Value = String> {
    "[^\0]{0,12}"
}

#[derive(Default)]
struct Collector(Vec<(String, Datum)>);

impl<'a> Visitor<'a> for Collector {
    fn value(&mut self, field: &Field<'a>, value: Value<'a>) {
        if let Some((_, Datum::Array(elements))) = self.0.last_mut()
            && field.in_type == InType::U16
        {
            let Value::Unsigned(element) = value else { panic!("{value:?}") };
            elements.push(u16::try_from(element).unwrap());
            return;
        }
        let datum = match value {
            Value::Unsigned(value) if field.out_type == OutType::Boolean => Datum::Bool(value != 0),
            Value::Unsigned(value) => Datum::U32(u32::try_from(value).unwrap()),
            Value::Signed(value) => Datum::I64(value),
            Value::Text(text) => Datum::Text(String::from_utf8(text.to_vec()).unwrap()),
            Value::Utf16(text) => {
                Datum::Wide(text.chunks(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]])).collect())
            }
            Value::Binary(bytes) => Datum::Bytes(bytes.to_vec()),
            Value::Guid(guid) => Datum::Id(guid.to_u128()),
            other => panic!("{other:?}"),
        };
        self.0.push((String::from_utf8(field.name.to_vec()).unwrap(), datum));
    }

    fn begin_array(&mut self, field: &Field<'a>, _: u16) {
        self.0.push((String::from_utf8(field.name.to_vec()).unwrap(), Datum::Array(Vec::new())));
    }
}

proptest! {
    #[test]
    fn built_events_are_decoded(event in name(), tag in 0_u32..=0x0FFF_FFFF, fields in prop::collection::vec((name(), datum()), 0..12)) {
        let mut metadata = vec![0; 4096];
        let mut payload = vec![0; 4096];
        let mut builder = EventBuilder::new(&mut metadata, &mut payload, &event, tag);
        for (name, datum) in &fields {
            builder = match datum {
                Datum::U32(value) => builder.u32(name, *value),
                Datum::I64(value) => builder.i64(name, *value),
                Datum::Bool(value) => builder.bool8(name, *value),
                Datum::Text(value) => builder.str8(name, value),
                Datum::Wide(value) => builder.str16(name, value),
                Datum::Bytes(value) => builder.binary(name, value),
                Datum::Id(value) => builder.guid(name, &Guid::from_u128(*value)),
                Datum::Array(value) => {
                    let bytes: Vec<u8> = value.iter().flat_map(|unit| unit.to_le_bytes()).collect();
                    builder.array(name, InType::U16, OutType::Default, 0, value.len(), &bytes)
                }
            };
        }
        let (metadata, payload) = builder.finish().unwrap();
        let (metadata, behind) = Metadata::parse(metadata).unwrap();
        prop_assert!(behind.is_empty());
        prop_assert_eq!(metadata.name(), event.as_bytes());
        prop_assert_eq!(metadata.tag(), tag);
        let mut collector = Collector::default();
        prop_assert_eq!(decode(&metadata, payload, &mut collector), Ok(&[][..]));
        prop_assert_eq!(collector.0, fields);
    }

    #[test]
    fn no_bytes_make_the_event_reader_panic(metadata in prop::collection::vec(any::<u8>(), 0..200), payload in prop::collection::vec(any::<u8>(), 0..200)) {
        struct Nothing;
        impl Visitor<'_> for Nothing {}
        let mut framed = u16::try_from(metadata.len() + 3).unwrap().to_le_bytes().to_vec();
        framed.push(0);
        framed.extend_from_slice(&metadata);
        for bytes in [&metadata, &framed] {
            if let Ok((metadata, _)) = Metadata::parse(bytes) {
                let _ = decode(&metadata, &payload, &mut Nothing);
            }
        }
    }

    #[test]
    fn traits_round_trip(name in "[^\0]{0,60}", group in any::<Option<u128>>(), kind in 128_u8.., data in prop::collection::vec(any::<u8>(), 0..60)) {
        let custom = [(kind, data.as_slice())];
        let mut builder = TraitsBuilder::new(&name).with_custom(&custom);
        if let Some(group) = group {
            builder = builder.with_group(Guid::from_u128(group));
        }
        let mut blob = vec![0; builder.encoded_len().unwrap()];
        builder.encode_into(&mut blob).unwrap();
        let traits = validate(&blob).unwrap();
        prop_assert_eq!(traits.name(), name.as_bytes());
        prop_assert_eq!(traits.group(), group.map(Guid::from_u128));
        let last = traits.records().last().unwrap();
        prop_assert_eq!(last.kind.as_int(), kind);
        prop_assert_eq!(last.data, data.as_slice());
    }

    #[test]
    fn no_bytes_make_the_traits_reader_panic(blob in prop::collection::vec(any::<u8>(), 0..100)) {
        if let Ok(traits) = validate(&blob) {
            let _ = (traits.group(), traits.decode_guid(), traits.records().count());
        }
    }

    #[test]
    fn guids_round_trip_as_text(digits in any::<u128>()) {
        let guid = Guid::from_u128(digits);
        prop_assert_eq!(Guid::parse(&guid.to_string()), Ok(guid));
        prop_assert_eq!(Guid::parse(&format!("{{{}}}", guid.to_string().to_uppercase())), Ok(guid));
    }

    /// An event that passes under two settings of the masks also passes under every mixture of the two. For this reason
    /// the enable state can be read without a lock.
    #[test]
    fn mixed_masks_pass_every_event_that_both_requests_pass(keyword in any::<u64>(), any1 in any::<u64>(), all1 in any::<u64>(), any2 in any::<u64>(), all2 in any::<u64>()) {
        let keyword = Keyword::from_bits(keyword);
        let all1 = all1 & keyword.bits();
        let all2 = all2 & keyword.bits();
        if keyword.matches(any1, all1) && keyword.matches(any2, all2) {
            prop_assert!(keyword.matches(any1, all2));
            prop_assert!(keyword.matches(any2, all1));
        }
    }
}
