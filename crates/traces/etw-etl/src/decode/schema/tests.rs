//! Payloads of every encoding, walked with schemas that are made here.

use std::sync::Arc;

use etw_manifest::manifest::{Manifest, ManifestSchemas};
use etw_manifest::{
    Encoding, EventKey, EventSchema, Extent, Field as SchemaField, Layers, PointerSize, Schema, Source, ValueMap,
};
use etw_types::tracelogging::DecodeError;
use etw_types::{EventDescriptor, Guid, InType, Opcode, OutType};

use super::Decoder;
use crate::decode::{Decoded, Kind};
use crate::format::classic::{PERFINFO_SIZE, SystemHeader, TYPE_PERFINFO_64};
use crate::format::event::{
    EVENT_HEADER_FLAG_CLASSIC_HEADER, EVENT_HEADER_FLAG_STRING_ONLY, EVENT_HEADER_FLAG_TRACE_MESSAGE,
};
use crate::testing::{read, read_record, trace_logging};
use crate::{Event, EventData, FrameNames};

/// One schema for all events.
struct One(Arc<EventSchema>);

impl Schema for One {
    fn event(&self, _: &EventKey) -> Option<Arc<EventSchema>> {
        Some(Arc::clone(&self.0))
    }

    fn provider_name(&self, _: &Guid) -> Option<Arc<str>> {
        None
    }
}

/// Names events by what they are looked up by. Does not know version 9.
struct ByKey;

impl Schema for ByKey {
    fn event(&self, key: &EventKey) -> Option<Arc<EventSchema>> {
        let EventKey { id, version, opcode, is_classic, pointer, .. } = key;
        let name = format!("{id} {version} {opcode} {is_classic} {}", pointer.bytes());
        (*version != 9).then(|| Arc::new(EventSchema { name: name.into(), ..schema(Source::File, &[], 0) }))
    }

    fn provider_name(&self, _: &Guid) -> Option<Arc<str>> {
        Some("Named".into())
    }
}

fn schema(source: Source, fields: &[SchemaField], top_level: usize) -> EventSchema {
    EventSchema {
        provider: "P".into(),
        name: "E".into(),
        level: None,
        channel: None,
        keywords: Vec::new(),
        message: None,
        fields: fields.into(),
        top_level,
        source,
    }
}

fn decoder(source: impl Schema + 'static) -> Decoder {
    let mut layers = Layers::new();
    layers.push(Arc::new(source));
    Decoder::new(layers)
}

/// Decodes a payload, and checks that the ways to read it without a tree agree.
fn decoded(schema: EventSchema, pointer: PointerSize, payload: &[u8]) -> Decoded {
    let is_32_bit = pointer == PointerSize::Four;
    let event = read(&EventData { is_32_bit, payload, ..EventData::default() });
    let mut decoder = decoder(One(Arc::new(schema)));
    let shown = decoder.decode(&event.as_ref());
    let is_whole = shown.raw.is_none();
    assert_eq!(shown.raw.as_deref(), (!is_whole).then_some(payload));
    let identity = decoder.identify(&event.as_ref());
    assert_eq!(identity.is_whole, is_whole, "{shown}");
    assert!(identity.has_schema, "{shown}");
    assert_eq!(identity.provider.as_deref(), Some("P"));
    assert_eq!(identity.event.as_deref(), Some("E"));
    assert_eq!(decoder.visit(&event.as_ref(), &mut |_, _| {}).map(|(_, is_whole)| is_whole), Some(is_whole));
    shown
}

/// Decodes the payload of a single field, followed by a byte.
fn shown(field: SchemaField, pointer: PointerSize, payload: &[u8]) -> Result<(String, InType), DecodeError> {
    let fields = [field, SchemaField::new("last", Encoding::Value(InType::U8))];
    let whole = [payload, &[0x77]].concat();
    let decoded = decoded(schema(Source::File, &fields, 2), pointer, &whole);
    if let Some(error) = decoded.error {
        return Err(error);
    }
    assert_eq!(decoded.fields.len(), 2, "{decoded}");
    assert_eq!(decoded.fields[1].to_string().as_str(), "last=119", "{decoded}");
    Ok((decoded.fields[0].node.to_string(), decoded.fields[0].in_type))
}

fn field(encoding: Encoding) -> SchemaField {
    SchemaField::new("f", encoding)
}

fn value(in_type: InType) -> SchemaField {
    field(Encoding::Value(in_type))
}

const EIGHT: PointerSize = PointerSize::Eight;
const FOUR: PointerSize = PointerSize::Four;

#[test]
fn every_encoding_takes_its_bytes() {
    let sized = |encoding, length| SchemaField { length: Extent::Fixed(length), ..field(encoding) };
    let counted = |encoding, count| SchemaField { count: Extent::Fixed(count), ..field(encoding) };
    let text16 = InType::CStr16;
    let text8 = InType::CStr8;
    let binary = InType::Binary;
    let ipv6 = SchemaField { out: OutType::IPv6, ..value(binary) };
    let sid = [1, 2, 0, 0, 0, 0, 0, 5, 32, 0, 0, 0, 32, 2, 0, 0];
    let user64 = [&[9; 16][..], &sid].concat();
    let user32 = [&[9; 8][..], &sid].concat();
    for (field, pointer, payload, text, in_type) in [
        (value(InType::U16), EIGHT, &[1, 2][..], "513", InType::U16),
        (field(Encoding::Pointer), EIGHT, &[1, 2, 0, 0, 0, 0, 0, 0], "0x201", InType::Hex64),
        (field(Encoding::Pointer), FOUR, &[1, 2, 0, 0], "0x201", InType::Hex32),
        (field(Encoding::Size), EIGHT, &[1, 2, 0, 0, 0, 0, 0, 0], "513", InType::U64),
        (field(Encoding::Size), FOUR, &[1, 2, 0, 0], "513", InType::U32),
        (value(text16), EIGHT, b"h\0i\0\0\0", "hi", text16),
        (value(text8), EIGHT, b"hi\0", "hi", text8),
        (value(text8), EIGHT, b"\0", "\"\"", text8),
        (sized(Encoding::Value(text16), 4), EIGHT, b"h\0i\0\0\0\0\0", "hi", text16),
        (sized(Encoding::Value(text16), 2), EIGHT, b"\0\0i\0", "\"\\0i\"", text16),
        (sized(Encoding::Value(text8), 3), EIGHT, b"hi\0", "hi", text8),
        (sized(Encoding::Value(text8), 2), EIGHT, b"\0\0", "\"\"", text8),
        (sized(Encoding::Value(binary), 2), EIGHT, &[0xAB, 0xCD], "abcd", binary),
        (ipv6, EIGHT, &[0; 16], "::", binary),
        (field(Encoding::Char16), EIGHT, b"h\0", "h", text16),
        (counted(Encoding::Char16, 3), EIGHT, b"h\0i\0\0\0", "hi", text16),
        (field(Encoding::Char8), EIGHT, b"h", "h", text8),
        (counted(Encoding::Char8, 3), EIGHT, b"hi\0", "hi", text8),
        (field(Encoding::ReversedStr16), EIGHT, b"\0\x04h\0i\0", "hi", InType::Str16),
        (field(Encoding::ReversedStr16), EIGHT, b"\0\x03hi!", "hi!", InType::Str16),
        (field(Encoding::ReversedStr8), EIGHT, b"\0\x02hi", "hi", InType::Str8),
        (field(Encoding::HexDump), EIGHT, &[2, 0, 0, 0, 0xAB, 0xCD], "abcd", binary),
        (field(Encoding::TokenUser), EIGHT, &user64, "S-1-5-32-544", InType::Sid),
        (field(Encoding::TokenUser), FOUR, &user32, "S-1-5-32-544", InType::Sid),
        (field(Encoding::TokenUser), EIGHT, &[0; 4], "", InType::Sid),
        (counted(Encoding::Value(InType::U16), 2), EIGHT, &[1, 0, 2, 0], "[1, 2]", InType::U16),
        (counted(Encoding::Pointer, 2), FOUR, &[1, 0, 0, 0, 2, 0, 0, 0], "[0x1, 0x2]", InType::Hex32),
        (counted(Encoding::Size, 0), FOUR, &[], "[]", InType::U32),
        (counted(Encoding::Value(text8), 2), EIGHT, b"a\0b\0", "[a, b]", text8),
        (counted(Encoding::ReversedStr8, 0), EIGHT, &[], "[]", InType::Str8),
        (counted(Encoding::Struct { first: 0, members: 0 }, 0), EIGHT, &[], "[]", InType::Struct),
        (counted(Encoding::RestBytes, 0), EIGHT, &[], "[]", binary),
    ] {
        let name = format!("{:?} {payload:?}", field.encoding);
        let short = &payload[..payload.len().saturating_sub(1)];
        assert!(short.is_empty() || shown(field.clone(), pointer, short).is_err(), "{name}: a byte is missing");
        assert_eq!(shown(field, pointer, payload), Ok((text.into(), in_type)), "{name}");
    }
    assert_eq!(shown(value(binary), EIGHT, &[0; 16]), Err(DecodeError::Payload), "no length");
}

#[test]
fn the_last_field_takes_the_rest() {
    let rest = |field: SchemaField| SchemaField { count: Extent::Rest, ..field };
    for (field, payload, text) in [
        (field(Encoding::Rest16), &b"h\0i\0"[..], Some("hi")),
        (field(Encoding::Rest16), b"h\0i", None),
        (field(Encoding::Rest8), b"hi", Some("hi")),
        (field(Encoding::RestBytes), &[0xAB, 0xCD], Some("abcd")),
        (rest(value(InType::U16)), &[1, 0, 2, 0], Some("[1, 2]")),
        (rest(value(InType::U16)), &[1, 0, 2], None),
        // The last text of a payload may lack its NUL, but not half of a character.
        (value(InType::CStr16), b"h\0i\0", Some("hi")),
        (value(InType::CStr16), b"h\0i", None),
        (value(InType::CStr8), b"hi", Some("hi")),
        (value(InType::CStr8), b"", None),
    ] {
        let name = format!("{:?} {payload:?}", field.encoding);
        let encoding = field.encoding;
        let decoded = decoded(schema(Source::File, &[field], 1), EIGHT, payload);
        assert_eq!(decoded.error, text.is_none().then_some(DecodeError::Payload), "{name}");
        assert_eq!(decoded.fields.first().map(|field| field.node.to_string()).as_deref(), text, "{name}");
        let in_type = match encoding {
            Encoding::Rest16 => InType::CStr16,
            Encoding::Rest8 => InType::CStr8,
            Encoding::Value(in_type) => in_type,
            _ => InType::Binary,
        };
        assert!(decoded.fields.iter().all(|field| field.in_type == in_type), "{name}");
    }
}

#[test]
fn counts_and_lengths_are_the_values_of_other_fields() {
    for (counter, number, text) in [
        (InType::U8, &[2][..], Ok("[1, 2]")),
        (InType::Hex32, &[2, 0, 0, 0], Ok("[1, 2]")),
        (InType::I8, &[2], Ok("[1, 2]")),
        (InType::I8, &[0xFF], Err(DecodeError::Payload)),
        (InType::Bool32, &[2, 0, 0, 0], Ok("[]")),
    ] {
        let items = SchemaField { count: Extent::Field(0), ..value(InType::U8) };
        let payload = [number, if text == Ok("[]") { &[] } else { &[1, 2] }].concat();
        let decoded = decoded(schema(Source::File, &[value(counter), items], 2), EIGHT, &payload);
        let shown = decoded.fields.get(1).map(|field| field.node.to_string()).unwrap_or_default();
        assert_eq!(decoded.error.map_or(Ok(shown.as_str()), Err), text, "{counter:?}");
    }
    let missing = SchemaField { count: Extent::Field(7), ..value(InType::U8) };
    assert_eq!(shown(missing, EIGHT, &[1]), Err(DecodeError::Payload));
    let length = SchemaField { length: Extent::Field(0), ..value(InType::CStr16) };
    let text = decoded(schema(Source::File, &[value(InType::U8), length], 2), EIGHT, b"\x02h\0i\0");
    assert_eq!(text.to_string(), "P/E f=2 f=hi");
}

fn structure(first: u16, members: u16) -> SchemaField {
    field(Encoding::Struct { first, members })
}

#[test]
fn structs_nest_up_to_a_depth() {
    // Each struct has the next field as its only member; the last one is a byte.
    let nested = |depth: u16| {
        let mut fields: Vec<SchemaField> = (1..=depth).map(|next| structure(next, 1)).collect();
        fields.push(value(InType::U8));
        decoded(schema(Source::File, &fields, 1), EIGHT, &[5])
    };
    assert_eq!(nested(2).to_string(), "P/E f={f={f=5}}");
    assert_eq!(nested(8).error, None);
    assert_eq!(nested(9).error, Some(DecodeError::TooDeep));
    let missing = decoded(schema(Source::File, &[structure(1, 2), value(InType::U8)], 1), EIGHT, &[1, 2]);
    assert_eq!(missing.error, Some(DecodeError::MissingStructFields));
}

#[test]
fn only_events_of_the_kernel_may_end_before_a_field() {
    let two = [value(InType::U32), value(InType::U32)];
    let of = |source, fields: &[SchemaField], top, payload: &[u8]| decoded(schema(source, fields, top), EIGHT, payload);
    let old = of(Source::BuiltIn, &two, 2, &[1, 0, 0, 0]);
    assert_eq!(old.error, None);
    assert_eq!(old.fields.len(), 1);
    assert_eq!(old.raw, None);
    assert_eq!(of(Source::File, &two, 2, &[1, 0, 0, 0]).error, Some(DecodeError::Payload));
    assert_eq!(of(Source::BuiltIn, &two, 2, &[1, 0, 0, 0, 2]).error, Some(DecodeError::Payload), "within a field");
    assert_eq!(of(Source::BuiltIn, &two, 2, &[]).error, Some(DecodeError::Payload), "no field at all");
    let fields = [structure(1, 2), value(InType::U8), value(InType::U8)];
    assert_eq!(of(Source::BuiltIn, &fields, 1, &[1]).error, Some(DecodeError::Payload), "within a struct");
    assert_eq!(of(Source::BuiltIn, &fields, 1, &[1, 2]).error, None);
}

#[test]
fn a_payload_has_a_limit_of_values_and_of_names() {
    let array = |count, first, members| SchemaField { count, ..structure(first, members) };
    // 2048 values, and 8 for each of the four bytes. The number before the array is one of them.
    for (count, error) in [(2079, None), (2080, Some(DecodeError::TooManyValues))] {
        let fields = [value(InType::U32), array(Extent::Field(0), 2, 0)];
        let number = u32::from(count).to_le_bytes();
        assert_eq!(decoded(schema(Source::File, &fields, 2), EIGHT, &number).error, error);
        let fields = [value(InType::U32), array(Extent::Fixed(count), 2, 0)];
        assert_eq!(decoded(schema(Source::File, &fields, 2), EIGHT, &number).error, error);
    }
    // 0x2_0000 bytes of names, and 64 for each byte of the payload.
    let named = |length, encoding| SchemaField::new(&"n".repeat(length), encoding);
    for (length, error) in [(0x2_0000 + 256, None), (0x2_0000 + 257, Some(DecodeError::TooManyValues))] {
        let number = [named(length, Encoding::Value(InType::U32))];
        assert_eq!(decoded(schema(Source::File, &number, 1), EIGHT, &[1, 0, 0, 0]).error, error);
        // The names of the number and of the struct count, too.
        let member = SchemaField { length: Extent::Fixed(0), ..named(length - 2, Encoding::Value(InType::Binary)) };
        let fields = [value(InType::U32), structure(2, 1), member];
        assert_eq!(decoded(schema(Source::File, &fields, 2), EIGHT, &[1, 0, 0, 0]).error, error);
    }
}

/// Returns a map that names 1 and the largest number.
fn map() -> Option<Arc<ValueMap>> {
    const MANIFEST: &str = r#"<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events"><instrumentation><events>
        <provider name="P" guid="{11111111-2222-3333-4444-555555555555}" symbol="P" resourceFileName="p" messageFileName="p">
        <maps><valueMap name="M"><map value="1" message="$(string.One)"/><map value="0xFFFFFFFF" message="$(string.All)"/></valueMap></maps>
        <templates><template tid="t"><data name="f" inType="win:UInt8" map="M"/></template></templates>
        <events><event value="1" template="t"/></events></provider></events></instrumentation>
        <localization><resources culture="en-US"><stringTable>
        <string id="One" value="One"/><string id="All" value="All"/>
        </stringTable></resources></localization></instrumentationManifest>"#;
    let mut schemas = ManifestSchemas::default();
    schemas.add(&Manifest::parse(MANIFEST.as_bytes()).unwrap(), Source::File);
    let provider = Guid::parse("11111111-2222-3333-4444-555555555555").unwrap();
    let key = EventKey { provider, id: 1, version: 0, opcode: 0, is_classic: false, pointer: EIGHT };
    schemas.event(&key)?.fields[0].map.clone()
}

#[test]
fn mapped_values_are_their_names_or_digits() {
    let map = map();
    assert!(map.is_some());
    for (in_type, payload, text) in [
        (InType::U8, &[1][..], "One"),
        (InType::U8, &[2], "2"),
        (InType::Hex32, &[1, 0, 0, 0], "One"),
        (InType::I32, &[0xFF; 4], "All"),
        (InType::I8, &[0xFE], "4294967294"),
        (InType::Bool32, &[1, 0, 0, 0], "One"),
        (InType::F32, &[0, 0, 0x80, 0x3F], "1"),
    ] {
        let field = SchemaField { map: map.clone(), ..value(in_type) };
        assert_eq!(shown(field, EIGHT, payload).map(|(text, _)| text).as_deref(), Ok(text), "{in_type:?}");
    }
}

/// Returns the name that [`ByKey`] gives an event.
fn name(decoder: &mut Decoder, event: &Event) -> Option<String> {
    let schema = decoder.schema(&event.as_ref());
    assert_eq!(schema.as_ref().map(|schema| schema.name.to_string()), decoder.decode(&event.as_ref()).event);
    schema.map(|schema| schema.name.to_string())
}

fn kernel(hook_id: u16, version: u16) -> Event {
    let size = u16::try_from(PERFINFO_SIZE).unwrap();
    let header = SystemHeader { version, header_type: TYPE_PERFINFO_64, size, hook_id, ..SystemHeader::default() };
    read_record(&header.to_perfinfo_bytes(), 0)
}

#[test]
fn events_are_looked_up_by_what_identifies_them() {
    let mut decoder = decoder(ByKey);
    let descriptor = EventDescriptor { id: 5, version: 2, opcode: Opcode::Start, ..EventDescriptor::default() };
    let event = |flags, is_32_bit, id| {
        let provider = Guid::from_u128(1);
        let descriptor = EventDescriptor { id, ..descriptor };
        read(&EventData { provider, descriptor, flags, is_32_bit, ..EventData::default() })
    };
    let message = read_record(&[0x18, 0, 0, 0x90, 7, 0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 0);
    // Twice: what was found is remembered. Ids 5 and 69 have the same place in the table of recent lookups.
    for _ in 0..2 {
        for (event, expected) in [
            (event(0, false, 5), Some("5 2 1 false 8")),
            (event(0, false, 69), Some("69 2 1 false 8")),
            (event(0, true, 5), Some("5 2 1 false 4")),
            (event(EVENT_HEADER_FLAG_CLASSIC_HEADER, false, 5), Some("0 2 1 true 8")),
            (event(EVENT_HEADER_FLAG_TRACE_MESSAGE, false, 5), Some("5 2 1 false 8")),
            (event(EVENT_HEADER_FLAG_STRING_ONLY, false, 5), None),
            (message.clone(), Some("7 0 0 false 8")),
            (kernel(0x0501, 2), Some("0 2 1 true 8")),
            (kernel(0x0501, 3), Some("0 3 1 true 8")),
            (kernel(0x0502, 2), Some("0 2 2 true 8")),
            (kernel(0x0501, 9), None),
            (read_record(&[0x09, 0, 13, 0xC0, 5, 0, 0, 0, 1], 0), None),
            (trace_logging("T", |builder| builder), None),
        ] {
            let is_own = event.kind() == Kind::TraceLogging;
            let found = if is_own {
                decoder.schema(&event.as_ref()).map(|_| String::new())
            } else {
                name(&mut decoder, &event)
            };
            assert_eq!(found.as_deref(), expected, "{:?}", event.header);
        }
    }
    assert_eq!(decoder.provider_name(&kernel(0x0501, 9).as_ref()).as_deref(), Some("Named"));
    assert_eq!(decoder.decode(&kernel(0x0501, 9).as_ref()).provider.as_deref(), Some("Named"));
    let unknown = decoder.identify(&kernel(0x0501, 9).as_ref());
    assert_eq!(unknown.provider.as_deref(), Some("Named"));
    assert_eq!(unknown.event, None);
    assert!(!unknown.has_schema);
    assert!(unknown.is_whole, "no payload");
}

#[test]
fn the_first_schema_that_accounts_for_all_bytes_wins() {
    let number = |name: &str, in_type| SchemaField::new(name, Encoding::Value(in_type));
    let short = [number("short", InType::U16)];
    let long = [number("long", InType::U32)];
    let mut layers = Layers::new();
    for (source, fields) in [(Source::Trace, &short), (Source::File, &long), (Source::File, &short)] {
        layers.push(Arc::new(One(Arc::new(schema(source, fields, 1)))));
    }
    let mut decoder = Decoder::new(layers);
    for (payload, expected) in [
        (&[1, 0][..], "short=1"),
        (&[2, 0, 0, 0], "long=2"),
        // No schema fits: the first one in the order of the sources.
        (&[3, 0, 9], "short=3"),
    ] {
        let event = read(&EventData { payload, ..EventData::default() });
        let shown = decoder.decode(&event.as_ref());
        assert_eq!(shown.fields[0].to_string(), expected);
        let schema = decoder.schema(&event.as_ref()).unwrap();
        assert!(expected.starts_with(&*schema.fields[0].name), "all ways to read it use the same one");
        let identity = decoder.identify(&event.as_ref());
        assert_eq!(identity.is_whole, shown.raw.is_none(), "{expected}");
    }
}

#[test]
fn a_source_that_is_added_finds_what_was_unknown() {
    let mut decoder = Decoder::new(Layers::new());
    let events = [kernel(0x0501, 2), read(&EventData::default())];
    for event in &events {
        assert_eq!(name(&mut decoder, event), None);
    }
    decoder.push(Arc::new(ByKey));
    for event in &events {
        assert!(name(&mut decoder, event).is_some());
    }
}

#[test]
fn events_that_describe_themselves_are_identified() {
    let mut decoder = Decoder::default();
    let whole = decoder.identify(&trace_logging("T", |builder| builder.u8("a", 1)).as_ref());
    assert_eq!(whole.provider.as_deref(), Some("TestProvider"));
    assert_eq!(whole.event.as_deref(), Some("T"));
    assert!(whole.has_schema);
    assert!(whole.is_whole);
    let cut = decoder.identify(&crate::testing::event_of(b"\x08\x00\x00E\0a\0\x08", &[5]).as_ref());
    assert!(cut.has_schema);
    assert!(!cut.is_whole);
    let more = decoder.identify(&crate::testing::event_of(b"\x05\x00\x00E\0", &[5]).as_ref());
    assert!(more.has_schema);
    assert!(!more.is_whole);
    let text = decoder.identify(
        &read(&EventData { flags: EVENT_HEADER_FLAG_STRING_ONLY, payload: b"h\0\0\0", ..EventData::default() })
            .as_ref(),
    );
    assert!(text.event.is_none());
    assert!(text.has_schema);
    assert!(text.is_whole);
    let foreign = decoder.identify(&read_record(&[0x09, 0, 13, 0xC0, 5, 0, 0, 0, 1], 0).as_ref());
    assert!(!foreign.has_schema);
    assert!(!foreign.is_whole);
}

/// Names one address of process 4.
#[derive(Debug)]
struct Names;

impl FrameNames for Names {
    fn names(&self, process: u32, address: u64) -> Vec<String> {
        if (process, address) == (4, 0x10) { vec!["inner".into(), "outer".into()] } else { Vec::new() }
    }
}

#[test]
fn frames_are_names_and_addresses_if_any_has_a_name() {
    let event = trace_logging("T", |builder| builder);
    let frames = |decoder: &mut Decoder, stack: &[u64]| {
        let event = event.clone().with_stack(stack);
        let frames = decoder.frames(&event.as_ref());
        assert_eq!(decoder.decode(&event.as_ref()).frames, frames);
        frames
    };
    let mut decoder = Decoder::default();
    assert_eq!(frames(&mut decoder, &[0x10]), [""; 0]);
    let mut decoder = decoder.with_names(Arc::new(Names));
    assert_eq!(frames(&mut decoder, &[0x20, 0x10]), ["0x20", "inner", "outer"]);
    assert_eq!(frames(&mut decoder, &[0x20]), [""; 0]);
}
