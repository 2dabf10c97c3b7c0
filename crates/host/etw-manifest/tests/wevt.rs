//! Parses resources of binaries, both complete and truncated.
#![cfg(test)]

mod common;

use std::path::Path;

use etw_manifest::manifest::{DataKind, ManifestSchemas, Size};
use etw_manifest::{EventKey, PointerSize, Schema, Source, files, wevt};

#[test]
fn a_resource_becomes_a_manifest() {
    let manifest = wevt::parse(&common::resource(), &wevt::Messages::default()).unwrap();
    let [provider] = &manifest.providers[..] else { panic!("one provider") };
    assert_eq!((provider.name.as_str(), provider.guid), ("Test-Provider", common::PROVIDER));
    assert_eq!((provider.tasks[0].value, provider.opcodes[0].value), (3, 1));
    assert_eq!((provider.channels[0].name.as_str(), provider.channels[0].value), ("Test-Provider/Debug", Some(16)));
    let fields = &provider.templates[0].fields;
    assert_eq!(fields.len(), 6);
    assert_eq!(fields[2].length, Size::Field("Size".into()));
    assert!(matches!(&fields[5].kind, DataKind::Struct(members) if members.len() == 2));
    assert_eq!(fields[5].count, Size::Field("Count".into()));
    assert!(matches!(&fields[0].kind, DataKind::Value { map: Some(map), .. } if map == "Mode"));
    let mut schemas = ManifestSchemas::default();
    schemas.add(&manifest, Source::File);
    let (provider, pointer) = (common::PROVIDER, PointerSize::Eight);
    let key = EventKey { provider, id: 7, version: 1, opcode: 1, is_classic: false, pointer };
    let schema = schemas.event(&key).unwrap();
    assert_eq!((&*schema.name, schema.fields.len(), schema.top_level), ("Copy/Start", 8, 6));
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
fn binaries_without_a_resource_say_so() {
    let test = std::env::current_exe().unwrap();
    let error = files::read(&test).unwrap_err().to_string();
    assert!(error.starts_with(&test.display().to_string()), "{error}");
    let missing = files::read(Path::new("no-such-file.man")).unwrap_err().to_string();
    assert!(missing.starts_with("cannot read no-such-file.man: "), "{missing}");
}
