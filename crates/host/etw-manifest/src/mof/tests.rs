use std::collections::HashMap;

use etw_types::{Guid, InType};

use super::{CLASSES, Kernel, KernelClasses, parse};
use crate::schema::{EventKey, Extent, PointerSize, Schema};
use crate::types::Encoding;

const PROCESS: Guid = Guid::from_u128(0x3d6f_a8d0_fe05_11d0_9dda_00c0_4fd7_ba7c);

fn key(provider: Guid, opcode: u8, version: u8) -> EventKey {
    EventKey { provider, id: 0, version, opcode, is_classic: true, pointer: PointerSize::Eight }
}

#[test]
fn every_line_of_the_classes_is_understood() {
    let mut classes = KernelClasses { classes: HashMap::new(), groups: Vec::new() };
    for text in CLASSES {
        assert_eq!(parse::parse(text, &mut classes), Ok(()));
    }
    for (guid, class) in &classes.classes {
        for (number, versions) in &class.types {
            let mut known: Vec<u8> = versions.iter().map(|(version, _)| *version).collect();
            known.dedup();
            assert_eq!(known.len(), versions.len(), "{} {guid} type {number} has a version twice", class.name);
        }
    }
    assert!(KernelClasses::get().len() > 250, "{}", KernelClasses::get().len());
}

#[test]
fn a_version_stands_until_the_next_one() {
    let fields = |version| Kernel.event(&key(PROCESS, 1, version)).unwrap().fields.len();
    assert_eq!([0, 1, 2, 3, 4, 5, 200].map(fields), [4, 7, 8, 9, 12, 12, 12]);
    assert_eq!(Kernel.event(&key(PROCESS, 200, 2)), None);
    let manifest = EventKey { is_classic: false, ..key(PROCESS, 1, 2) };
    assert_eq!(Kernel.event(&manifest), None);
    assert_eq!(Kernel.provider_name(&PROCESS).as_deref(), Some("Process"));
}

#[test]
fn hook_ids_lead_to_classes() {
    let classes = KernelClasses::get();
    assert_eq!(classes.class_of_hook(0x0301), Some(PROCESS));
    let name = |hook| classes.class_of_hook(hook).and_then(|guid| Kernel.provider_name(&guid));
    assert_eq!(name(0x030A).as_deref(), Some("Image"), "loads are in the group of processes");
    assert_eq!(name(0x1402).as_deref(), Some("Image"));
    assert_eq!(name(0x0524).as_deref(), Some("Thread"));
    assert_eq!(name(0xFF01), None);
}

#[test]
fn arrays_count_by_number_by_field_and_by_what_is_left() {
    let config = KernelClasses::get().class_of_hook(0x0B16).unwrap();
    let schema = Kernel.event(&key(config, 22, 5)).unwrap();
    let upper = schema.fields.iter().find(|field| &*field.name == "UpperFilters").unwrap();
    assert_eq!((upper.count, upper.encoding), (Extent::Field(1), Encoding::Value(InType::CStr16)));
    let stack = KernelClasses::get().class_of_hook(0x1820).unwrap();
    assert_eq!(Kernel.event(&key(stack, 32, 2)).unwrap().fields[3].count, Extent::Rest);
}

#[test]
fn lines_that_are_not_understood_are_named() {
    let wrong = [
        "  Start 1 version 0",
        "class X 1",
        "class X 3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c\n  A 1 version 0\n    what Name",
    ];
    for text in wrong {
        let mut classes = KernelClasses { classes: HashMap::new(), groups: Vec::new() };
        assert!(parse::parse(text, &mut classes).is_err(), "{text}");
    }
}
