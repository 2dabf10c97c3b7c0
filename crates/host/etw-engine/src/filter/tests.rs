//! Layouts and limits of filters.

use etw_types::session::filter::{
    EVENT_ID, EVENT_NAME, EXECUTABLE_NAME, EventNameHeader, MAX_FILTERS, PAYLOAD, PID, SCHEMATIZED, STACKWALK,
    STACKWALK_LEVEL_KW,
};
use etw_types::{EventDescriptor, Keyword, Level, Win32Error};

use super::Filters;
use crate::{Filter, Origin};

fn parse(kind: u32, data: &[u8]) -> Result<Filters, Win32Error> {
    Filters::new(&[Filter { kind, data: data.to_vec() }], Win32Error::InvalidParameter)
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn event(id: u16) -> EventDescriptor {
    EventDescriptor::new(Level::Warning, Keyword::from_bits(4)).with_id_version(id, 0)
}

#[test]
fn ids_must_be_as_many_as_the_header_says() {
    let two = [1, 0, 2, 0, 9, 0, 3, 0];
    let filters = parse(EVENT_ID, &two).unwrap();
    assert!(filters.passes_id(&event(3)) && filters.passes_id(&event(9)) && !filters.passes_id(&event(4)));
    let out = parse(EVENT_ID, &[0, 0, 1, 0, 4, 0]).unwrap();
    assert!(out.passes_id(&event(3)) && !out.passes_id(&event(4)));
    assert!(parse(EVENT_ID, &two[..7]).is_err());
    assert!(parse(EVENT_ID, &two[..6]).is_err());
    let mut many = vec![1, 0, 65, 0];
    many.resize(4 + 65 * 2, 0);
    assert!(parse(EVENT_ID, &many).is_err());
    many[2] = 64;
    assert!(parse(STACKWALK, &many[..4 + 64 * 2]).is_ok());
}

#[test]
fn processes_are_four_bytes_and_at_most_eight() {
    let filters = parse(PID, &[7, 0, 0, 0]).unwrap();
    assert!(filters.reaches(&Origin::user(7, "a.exe")) && !filters.reaches(&Origin::user(8, "a.exe")));
    assert!(filters.reaches(&Origin::kernel()), "the kernel's registrations are not filtered");
    assert!(parse(PID, &[7, 0]).is_err());
    assert!(parse(PID, &[]).is_err());
    assert!(parse(PID, &[0; 9 * 4]).is_err());
}

#[test]
fn images_are_one_text_with_semicolons() {
    let filters = parse(EXECUTABLE_NAME, &utf16("a.exe;B.EXE\0")).unwrap();
    assert!(filters.reaches(&Origin::user(1, "b.exe")) && !filters.reaches(&Origin::user(1, "c.exe")));
    assert!(parse(EXECUTABLE_NAME, b"odd").is_err());
    assert!(parse(EXECUTABLE_NAME, &utf16("a".repeat(513).as_str())).is_err(), "1024 bytes at most");
}

#[test]
fn names_filter_only_what_their_level_and_keyword_cover() {
    let metadata = b"\x09\x00\x00Event\x00";
    let header = EventNameHeader { match_any: 4, match_all: 0, level: 3, filter_in: 0, count: 1 };
    let data = [header.to_bytes().as_slice(), b"Event\0"].concat();
    let out = parse(EVENT_NAME, &data).unwrap();
    assert!(out.has_names() && !out.passes_name(&event(1), Some(metadata)));
    let verbose = EventDescriptor::new(Level::Verbose, Keyword::from_bits(4));
    assert!(out.passes_name(&verbose, Some(metadata)), "the filter does not cover it");
    assert!(out.passes_name(&event(1), None));
    assert!(parse(EVENT_NAME, &data[..data.len() - 1]).is_err(), "no terminator");
    assert!(parse(EVENT_NAME, &[data.as_slice(), b"x"].concat()).is_err());
}

#[test]
fn stack_levels_and_data_for_the_provider_are_taken() {
    let mut data = [0; 24];
    data[16] = 2;
    data[17] = 1;
    let filters = parse(STACKWALK_LEVEL_KW, &data).unwrap();
    assert!(!filters.wants_stack(&event(1), None));
    assert!(filters.wants_stack(&EventDescriptor::new(Level::Error, Keyword::NONE), None));
    assert!(parse(STACKWALK_LEVEL_KW, &data[..23]).is_err());
    assert_eq!(parse(PAYLOAD, &[1; 4096]).unwrap().passed_on().map(|filter| filter.kind), Some(PAYLOAD));
    assert!(parse(PAYLOAD, &[1; 4097]).is_err());
    assert!(parse(SCHEMATIZED, &[1; 1025]).is_err());
    assert!(parse(SCHEMATIZED | 0x4000_0000, &[]).is_err(), "a kind that nobody knows");
}

#[test]
fn each_kind_comes_once_and_all_together_are_thirteen() {
    let one = Filter { kind: PID, data: vec![1, 0, 0, 0] };
    let bad = Win32Error::BadLength;
    assert_eq!(Filters::new(&[one.clone(), one], bad), Err(bad));
    let many: Vec<Filter> = (1..).map(|kind| Filter { kind, data: Vec::new() }).take(MAX_FILTERS + 1).collect();
    assert!(Filters::new(&many[1..], bad).is_ok());
    assert_eq!(Filters::new(&many, bad), Err(bad));
}
