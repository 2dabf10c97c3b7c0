//! Each source of schemas names events that are not self-describing, and decoding shows every byte of their payload.

#[path = "../../../etw-manifest/tests/it/common/mod.rs"]
mod described;

use std::path::Path;
use std::sync::Arc;

use crate::common::{folder, genuine, options};
use described::{PROVIDER, SHOWN, event_info, map_info, payload};
use etw_etl::format::message::MessageHeader;
use etw_etl::{Decoder, EventData, Format, Reader, Writer};
use etw_manifest::manifest::{Manifest, ManifestSchemas};
use etw_manifest::{Schema, Source, tdh, wpp};
use etw_types::{EventDescriptor, Guid, Opcode};

/// A provider with a value map, a length and a count that are given by other fields, and an array of structs.
const MANIFEST: &str = r#"<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events"><instrumentation><events>
 <provider name="Test-Provider" guid="{11111111-2222-3333-4444-555555555555}" symbol="P" resourceFileName="p" messageFileName="p">
  <tasks><task name="Copy" value="3"/></tasks>
  <maps><valueMap name="Mode"><map value="1" message="$(string.One)"/></valueMap></maps>
  <templates><template tid="t">
   <data name="Mode" inType="win:UInt8" map="Mode"/>
   <data name="Size" inType="win:UInt32"/>
   <data name="Data" inType="win:Binary" length="Size"/>
   <data name="Text" inType="win:UnicodeString"/>
   <data name="Count" inType="win:UInt16"/>
   <struct name="Items" count="Count"><data name="Key" inType="win:Pointer"/><data name="Flag" inType="win:Boolean"/></struct>
  </template></templates>
  <events><event value="7" version="1" task="Copy" opcode="win:Start" template="t" message="$(string.Event)"/></events>
 </provider></events></instrumentation>
 <localization><resources culture="en-US"><stringTable>
  <string id="One" value="Fast"/><string id="Event" value="%1 copy of %4"/>
 </stringTable></resources></localization></instrumentationManifest>"#;

fn event(payload: &[u8]) -> EventData<'_> {
    let descriptor =
        EventDescriptor { id: 7, version: 1, task: 3, opcode: Opcode::Start, ..EventDescriptor::default() };
    EventData { provider: PROVIDER, descriptor, payload, timestamp: 1_000_005, ..EventData::default() }
}

/// Writes the described event and the events that describe it to a trace.
fn trace(name: &str, describing: &[EventData<'_>]) -> std::path::PathBuf {
    let path = folder("schemas").join(name);
    let mut writer = Writer::create(&path, options()).unwrap();
    let payload = payload();
    writer.write(0, &event(&payload)).unwrap();
    for event in describing {
        writer.write(0, &EventData { timestamp: 1_000_010, ..*event }).unwrap();
    }
    writer.close().unwrap();
    path
}

/// Decodes the first event with id 7 of a trace.
fn decoded(path: &Path, files: Option<Arc<dyn Schema>>) -> (String, Option<Source>, Option<String>) {
    let mut reader = Reader::open(path).unwrap();
    let mut decoder = Decoder::from_reader(&reader, files);
    while let Some(event) = reader.next_ref() {
        if event.header.descriptor.id == 7 {
            let said = decoder.decode(&event);
            let identity = decoder.identify(&event);
            assert_eq!(identity.is_whole, said.raw.is_none());
            return (said.to_string(), said.schema.as_ref().map(|schema| schema.source), said.message());
        }
    }
    panic!("no such event");
}

fn metadata(opcode: u8, payload: &[u8]) -> EventData<'_> {
    let descriptor = EventDescriptor { opcode: Opcode::from_int(opcode), ..EventDescriptor::default() };
    EventData { provider: tdh::METADATA_CLASS, descriptor, flags: 0x100, payload, ..EventData::default() }
}

#[test]
fn a_trace_describes_its_events_at_its_end() {
    let info = event_info();
    let map = map_info();
    let path = trace("trace-event-info.etl", &[metadata(32, &info), metadata(33, &map)]);
    let (text, source, message) = decoded(&path, None);
    assert_eq!(text.as_str(), SHOWN);
    assert_eq!(source, Some(Source::Trace));
    assert_eq!(message.as_deref(), Some("Fast copy of hi"));
    assert_eq!(Reader::open(&path).unwrap().schemas().len(), 1);
}

#[test]
fn descriptions_that_are_cut_off_describe_nothing() {
    let info = event_info();
    for length in 0..info.len() {
        let path = trace("cut.etl", &[metadata(32, &info[..length])]);
        let reader = Reader::open(&path).unwrap();
        let mut decoder = Decoder::from_reader(&reader, None);
        let mut reader = reader;
        while let Some(event) = reader.next_ref() {
            decoder.decode(&event);
        }
    }
}

#[test]
fn event_source_manifests_come_in_chunks() {
    let middle = MANIFEST.len() / 2;
    let chunk = |number: u8, text: &str| [&[1, 1, 0, 0x5B, 2, 0, number, 0], text.as_bytes()].concat();
    let first = chunk(0, &MANIFEST[..middle]);
    let second = chunk(1, &MANIFEST[middle..]);
    let descriptor = EventDescriptor { id: 0xFFFE, ..EventDescriptor::default() };
    let base = EventData { provider: PROVIDER, descriptor, process_id: 5, ..EventData::default() };
    let path = folder("schemas").join("event-source.etl");
    let mut writer = Writer::create(&path, etw_etl::WriterOptions { buffer_size: 8192, ..options() }).unwrap();
    let payload = payload();
    writer.write(0, &event(&payload)).unwrap();
    // The second chunk is in an earlier buffer of another processor.
    writer.write(1, &EventData { payload: &second, timestamp: 1_000_002, ..base }).unwrap();
    writer.write(0, &EventData { payload: &first, timestamp: 1_000_001, ..base }).unwrap();
    writer.close().unwrap();
    let (text, source, _) = decoded(&path, None);
    assert_eq!(text.as_str(), SHOWN);
    assert_eq!(source, Some(Source::Trace));
    let mut reader = Reader::open(&path).unwrap();
    let mut decoder = Decoder::from_reader(&reader, None);
    let mut names = Vec::new();
    while let Some(event) = reader.next_ref() {
        let identity = decoder.identify(&event);
        assert!(identity.has_schema, "{identity:?}");
        assert!(identity.is_whole, "{identity:?}");
        names.extend(identity.event.filter(|name| &**name == "ManifestData"));
    }
    assert_eq!(names.len(), 2);
}

#[test]
fn a_manifest_of_the_user_names_events() {
    let path = trace("manifest.etl", &[]);
    let mut schemas = ManifestSchemas::default();
    schemas.add(&Manifest::parse(MANIFEST.as_bytes()).unwrap(), Source::File);
    let (text, source, message) = decoded(&path, Some(Arc::new(schemas)));
    assert_eq!(text.as_str(), SHOWN);
    assert_eq!(source, Some(Source::File));
    assert_eq!(message.as_deref(), Some("Fast copy of hi"));
    let (text, source, _) = decoded(&path, None);
    assert_eq!(text.as_str(), "(undecoded)");
    assert_eq!(source, None);
}

#[test]
fn bytes_that_a_schema_does_not_describe_stay_visible() {
    let mut schemas = ManifestSchemas::default();
    schemas.add(&Manifest::parse(MANIFEST.as_bytes()).unwrap(), Source::File);
    let schemas: Arc<dyn Schema> = Arc::new(schemas);
    let whole = payload();
    for length in 0..whole.len() + 3 {
        let mut payload = whole.clone();
        payload.resize(length, 0xEE);
        let path = folder("schemas").join("rest.etl");
        let mut writer = Writer::create(&path, options()).unwrap();
        writer.write(0, &event(&payload)).unwrap();
        writer.close().unwrap();
        let mut reader = Reader::open(&path).unwrap();
        let mut decoder = Decoder::from_reader(&reader, Some(Arc::clone(&schemas)));
        while let Some(event) = reader.next_ref() {
            if event.header.descriptor.id == 7 {
                let said = decoder.decode(&event);
                assert_eq!(said.raw.as_ref(), (length != whole.len()).then_some(&payload));
            }
        }
    }
}

#[test]
fn wpp_messages_are_formatted_by_their_tmf_file() {
    let guid = Guid::from_u128(0x0011_AABB_2233_4455_6677_8899_AABB_CCDD);
    let arguments = [&b"d\0i\0s\0k\0\0\0"[..], &0xBEEF_u32.to_le_bytes(), &0xC000_00BB_u32.to_le_bytes()].concat();
    let header = MessageHeader { number: 10, guid: Some(guid), timestamp: Some(1_000_050), ..MessageHeader::default() };
    let mut record = Vec::new();
    header.push(arguments.len(), &mut record).unwrap();
    record.extend(&arguments);
    let path = folder("schemas").join("wpp.etl");
    let mut writer = Writer::create(&path, options()).unwrap();
    let mut buffer = etw_etl::Buffer::new(1024, 0);
    buffer.push_record(&record, 1_000_050).unwrap();
    writer.write_buffer(&mut buffer, 1_000_060).unwrap();
    writer.close().unwrap();
    let mut messages = wpp::Messages::default();
    let tmf = "0011aabb-2233-4455-6677-8899aabbccdd Driver // SRC=a.c\n\
               #typev a_c12 10 \"%0opened %10!s! at %11!x!: %12!s!\" //   LEVEL=INFO FLAGS=ALL FUNC=Open\n{\n\
               Name, ItemWString -- 10\nAt, ItemULong -- 11\nStatus, ItemNTSTATUS -- 12\n}\n";
    assert_eq!(messages.parse(tmf), 1);
    let mut reader = Reader::open(&path).unwrap();
    let mut decoder = Decoder::from_reader(&reader, Some(Arc::new(messages) as Arc<dyn Schema>));
    let mut said = None;
    while let Some(event) = reader.next_ref() {
        said = (event.kind() == etw_etl::Kind::Wpp).then(|| decoder.decode(&event)).or(said);
    }
    let said = said.unwrap();
    assert_eq!(said.to_string(), "Driver/Open Name=disk At=0xbeef Status=0xC00000BB STATUS_NOT_SUPPORTED");
    assert_eq!(said.message().as_deref(), Some("opened disk at 0xbeef: 0xC00000BB STATUS_NOT_SUPPORTED"));
    assert_eq!(said.raw, None);
}

#[test]
fn captured_traces_are_named_and_whole() {
    let Some(folder) = genuine() else { return };
    for file in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if file.extension().is_none_or(|extension| extension != "etl") {
            continue;
        }
        let mut reader = Reader::open(&file).unwrap();
        let mut decoder = Decoder::from_reader(&reader, None);
        while let Some(event) = reader.next_ref() {
            let identity = decoder.identify(&event);
            // WPP messages need the PDB of the program that wrote them.
            let is_wpp = event.kind() == etw_etl::Kind::Wpp;
            assert_eq!(identity.has_schema, !is_wpp, "{} {identity:?}", file.display());
            assert!(is_wpp || identity.is_whole, "{} {identity:?}", file.display());
        }
    }
}

#[test]
fn kernel_events_have_the_names_and_the_guids_of_their_class() {
    let Some(folder) = genuine() else { return };
    let mut reader = Reader::open(folder.join("perfview_SelfDescribingSingleEvent.etl")).unwrap();
    let mut out = etw_etl::Exporter::new(Vec::new(), Format::JsonLines)
        .unwrap()
        .with_decoder(Decoder::from_reader(&reader, None));
    while let Some(event) = reader.next_ref() {
        out.event_ref(&event).unwrap();
    }
    let text = String::from_utf8(out.finish().unwrap()).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let header = &lines[0];
    assert_eq!(header["provider"], "EventTrace");
    assert_eq!(header["event"], "Header");
    assert_eq!(header["provider_id"], "68fdd900-4a3e-11d1-84f4-0000f80464e3");
    let names: Vec<String> =
        lines.iter().map(|line| format!("{}/{}", line["provider"], line["event"]).replace('"', "")).collect();
    assert!(names.iter().any(|name| name == "SysConfig/VolumeMapping"), "{names:?}");
}
