//! Descriptions of events in files: manifests, `WEVT_TEMPLATE` resources, WPP message formats. Guarantees: in each
//! schema, fields refer only to existing fields. A described event is found.

use etw_manifest::manifest::{Manifest, ManifestSchemas};
use etw_manifest::{Encoding, EventKey, EventSchema, Extent, PointerSize, Schema, Source, wevt, wpp};

/// Reads the bytes as a manifest, as a resource, as WPP message formats and as an image.
pub(super) fn run(bytes: &[u8]) {
    match Manifest::parse(bytes) {
        Ok(manifest) => look_at(&manifest),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Ok(manifest) = wevt::parse(bytes, &wevt::Messages::default()) {
        look_at(&manifest);
    }
    let mut messages = wpp::Messages::default();
    assert!(messages.parse(&String::from_utf8_lossy(bytes)) >= messages.len(), "some messages were not counted");
    if let Ok(resources) = wevt::resources(bytes)
        && let Some(templates) = resources.templates
        && let Ok(manifest) = wevt::parse(&templates, &resources.messages)
    {
        look_at(&manifest);
    }
}

fn look_at(manifest: &Manifest) {
    let mut schemas = ManifestSchemas::default();
    schemas.add(manifest, Source::File);
    for provider in &manifest.providers {
        assert!(schemas.provider_name(&provider.guid).is_some());
        for event in &provider.events {
            let id = event.id;
            let version = event.version;
            let provider = provider.guid;
            let pointer = PointerSize::Four;
            let schema = schemas.event(&EventKey { provider, id, version, opcode: 0, is_classic: false, pointer });
            holds_together(&schema.expect("a described event is not found"));
        }
    }
}

/// Checks that fields refer to existing fields.
pub(super) fn holds_together(schema: &EventSchema) {
    assert!(schema.top_level <= schema.fields.len(), "{schema:?}");
    assert!(!schema.name.is_empty(), "{schema:?}");
    for field in schema.fields.iter() {
        for extent in [field.count, field.length] {
            assert!(!matches!(extent, Extent::Field(place) if usize::from(place) >= schema.fields.len()), "{schema:?}");
        }
        if let Encoding::Struct { first, members } = field.encoding {
            assert!(usize::from(first) + usize::from(members) <= schema.fields.len(), "{schema:?}");
        }
    }
}
