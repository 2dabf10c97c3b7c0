//! Parses resources of binaries, both complete and truncated.

use std::path::Path;

use crate::common;
use etw_manifest::manifest::{DataKind, ManifestSchemas, Size};
use etw_manifest::{EventKey, PointerSize, Schema, Source, files, wevt};

#[test]
fn a_resource_becomes_a_manifest() {
    let manifest = wevt::parse(&common::resource(), &wevt::Messages::default()).unwrap();
    let [provider] = &manifest.providers[..] else { panic!("one provider") };
    assert_eq!(provider.name.as_str(), "Test-Provider");
    assert_eq!(provider.guid, common::PROVIDER);
    assert_eq!(provider.tasks[0].value, 3);
    assert_eq!(provider.opcodes[0].value, 1);
    assert_eq!(provider.channels[0].name.as_str(), "Test-Provider/Debug");
    assert_eq!(provider.channels[0].value, Some(16));
    let fields = &provider.templates[0].fields;
    assert_eq!(fields.len(), 6);
    assert_eq!(fields[2].length, Size::Field("Size".into()));
    assert!(matches!(&fields[5].kind, DataKind::Struct(members) if members.len() == 2));
    assert_eq!(fields[5].count, Size::Field("Count".into()));
    assert!(matches!(&fields[0].kind, DataKind::Value { map: Some(map), .. } if map == "Mode"));
    assert_eq!(manifest.providers[0].maps[0].items.len(), 1);
    let mut schemas = ManifestSchemas::default();
    schemas.add(&manifest, Source::File);
    let provider = common::PROVIDER;
    let pointer = PointerSize::Eight;
    let key = EventKey { provider, id: 7, version: 1, opcode: 1, is_classic: false, pointer };
    let schema = schemas.event(&key).unwrap();
    assert_eq!(&*schema.name, "Copy/Start");
    assert_eq!(schema.fields.len(), 8);
    assert_eq!(schema.top_level, 6);
}

#[test]
fn a_field_of_an_unknown_type_affects_only_its_template() {
    let mut resource = common::resource();
    // The first field of the template: no flags, `win:UInt8`.
    let template = resource.windows(4).position(|bytes| bytes == b"TEMP").unwrap();
    assert_eq!(resource[template + 40..template + 45], [0, 0, 0, 0, 4]);
    resource[template + 44] = 99;
    let manifest = wevt::parse(&resource, &wevt::Messages::default()).unwrap();
    let fields = &manifest.providers[0].templates[0].fields;
    assert!(matches!(&fields[0].kind, DataKind::Unknown(kind) if kind == "99"), "{:?}", fields[0]);
    assert_eq!(fields.len(), 6);
    let note =
        "unknown in-type 99 in the resource of Test-Provider: from the field 'Mode' on, the payload is shown as bytes";
    assert_eq!(manifest.notes.iter().map(ToString::to_string).collect::<Vec<_>>(), [note]);
}

#[test]
fn a_resource_that_is_cut_off_is_refused() {
    let resource = common::resource();
    // The event list comes last and is needed to its end.
    for length in 0..resource.len() {
        assert!(wevt::parse(&resource[..length], &wevt::Messages::default()).is_err(), "{length}");
    }
}

#[test]
fn structs_that_share_fields_or_contain_themselves_are_refused() {
    let resource = common::resource();
    // The flags of the struct, its first member and the number of its members.
    let is_struct = |bytes: &[u8]| bytes[0] & 1 == 1 && bytes[1..] == [0, 0, 0, 6, 0, 2, 0];
    let place = resource.windows(8).position(is_struct).unwrap();
    for (first, members) in [(5, 1), (0, 5), (0, 8)] {
        let mut resource = resource.clone();
        resource[place + 4] = first;
        resource[place + 6] = members;
        assert!(wevt::parse(&resource, &wevt::Messages::default()).is_err(), "{first} {members}");
    }
}

#[test]
fn blocks_of_messages_do_not_share_texts() {
    let table = |blocks: u32| {
        let start = 4 + 12 * blocks;
        let blocks_of = (0..blocks).flat_map(|id| [id, id, start]);
        let mut table: Vec<u8> = [blocks].into_iter().chain(blocks_of).flat_map(u32::to_le_bytes).collect();
        table.extend([60, 0, 0, 0]);
        table.extend([b'x'; 56]);
        table
    };
    assert!(wevt::Messages::default().add(&table(1)).is_some());
    assert!(wevt::Messages::default().add(&table(3)).is_none());
}

#[test]
fn binaries_without_a_resource_say_so() {
    let test = std::env::current_exe().unwrap();
    let error = files::read(&test).unwrap_err().to_string();
    assert!(error.starts_with(&test.display().to_string()), "{error}");
    let missing = files::read(Path::new("no-such-file.man")).unwrap_err().to_string();
    assert!(missing.starts_with("cannot read no-such-file.man: "), "{missing}");
}
