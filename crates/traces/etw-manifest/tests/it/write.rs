//! Written resources: parsed again, and compared with one that Microsoft's message compiler wrote.

use std::fs;
use std::path::Path;

use etw_manifest::manifest::{Manifest, ManifestSchemas, Message};
use etw_manifest::{EventKey, PointerSize, Schema, Source, wevt};

const RICH: &[u8] = include_bytes!("../data/rich.man");

fn compiled(manifest: &Manifest) -> (Vec<u8>, wevt::Messages) {
    let (resource, texts) = wevt::write(manifest);
    let texts: Vec<(u32, &str)> = texts.iter().map(|text| (text.id, text.message.text.as_str())).collect();
    let mut messages = wevt::Messages::default();
    messages.add(&wevt::message_table(&texts)).unwrap();
    (resource, messages)
}

#[test]
fn a_manifest_comes_back_from_its_resource() {
    let manifest = Manifest::parse_checked(RICH).unwrap();
    let (resource, messages) = compiled(&manifest);
    let read = wevt::parse(&resource, &messages).unwrap();
    let one = &manifest.providers[0];
    let again = &read.providers[0];
    assert_eq!(&one.name, &again.name);
    assert_eq!(one.guid, again.guid);
    let [mut schemas, mut schemas_again] = [ManifestSchemas::default(), ManifestSchemas::default()];
    schemas.add(&manifest, Source::File);
    schemas_again.add(&read, Source::File);
    assert_eq!(schemas.len(), 4);
    assert_eq!(schemas_again.len(), 4);
    for event in &one.events {
        let key = EventKey {
            provider: one.guid,
            id: event.id,
            version: event.version,
            opcode: 0,
            is_classic: false,
            pointer: PointerSize::Eight,
        };
        let was = schemas.event(&key).unwrap();
        let is = schemas_again.event(&key).unwrap();
        assert_eq!(was.fields, is.fields, "{event:?}");
        let sorted = |keywords: &[Box<str>]| {
            let mut keywords = keywords.to_vec();
            keywords.sort();
            keywords
        };
        assert_eq!(sorted(&was.keywords), sorted(&is.keywords));
        assert_eq!(&was.name, &is.name);
        assert_eq!(&was.level, &is.level);
        assert_eq!(&was.channel, &is.channel);
        assert_eq!(&was.message, &is.message);
        assert_eq!(was.top_level, is.top_level);
    }
    let text = |message: &Option<Message>| message.as_ref().map(|message| message.text.clone());
    assert_eq!(text(&one.message), text(&again.message));
    let values = |provider: &etw_manifest::manifest::Provider| -> Vec<_> {
        provider.tasks.iter().map(|task| (task.name.clone(), task.value, task.guid, text(&task.message))).collect()
    };
    assert_eq!(values(one), values(again));
    assert_eq!(again.channels.iter().map(|channel| channel.value).collect::<Vec<_>>(), [Some(16), Some(17), Some(8)]);
    assert_eq!(text(&again.levels.iter().find(|level| level.name == "Detail").unwrap().message).unwrap(), "Detail");
    let names = |maps: &[etw_manifest::manifest::Map]| -> Vec<_> {
        let items = |map: &etw_manifest::manifest::Map| -> Vec<_> {
            map.items.iter().map(|item| (item.value, text(&item.message))).collect()
        };
        maps.iter().map(|map| (map.name.clone(), map.is_bits, items(map))).collect()
    };
    assert_eq!(names(&one.maps), names(&again.maps));
    let filters = |provider: &etw_manifest::manifest::Provider| -> Vec<_> {
        let template = |id: &str| provider.templates.iter().find(|template| template.id == id);
        let filters = provider.filters.iter();
        let fields = |id: &str| template(id).map(|template| template.fields.clone());
        filters
            .map(|filter| {
                (filter.name.clone(), filter.value, filter.version, fields(&filter.template), text(&filter.message))
            })
            .collect()
    };
    assert_eq!(filters(one).len(), 2);
    assert_eq!(filters(one), filters(again));
}

/// Returns the list with this signature.
fn list(resource: &[u8], signature: [u8; 4]) -> &[u8] {
    let start = resource.windows(4).position(|bytes| bytes == signature).unwrap();
    let size = u32::from_le_bytes(resource[start + 4..start + 8].try_into().unwrap());
    &resource[start..start + usize::try_from(size).unwrap()]
}

fn numbers(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

/// The layout is that of resources which Microsoft's message compiler wrote: the flags of a map precede the number of its
/// entries, entries are ordered by value, and bit maps have messages of their own kind.
#[test]
fn maps_have_flags_and_entries_in_the_order_of_values() {
    let text = str::from_utf8(RICH).unwrap().replace("<map value=\"2\" message", "<map value=\"0\" message");
    let manifest = Manifest::parse_checked(text.as_bytes()).unwrap();
    let (resource, texts) = wevt::write(&manifest);
    let value = numbers(list(&resource, *b"VMAP"));
    assert_eq!(value[3..], [0, 2, 0, 0xD000_0002, 1, 0xD000_0001]);
    let bits = numbers(list(&resource, *b"BMAP"));
    assert_eq!(bits[3..], [1, 2, 1, 0xF000_0001, 0x80, 0xF000_0002]);
    let text = |id: u32| texts.iter().find(|text| text.id == id).map(|text| text.message.id.as_str());
    assert_eq!(text(0xD000_0001), Some("Slow"));
    assert_eq!(text(0xF000_0002), Some("Paged"));
    // The table of offsets is ordered by name: Flags is before Mode, although it is declared after it.
    let maps = list(&resource, *b"MAPS");
    let start = resource.windows(4).position(|bytes| bytes == b"MAPS").unwrap();
    let offsets = &numbers(maps)[3..5];
    let signature = |offset: u32| &maps[usize::try_from(offset).unwrap() - start..][..4];
    assert_eq!(offsets.iter().map(|offset| signature(*offset)).collect::<Vec<_>>(), [b"BMAP", b"VMAP"]);
}

#[test]
fn filters_have_their_number_version_message_and_template() {
    let (resource, texts) = wevt::write(&Manifest::parse_checked(RICH).unwrap());
    let filters = numbers(list(&resource, *b"FLTR"));
    let [_, size, count, _, first, message, name, template, second, none, _, no_template, ..] = filters[..] else {
        panic!("{filters:?}");
    };
    assert_eq!(usize::try_from(size).unwrap(), 4 * filters.len());
    assert_eq!(count, 2);
    assert_eq!(first, 1);
    assert_eq!(message, 0x5080_0001);
    assert_eq!(second, 0x0102);
    assert_eq!(none, u32::MAX);
    assert_eq!(no_template, 0);
    let at = |offset: u32| &resource[usize::try_from(offset).unwrap()..];
    assert_eq!(&at(template)[..4], &b"TEMP"[..]);
    assert_eq!(&at(name)[4..14], &b"S\0i\0z\0e\0d\0"[..]);
    assert_eq!(texts.iter().find(|text| text.id == message).unwrap().message.text, "By size");
}

#[test]
fn messages_of_two_providers_have_different_numbers() {
    let one = Manifest::parse_checked(RICH).unwrap();
    let mut two = one.clone();
    two.providers.extend(one.providers.clone());
    let ids = |manifest: &Manifest| wevt::write(manifest).1.iter().map(|text| text.id).collect::<Vec<_>>();
    let one = ids(&one);
    let two = ids(&two);
    let second: Vec<u32> = one.iter().map(|id| id | 0x0100_0000).collect();
    assert_eq!(two, [one, second].concat());
}

#[test]
fn a_list_without_elements_is_written_with_a_size_of_0() {
    let text = r#"<instrumentationManifest><provider name="P" guid="{7c2f4a51-2c8b-4f1d-9a3e-5b6d7e8f9012}"
        resourceFileName="p.sys" messageFileName="p.sys"><events><event value="1"/></events></provider></instrumentationManifest>"#;
    let (resource, _) = wevt::write(&Manifest::parse_checked(text.as_bytes()).unwrap());
    for signature in [b"OPCO", b"LEVL", b"TASK", b"KEYW"] {
        let start = resource.windows(4).position(|bytes| bytes == signature).unwrap();
        assert_eq!(numbers(&resource[start + 4..start + 12]), [0, 0]);
    }
    let events = resource.windows(4).position(|bytes| bytes == b"EVNT").unwrap();
    assert_eq!(events % 8, 0, "events have a keyword mask of eight bytes");
}

#[test]
fn an_event_has_its_numbers_and_the_bit_of_its_channel() {
    let manifest = Manifest::parse_checked(RICH).unwrap();
    let provider = &manifest.providers[0];
    let numbers: Vec<_> = provider.events.iter().map(|event| provider.numbers(event)).collect();
    let all = |number: &etw_manifest::manifest::Numbers| {
        (number.channel, number.level, number.opcode, number.task, number.keyword)
    };
    assert_eq!(all(&numbers[0]), (16, 2, 0, 1, 1 << 63 | 1 << 48 | 0x101));
    assert_eq!(all(&numbers[1]), (17, 16, 20, 3, 1 << 62 | 1));
    assert_eq!(all(&numbers[2]), (8, 5, 11, 3, 1 << 61));
    assert_eq!(all(&numbers[3]), (0, 0, 1, 3, 0));
}

/// Uses a manifest of another project (elastic/beats) and its compiled resource, which are not part of this repository.
#[test]
fn the_resource_is_that_of_microsofts_message_compiler_but_for_the_guids_of_templates() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/data/manifests");
    let (Ok(manifest), Ok(binary)) = (fs::read(folder.join("sample.man")), fs::read(folder.join("sample.dll"))) else {
        println!("skipped: there is no manifest with its binary in {}", folder.display());
        return;
    };
    let manifest = Manifest::parse_checked(&manifest).unwrap();
    let (mut ours, texts) = wevt::write(&manifest);
    let mut theirs = wevt::resources(&binary).unwrap().templates.unwrap();
    // The resource has two more bytes than its header says.
    assert_eq!(theirs.split_off(ours.len()), [0, 0]);
    for bytes in [&mut ours, &mut theirs] {
        let templates: Vec<usize> = (0..bytes.len() - 4).filter(|at| &bytes[*at..*at + 4] == b"TEMP").collect();
        assert_eq!(templates.len(), 2);
        for template in templates {
            bytes[template + 24..template + 40].fill(0);
        }
    }
    assert!(ours == theirs, "the resource differs");
    let texts: Vec<(u32, &str)> = texts.iter().map(|text| (text.id, text.message.text.as_str())).collect();
    let table = wevt::message_table(&texts);
    assert!(binary.windows(table.len()).any(|bytes| bytes == table), "the message table differs");
}

#[test]
fn mistakes_are_found_all_at_once_with_their_places() {
    let text = str::from_utf8(RICH).unwrap();
    let change = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        let errors = Manifest::parse_checked(text.replacen(from, to, 1).as_bytes()).unwrap_err();
        errors.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    for (from, to, expected) in [
        ("template=\"sized\"", "template=\"size\"", "the template 'size' is not declared (line 87, column 11)"),
        ("keywords=\"Read\"", "keywords=\"Reed\"", "the keyword 'Reed' is not declared (line 87, column 11)"),
        (
            "level=\"win:Error\"",
            "level=\"win:Verbose\"",
            "the level of an event of an admin channel is win:Critical, win:Error, win:Warning or win:Informational (line 85, column 11)",
        ),
        ("mask=\"0x100\"", "mask=\"0x1\"", "<keyword> with this mask is in line 30 (line 31, column 11)"),
        ("mask=\"0x100\"", "mask=\"0x300\"", "the mask of a keyword is one bit, not 0x300 (line 31, column 11)"),
        (
            "mask=\"0x100\"",
            "mask=\"0x1000000000000\"",
            "the mask of <keyword> is from 1 to 281474976710655 (line 31, column 11)",
        ),
        (
            "value=\"3\" symbol=\"Probed\"",
            "value=\"1\" symbol=\"Probed\"",
            "an event with this value and version is in line 85 (line 89, column 11)",
        ),
        (
            "symbol=\"Probed\"",
            "symbol=\"DeviceFailed\"",
            "an event with this symbol is in line 85 (line 89, column 11)",
        ),
        ("$(string.Started)", "$(string.Begun)", "the string 'Begun' is in no string table (line 90, column 11)"),
        (
            "inType=\"win:Binary\" length=\"Size\"",
            "inType=\"win:Binary\"",
            "a win:Binary has a length (line 68, column 13)",
        ),
        (
            "length=\"Size\"/>\n            <data name=\"Tag\"",
            "length=\"Sise\"/>\n            <data name=\"Tag\"",
            "the length of a field is a field before it; 'Sise' is not (line 68, column 13)",
        ),
        ("map=\"Mode\"", "map=\"Mood\"", "the map 'Mood' is not declared (line 46, column 13)"),
        ("outType=\"win:HexInt16\"", "outType=\"win:Hex\"", "unknown outType 'win:Hex' (line 48, column 13)"),
        ("inType=\"win:Int8\"", "inType=\"win:Int9\"", "unknown inType 'win:Int9' (line 45, column 13)"),
        (
            "type=\"Debug\"",
            "type=\"Bug\"",
            "the type of a channel is Admin, Operational, Analytic or Debug, not 'Bug' (line 12, column 11)",
        ),
        (
            "name=\"Retry\" value=\"20\"",
            "name=\"Retry\" value=\"5\"",
            "the value of <opcode> is from 10 to 239 (line 21, column 15)",
        ),
        (
            "<template tid=\"nested\">",
            "<template tid=\"nested\"><UserData/>",
            "<UserData> is not supported; its fields become <EventData>: remove the element (line 75, column 34)",
        ),
        (
            "tid=\"sized\" message",
            "tid=\"seized\" message",
            "the template 'seized' is not declared (line 93, column 11)",
        ),
        (
            "value=\"2\" version=\"1\"/>",
            "value=\"1\"/>",
            "a filter with this value and version is in line 93 (line 94, column 11)",
        ),
        ("name=\"Errors\" value=\"2\"", "name=\"Errors\"", "<filter> has no value (line 94, column 11)"),
        (
            "<filters>",
            "<namedQueries/><filters>",
            "<namedQueries> of a provider is not supported: remove the element (line 92, column 9)",
        ),
        (
            "symbol=\"RICH\"",
            "symbol=\"RICH\" controlGuid=\"{7c2f4a51-2c8b-4f1d-9a3e-5b6d7e8f9012}\"",
            "the attribute controlGuid is not supported: remove it (line 8, column 7)",
        ),
        (
            "symbol=\"Probed\"",
            "symbol=\"Probed\" notLogged=\"true\"",
            "the attribute notLogged is not supported: remove it (line 89, column 11)",
        ),
    ] {
        assert_eq!(change(from, to), [expected], "{to}");
    }
    let two = text.replace("template=\"all\"", "template=\"none\"").replace("opcode=\"Probe\"", "opcode=\"Prob\"");
    assert_eq!(Manifest::parse_checked(two.as_bytes()).unwrap_err().len(), 2);
}
