use etw_types::{Guid, InType, OutType};

use super::{DataKind, Filter, Manifest, ManifestSchemas, Message, Size};
use crate::schema::{EventKey, Extent, PointerSize, Schema, Source};
use crate::types::Encoding;

const TEXT: &str = r#"<?xml version="1.0"?>
<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events">
 <instrumentation xmlns:win="http://manifests.microsoft.com/win/2004/08/windows/events">
  <events>
   <provider name="My-Provider" guid="{11111111-2222-3333-4444-555555555555}" symbol="MY_PROVIDER"
             resourceFileName="my.sys" messageFileName="my.sys" message="$(string.Provider)">
    <channels><channel chid="op" name="My-Provider/Operational" type="Operational" enabled="true" value="17"/></channels>
    <levels><level name="Custom" value="16" message="$(string.Level)"/></levels>
    <tasks><task name="Copy" value="3" symbol="TASK_COPY">
      <opcodes><opcode name="Slow" value="20"/></opcodes></task></tasks>
    <opcodes><opcode name="Fast" value="0x15"/></opcodes>
    <keywords><keyword name="Disk" mask="0x10"/></keywords>
    <maps>
     <valueMap name="Mode"><map value="1" message="$(string.One)"/><map value="0x2" message="two"/></valueMap>
     <bitMap name="Bits"><map value="0x1" message="$(string.One)"/></bitMap>
    </maps>
    <templates>
     <template tid="t">
      <data name="Mode" inType="win:UInt8" map="Mode"/>
      <data name="Size" inType="win:UInt32" outType="win:PID"/>
      <data name="Data" inType="win:Binary" length="Size"/>
      <data name="Text" inType="win:UnicodeString" length="8"/>
      <data name="Count" inType="win:UInt16"/>
      <struct name="Items" count="Count">
       <data name="Key" inType="win:Pointer"/>
       <data name="Values" inType="win:Int32" count="2"/>
      </struct>
     </template>
    </templates>
    <filters>
     <filter name="ByMode" value="5" version="1" symbol="BY_MODE" tid="t" message="$(string.One)"/>
     <filter name="All" value="6"/>
    </filters>
    <events>
     <event value="1" version="2" level="win:Informational" task="Copy" opcode="Fast" channel="op" keywords="Disk win:ResponseTime"
            template="t" symbol="COPY" message="$(string.Event)"/>
     <event value="7" symbol="PLAIN"/>
     <event value="8"/>
    </events>
   </provider>
  </events>
 </instrumentation>
 <localization>
  <resources culture="de-DE"><stringTable><string id="One" value="Eins"/></stringTable></resources>
  <resources culture="en-US"><stringTable>
   <string id="One" value="One"/><string id="Event" value="Mode %1, %2 bytes"/><string id="Provider" value="Mine"/>
  </stringTable></resources>
 </localization>
</instrumentationManifest>"#;

const PROVIDER: Guid = Guid::from_u128(0x1111_1111_2222_3333_4444_5555_5555_5555);

fn key(id: u16, version: u8) -> EventKey {
    EventKey { provider: PROVIDER, id, version, opcode: 0, is_classic: false, pointer: PointerSize::Eight }
}

#[test]
fn a_manifest_is_read_completely() {
    let manifest = Manifest::parse(TEXT.as_bytes()).unwrap();
    let [provider] = &manifest.providers[..] else { panic!("one provider") };
    assert_eq!(provider.name.as_str(), "My-Provider");
    assert_eq!(provider.guid, PROVIDER);
    assert_eq!(provider.symbol.as_str(), "MY_PROVIDER");
    assert_eq!(provider.resource_file.as_str(), "my.sys");
    assert_eq!(provider.message.as_ref().unwrap().text, "Mine");
    assert_eq!(provider.channels[0].value, Some(17));
    assert!(provider.channels[0].is_enabled);
    assert_eq!(provider.levels[0].value, 16);
    assert_eq!(provider.tasks[0].value, 3);
    assert_eq!(provider.keywords[0].value, 0x10);
    assert_eq!(provider.opcodes.iter().map(|opcode| opcode.value).collect::<Vec<_>>(), [0x15, 20]);
    assert_eq!(provider.opcodes[1].task.as_deref(), Some("Copy"));
    assert!(!(provider.maps[0].is_bits));
    assert!(provider.maps[1].is_bits);
    assert_eq!(provider.templates[0].fields[2].length, Size::Field("Size".into()));
    assert!(matches!(&provider.templates[0].fields[5].kind, DataKind::Struct(members) if members.len() == 2));
    let message = Some(Message { id: "One".into(), text: "One".into() });
    let name = "ByMode".into();
    let symbol = "BY_MODE".into();
    let template = "t".into();
    let filters = [
        Filter { name, value: 5, version: 1, symbol, template, message },
        Filter { name: "All".into(), value: 6, ..Filter::default() },
    ];
    assert_eq!(&provider.filters[..], &filters[..]);
    assert_eq!(&manifest.notes[..], &[][..]);
}

#[test]
fn a_manifest_inside_the_manifest_of_an_assembly_is_read() {
    let start = TEXT.find("<instrumentationManifest").unwrap();
    let assembly = TEXT[start..]
        .replace("<instrumentationManifest", "<assembly xmlns:a='urn:schemas-microsoft-com:asm.v3'")
        .replace("</instrumentationManifest>", "<a:assemblyIdentity name='my.sys' version='1.0.0.0'/></assembly>");
    assert_eq!(Manifest::parse(assembly.as_bytes()), Manifest::parse(TEXT.as_bytes()));
    let error = Manifest::parse(b"<assembly><assemblyIdentity/></assembly>").unwrap_err().to_string();
    assert_eq!(error, "the manifest of the assembly has no <instrumentation> (line 1, column 1)");
}

#[test]
fn an_unknown_type_affects_only_the_events_that_use_it() {
    let fields = |text: &str| {
        let manifest = Manifest::parse(text.as_bytes()).unwrap();
        let notes: Vec<String> = manifest.notes.iter().map(ToString::to_string).collect();
        let mut schemas = ManifestSchemas::default();
        schemas.add(&manifest, Source::File);
        assert_eq!(schemas.len(), 3);
        let schema = schemas.event(&key(1, 2)).unwrap();
        let fields: Vec<_> = schema.fields.iter().map(|field| (field.name.to_string(), field.encoding)).collect();
        assert_eq!(schema.top_level, fields.len());
        (notes, fields)
    };
    let (notes, found) = fields(&TEXT.replacen("win:UInt32", "win:UInt128", 1));
    let note =
        "unknown inType 'win:UInt128': from the field 'Size' on, the payload is shown as bytes (line 20, column 7)";
    assert_eq!(notes, [note]);
    let mode = ("Mode".to_owned(), Encoding::Value(InType::U8));
    assert_eq!(found, [mode, ("Size".to_owned(), Encoding::RestBytes)]);
    let (notes, found) = fields(&TEXT.replacen("win:Pointer", "win:Pinter", 1));
    assert_eq!(notes.len(), 1);
    assert_eq!(found.last().unwrap(), &("Items".to_owned(), Encoding::RestBytes), "a struct with an unknown member");
}

#[test]
fn events_become_schemas() {
    let mut schemas = ManifestSchemas::default();
    schemas.add(&Manifest::parse(TEXT.as_bytes()).unwrap(), Source::File);
    assert_eq!(schemas.len(), 3);
    let schema = schemas.event(&key(1, 2)).unwrap();
    assert_eq!(&*schema.provider, "My-Provider");
    assert_eq!(&*schema.name, "Copy/Fast");
    assert_eq!(schema.message.as_deref(), Some("Mode %1, %2 bytes"));
    assert_eq!(schema.channel.as_deref(), Some("My-Provider/Operational"));
    assert_eq!(schema.keywords.iter().map(AsRef::as_ref).collect::<Vec<&str>>(), ["Disk", "ResponseTime"]);
    assert_eq!(schema.top_level, 6);
    assert_eq!(schema.fields.len(), 8);
    assert_eq!(schema.fields[0].map.as_ref().unwrap().text(1).as_deref(), Some("One"));
    assert_eq!(schema.fields[1].out, OutType::Pid);
    assert_eq!(schema.fields[2].length, Extent::Field(1));
    assert_eq!(schema.fields[3].length, Extent::Fixed(8));
    assert_eq!(schema.fields[5].encoding, Encoding::Struct { first: 6, members: 2 });
    assert_eq!(schema.fields[5].count, Extent::Field(4));
    assert_eq!(schema.fields[6].encoding, Encoding::Pointer);
    assert_eq!(schema.fields[7].encoding, Encoding::Value(InType::I32));
    assert_eq!(schema.fields[7].count, Extent::Fixed(2));
    assert_eq!(&*schemas.event(&key(7, 0)).unwrap().name, "PLAIN");
    assert_eq!(&*schemas.event(&key(8, 0)).unwrap().name, "Event 8");
    assert_eq!(schemas.event(&key(1, 1)), None, "another version is another event");
    assert_eq!(schemas.provider_name(&PROVIDER).as_deref(), Some("My-Provider"));
}

#[test]
fn utf_16_is_read_as_well() {
    let wide: Vec<u8> = [0xFF, 0xFE].into_iter().chain(TEXT.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    assert_eq!(Manifest::parse(&wide), Manifest::parse(TEXT.as_bytes()));
}

#[test]
fn mistakes_are_named_with_their_place() {
    for (wrong, message) in [
        ("<a/>", "not an instrumentation manifest: the root element is <a> (line 1, column 1)"),
        ("<a>", "not well-formed XML"),
        ("<events><provider guid='x'/></events>", "invalid GUID 'x' for guid (line 1, column 9)"),
        ("<events>\n<provider name='n'><events/></provider></events>", "<provider> has no guid (line 2, column 1)"),
    ] {
        let error = Manifest::parse(wrong.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
    let event = TEXT.replace("value=\"8\"", "value=\"70000\"");
    assert!(
        Manifest::parse(event.as_bytes())
            .unwrap_err()
            .to_string()
            .starts_with("invalid value '70000' for value of <event>")
    );
    assert!(Manifest::parse(&[0xFF, 0x00]).is_err());
}

#[test]
fn the_messages_of_task_and_opcode_name_an_event() {
    let text = TEXT
        .replace("symbol=\"TASK_COPY\"", "message=\"$(string.One)\"")
        .replace("value=\"0x15\"", "value=\"0x15\" message=\"Quick\"");
    let mut schemas = ManifestSchemas::default();
    schemas.add(&Manifest::parse(text.as_bytes()).unwrap(), Source::File);
    assert_eq!(&*schemas.event(&key(1, 2)).unwrap().name, "One/Quick");
}
