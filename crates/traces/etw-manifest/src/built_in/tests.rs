use etw_types::{Guid, InType};

use super::{BuiltIn, TEXTS, Table, parse};
use crate::schema::{EventKey, Extent, PointerSize, Schema};
use crate::types::Encoding;

const PROCESS: Guid = Guid::from_u128(0x3d6f_a8d0_fe05_11d0_9dda_00c0_4fd7_ba7c);
const DOTNET: Guid = Guid::from_u128(0xe13c_0d23_ccbc_4e12_931b_d9cc_2eee_27e4);

fn key(provider: Guid, opcode: u8, version: u8) -> EventKey {
    EventKey { provider, id: 0, version, opcode, is_classic: true, pointer: PointerSize::Eight }
}

fn manifest_key(id: u16, version: u8) -> EventKey {
    EventKey { id, is_classic: false, ..key(DOTNET, 0, version) }
}

#[test]
fn every_line_is_understood() {
    let mut table = Table::default();
    for text in TEXTS {
        assert_eq!(parse::parse(text, &mut table), Ok(()));
    }
    let mut layouts = [0, 0];
    for (guid, group) in &table.groups {
        for (number, versions) in &group.events {
            let mut known: Vec<u8> = versions.iter().map(|(version, _)| *version).collect();
            known.dedup();
            assert_eq!(known.len(), versions.len(), "{} {guid} event {number} has a version twice", group.name);
            layouts[usize::from(group.is_classic)] += versions.len();
        }
    }
    assert!(layouts[1] > 250, "{layouts:?}");
    assert!(layouts[0] > 300, "{layouts:?}");
}

#[test]
fn a_version_applies_until_the_next_one() {
    let fields = |version| BuiltIn.event(&key(PROCESS, 1, version)).unwrap().fields.len();
    assert_eq!([0, 1, 2, 3, 4, 5, 200].map(fields), [4, 7, 8, 9, 12, 12, 12]);
    assert_eq!(BuiltIn.event(&key(PROCESS, 200, 2)), None);
    let manifest = EventKey { is_classic: false, ..key(PROCESS, 1, 2) };
    assert_eq!(BuiltIn.event(&manifest), None);
    assert_eq!(BuiltIn.provider_name(&PROCESS).as_deref(), Some("Process"));
}

#[test]
fn hook_ids_lead_to_classes() {
    assert_eq!(BuiltIn::class_of_hook(0x0301), Some(PROCESS));
    let name = |hook| BuiltIn::class_of_hook(hook).and_then(|guid| BuiltIn.provider_name(&guid));
    assert_eq!(name(0x030A).as_deref(), Some("Image"), "loads are in the group of processes");
    assert_eq!(name(0x1402).as_deref(), Some("Image"));
    assert_eq!(name(0x0524).as_deref(), Some("Thread"));
    assert_eq!(name(0xFF01), None);
}

#[test]
fn events_without_a_layout_have_a_name_in_each_group() {
    for (hook, name) in [
        (0x0052, "LastDroppedTimes"),
        (0x0460, "PreOpInit"),
        (0x0720, "Create"),
        (0x0D23, "Publish"),
        (0x0E20, "Alloc"),
        (0x0F4F, "ClockInterrupt"),
        (0x1230, "PreSleep"),
        (0x1609, "FlushCache"),
        (0x14B0, "NewDllLoad"),
    ] {
        let [opcode, _] = u16::to_le_bytes(hook);
        let found = BuiltIn::class_of_hook(hook).and_then(|class| BuiltIn.event(&key(class, opcode, 3)));
        let found = found.as_ref().map(|schema| &*schema.name);
        assert_eq!(found, Some(name), "{hook:#06x}");
    }
    let session = BuiltIn::class_of_hook(0x0052).unwrap();
    let dropped = BuiltIn.event(&key(session, 82, 2)).unwrap();
    assert_eq!(&*dropped.fields[2].name, "TimeStamp");
    assert_eq!(dropped.fields[2].count, Extent::Field(0));
    let pool = BuiltIn::class_of_hook(0x0E20).unwrap();
    assert_eq!(BuiltIn.event(&key(pool, 32, 2)).unwrap().fields.len(), 0, "only its name is public");
}

#[test]
fn arrays_are_counted_by_a_number_a_field_or_the_remaining_bytes() {
    let config = BuiltIn::class_of_hook(0x0B16).unwrap();
    let schema = BuiltIn.event(&key(config, 22, 5)).unwrap();
    let upper = schema.fields.iter().find(|field| &*field.name == "UpperFilters").unwrap();
    assert_eq!(upper.count, Extent::Field(1));
    assert_eq!(upper.encoding, Encoding::Value(InType::CStr16));
    let stack = BuiltIn::class_of_hook(0x1820).unwrap();
    assert_eq!(BuiltIn.event(&key(stack, 32, 2)).unwrap().fields[3].count, Extent::Rest);
}

#[test]
fn events_of_dotnet_have_maps_and_structures() {
    let start = BuiltIn.event(&manifest_key(1, 2)).unwrap();
    assert_eq!(&*start.provider, "Microsoft-Windows-DotNETRuntime");
    assert_eq!(&*start.name, "GarbageCollection/Start");
    let reason = start.fields[2].map.as_ref().unwrap();
    assert_eq!(reason.text(1).as_deref(), Some("Induced"));
    // GCBulkType: each value has its own count.
    let bulk = BuiltIn.event(&manifest_key(15, 0)).unwrap();
    assert_eq!(bulk.top_level, 3);
    assert_eq!(bulk.fields[2].name.as_ref(), "Values");
    assert_eq!(bulk.fields[2].encoding, Encoding::Struct { first: 3, members: 8 });
    assert_eq!(bulk.fields[2].count, Extent::Field(0));
    assert_eq!(bulk.fields[10].count, Extent::Field(9));
    // The lookup uses the id, not the opcode.
    assert_eq!(BuiltIn.event(&EventKey { is_classic: true, ..manifest_key(1, 2) }), None);
}

#[test]
fn lines_that_are_not_understood_are_named() {
    let class = "class X 3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c\n";
    let wrong = [
        "  Start 1 version 0",
        "class X 1",
        &format!("{class}  A 1 version 0\n    what Name"),
        &format!("{class}  A 1 version 0\n    uint32<None> Name"),
        &format!("{class}  A 1 version 0\n    struct[Count] Name: uint32 A"),
        &format!("{class}  A 1 version 0\n    uint32[3 Name"),
        &format!("{class}  map M what\n    0 A"),
    ];
    for text in wrong {
        assert!(parse::parse(text, &mut Table::default()).is_err(), "{text}");
    }
}
