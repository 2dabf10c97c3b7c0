//! Tests of images.

use etw_types::{EventDescriptor, Guid, Opcode};

use super::{FrameNames as _, Images};
use crate::decode::Decoder;
use crate::format::event::EVENT_HEADER_FLAG_CLASSIC_HEADER;
use crate::testing::read;
use crate::{Event, EventData};

const IMAGE: &str = "2cb15d1d-5fc1-11d2-abe1-00a0c911f518";
const IMAGE_ID: &str = "b3e675d7-2554-4f18-830b-2762732560de";

fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

/// Returns an image event: base, size, process, 36 other bytes, path.
fn image(opcode: u8, base: u64, size: u64, process: u32, path: &str) -> Event {
    let numbers = [&base.to_le_bytes()[..], &size.to_le_bytes(), &process.to_le_bytes(), &[0; 36]].concat();
    classic(IMAGE, opcode, 3, &[numbers, wide(path)].concat())
}

/// Returns an event that names the PDB of an image.
fn pdb(base: u64, process: u32, id: Guid, name: &str) -> Event {
    let numbers = [&base.to_le_bytes()[..], &process.to_le_bytes(), &id.to_bytes_le(), &1_u32.to_le_bytes()].concat();
    classic(IMAGE_ID, 36, 2, &[&numbers[..], name.as_bytes(), &[0]].concat())
}

#[test]
fn addresses_are_found_in_their_process_and_drivers_in_all() {
    let mut images = Images::default();
    let mut decoder = Decoder::default();
    assert!(images.is_empty());
    let mut add = |images: &mut Images, event: &Event| images.add(&mut decoder, &event.as_ref());
    add(&mut images, &image(LOAD, 0x40_0000, 0x1000, 7, "\\Device\\Disk\\a.exe"));
    add(&mut images, &image(DC_START, 0xFFFF_F800_0000_0000, 0x1000, 0, "\\SystemRoot\\ntoskrnl.exe"));
    assert_eq!(images.name(7, 0x40_0010).as_deref(), Some("a.exe+0x10"));
    assert_eq!(images.name(8, 0x40_0010), None);
    assert_eq!(images.name(7, 0x40_1000), None);
    assert_eq!(images.name(8, 0xFFFF_F800_0000_0FFF).as_deref(), Some("ntoskrnl.exe+0xfff"));
    let id = Guid::from_u128(0x0011_aabb_2233_4455_6677_8899_aabb_ccdd);
    add(&mut images, &pdb(0x40_0000, 7, id, "c:\\build\\a.pdb"));
    assert_eq!(images.find(7, 0x40_0010).unwrap().pdb, Some((id, "a.pdb")));
    add(&mut images, &image(UNLOAD, 0x40_0000, 0x1000, 7, "b.dll"));
    assert_eq!(images.name(7, 0x40_0000).as_deref(), Some("a.exe+0x0"));
    assert_eq!(images.names(7, 0x40_0001), ["a.exe+0x1"]);
    assert_eq!(images.names(7, 0x50_0000), [""; 0]);
    add(&mut images, &image(DC_END, 0x40_0000, 0x1000, 7, "c.dll"));
    add(&mut images, &image(33, 0x40_0000, 0x1000, 7, "d.dll"));
    assert_eq!(images.name(7, 0x40_0000).as_deref(), Some("c.dll+0x0"), "a later image at the same address");
    add(&mut images, &image(UNLOAD, 0x60_0000, 0x1000, 7, "e.dll"));
    assert_eq!(images.name(7, 0x60_0FFF).as_deref(), Some("e.dll+0xfff"), "loaded before the trace began");
    assert_eq!(images.name(7, 0x3F_FFFF), None, "below the first image");
}

#[test]
fn a_description_names_an_image_that_no_image_event_reports() {
    let mut images = Images::default();
    let mut decoder = Decoder::default();
    let numbers = [&0x41_0000_u64.to_le_bytes()[..], &0x1000_u64.to_le_bytes(), &7_u32.to_le_bytes(), &[0; 4]].concat();
    let described = classic(IMAGE_ID, 0, 2, &[numbers, wide("b.exe")].concat());
    for event in [image(LOAD, 0x40_0000, 0x1000, 7, "a.exe"), described] {
        images.add(&mut decoder, &event.as_ref());
    }
    let place = images.find(7, 0x41_0020).unwrap();
    assert_eq!(place.to_string(), "b.exe+0x20");
    assert_eq!(place.pdb, None);
    assert_eq!(images.find(8, 0x41_0020), None);
}

/// Returns a classic event of a class whose events describe images.
fn classic(class: &str, opcode: u8, version: u8, payload: &[u8]) -> Event {
    classic_at(0, class, opcode, version, payload)
}

/// Returns such an event with a time stamp.
fn classic_at(timestamp: u64, class: &str, opcode: u8, version: u8, payload: &[u8]) -> Event {
    let descriptor = EventDescriptor { version, opcode: Opcode::from_int(opcode), ..EventDescriptor::default() };
    let provider = Guid::parse(class).unwrap();
    read(&EventData {
        provider,
        descriptor,
        timestamp,
        flags: EVENT_HEADER_FLAG_CLASSIC_HEADER,
        payload,
        ..EventData::default()
    })
}

const LOAD: u8 = 10;
const UNLOAD: u8 = 2;
const DC_START: u8 = 3;
const DC_END: u8 = 4;

/// Adds image events of process 7, each with 0x1000 bytes: time stamp, type, base and name.
fn lives(events: &[(u64, u8, u64, &str)]) -> Images {
    let mut images = Images::default();
    let mut decoder = Decoder::default();
    for (stamp, opcode, base, name) in events {
        let name = name.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        let start = [base.to_le_bytes(), 0x1000_u64.to_le_bytes()].concat();
        let payload = [&start[..], &7_u32.to_le_bytes(), &[0; 36], &name].concat();
        images.add(&mut decoder, &classic_at(*stamp, IMAGE, *opcode, 3, &payload).as_ref());
    }
    images.sort();
    images
}

#[test]
fn an_address_belongs_to_the_image_that_was_loaded_at_that_time() {
    // The buffers of two processors are not in the order of time.
    let images = lives(&[
        (30, LOAD, 0x1_0000, "b.dll"),
        (40, UNLOAD, 0x1_0000, "b.dll"),
        (10, LOAD, 0x1_0000, "a.dll"),
        (20, UNLOAD, 0x1_0000, "a.dll"),
    ]);
    let found = [9, 10, 19, 20, 21, 29, 30, 40, 41].map(|stamp| images.names_at(7, stamp, 0x1_0008).pop());
    let a = Some("a.dll+0x8".to_owned());
    let b = Some("b.dll+0x8".to_owned());
    assert_eq!(found, [None, a.clone(), a.clone(), a, None, None, b.clone(), b.clone(), None]);
    assert_eq!(images.name(7, 0x1_0008), b, "without a time, the last one");
    assert_eq!(images.find_at(8, 10, 0x1_0008), None, "of another process");
}

#[test]
fn a_rundown_or_an_unload_describes_an_image_that_was_there_before() {
    let images = lives(&[
        (10, DC_START, 0x1_0000, "a.dll"),
        (90, DC_END, 0x1_0000, "a.dll"),
        (90, DC_END, 0x2_0000, "b.dll"),
        (50, UNLOAD, 0x3_0000, "c.dll"),
        (60, LOAD, 0x3_0000, "d.dll"),
        (90, DC_END, 0x3_0000, "d.dll"),
    ]);
    assert_eq!(images.count, 4, "rundowns at the end that say nothing new are not kept");
    let at = |stamp, address| images.find_at(7, stamp, address).map(|place| place.image);
    assert_eq!([0, 10, 99].map(|stamp| at(stamp, 0x1_0000)), [Some("a.dll"); 3]);
    assert_eq!([0, 90, 99].map(|stamp| at(stamp, 0x2_0000)), [Some("b.dll"); 3]);
    let found = [0, 50, 51, 60, 99].map(|stamp| at(stamp, 0x3_0000));
    assert_eq!(found, [Some("c.dll"), Some("c.dll"), None, Some("d.dll"), Some("d.dll")]);
}

#[test]
fn an_image_at_a_nearer_base_that_was_loaded_at_another_time_hides_nothing() {
    let images =
        lives(&[(10, LOAD, 0x1_0000, "a.dll"), (20, UNLOAD, 0x1_0000, "a.dll"), (30, LOAD, 0x1_0800, "b.dll")]);
    let at = |stamp, address| images.find_at(7, stamp, address).map(|place| (place.image, place.offset));
    assert_eq!([at(15, 0x1_0900), at(15, 0x1_1000)], [Some(("a.dll", 0x900)), None]);
    assert_eq!([at(35, 0x1_0900), at(35, 0x1_0700)], [Some(("b.dll", 0x100)), None]);
}

#[test]
fn the_pdb_is_that_of_the_image_of_that_time() {
    let mut images =
        lives(&[(10, LOAD, 0x1_0000, "a.dll"), (20, UNLOAD, 0x1_0000, "a.dll"), (30, LOAD, 0x1_0000, "b.dll")]);
    for (stamp, id, name) in [(31, 2_u128, &b"b.pdb\0"[..]), (11, 1, b"a.pdb\0"), (11, 1, b"a.pdb\0")] {
        let start = [&0x1_0000_u64.to_le_bytes()[..], &7_u32.to_le_bytes()].concat();
        let payload = [&start[..], &Guid::from_u128(id).to_bytes_le(), &1_u32.to_le_bytes(), name].concat();
        let event = classic_at(stamp, IMAGE_ID, 36, 2, &payload);
        images.add(&mut Decoder::default(), &event.as_ref());
    }
    assert_eq!(images.count, 3 + 2);
    let pdb = |stamp| images.find_at(7, stamp, 0x1_0000).unwrap().pdb;
    assert_eq!(pdb(15), Some((Guid::from_u128(1), "a.pdb")));
    assert_eq!(pdb(35), Some((Guid::from_u128(2), "b.pdb")));
}
