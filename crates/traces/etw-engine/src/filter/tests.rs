//! Tests which events pass the filters. Their layouts and limits are tested in `etw-types`.

use etw_types::session::filter::{PAYLOAD, SCHEMATIZED};
use etw_types::session::{Enable, Filter, Listed, Selection};
use etw_types::{EventDescriptor, Keyword, Level};

use super::Filters;
use crate::Origin;

fn one(filter: Filter) -> Filters {
    Filters::new(&Enable::default().filter(filter)).unwrap()
}

fn event(id: u16) -> EventDescriptor {
    EventDescriptor::new(Level::Warning, Keyword::from_bits(4)).with_id_version(id, 0)
}

#[test]
fn ids_pass_or_are_blocked() {
    let filters = one(Filter::EventIds(Listed::Pass, vec![9, 3]));
    assert!(filters.passes_id(&event(3)));
    assert!(filters.passes_id(&event(9)));
    assert!(!filters.passes_id(&event(4)));
    let out = one(Filter::EventIds(Listed::Blocked, vec![4]));
    assert!(out.passes_id(&event(3)));
    assert!(!out.passes_id(&event(4)));
}

#[test]
fn processes_pass_by_number_and_image() {
    let filters = one(Filter::ProcessIds(vec![7]));
    assert!(filters.reaches(&Origin::user(7, "a.exe")));
    assert!(!filters.reaches(&Origin::user(8, "a.exe")));
    assert!(filters.reaches(&Origin::kernel()), "the kernel's registrations are not filtered");
    let filters = one(Filter::Executables(vec!["a.exe".into(), "B.EXE".into()]));
    assert!(filters.reaches(&Origin::user(1, "b.exe")));
    assert!(!filters.reaches(&Origin::user(1, "c.exe")));
}

#[test]
fn names_filter_only_what_their_level_and_keyword_cover() {
    let metadata = b"\x09\x00\x00Event\x00";
    let which = Selection { level: 3, any: 4, all: 0 };
    let out = one(Filter::EventNames(Listed::Blocked, which, vec!["Event".into()]));
    assert!(out.has_names());
    assert!(!out.passes_name(&event(1), Some(metadata)));
    let verbose = EventDescriptor::new(Level::Verbose, Keyword::from_bits(4));
    assert!(out.passes_name(&verbose, Some(metadata)), "the filter does not cover it");
    assert!(out.passes_name(&event(1), None));
}

#[test]
fn a_selection_covers_events_by_level_and_by_both_masks() {
    for (level, any, all, keyword, is_covered) in [
        (0, 0, 0, 0b100, true),
        (3, 0, 0, 0b100, true),
        (2, 0, 0, 0b100, false),
        (0, 0b110, 0, 0b100, true),
        (0, 0b011, 0, 0b100, false),
        (0, 0, 0b110, 0b110, true),
        (0, 0, 0b110, 0b100, false),
        (0, 0b001, 0b110, 0b110, false),
        (0, 0b001, 0b110, 0b111, true),
        // The masks do not apply to an event without a keyword, but the level does.
        (0, 0b001, 0b110, 0, true),
        (2, 0, 0, 0, false),
    ] {
        let which = Selection { level, any, all };
        let event = EventDescriptor::new(Level::Warning, Keyword::from_bits(keyword));
        for (listed, expected) in [(Listed::Pass, is_covered), (Listed::Blocked, !is_covered)] {
            let filters = one(Filter::StackSelection(listed, which));
            assert_eq!(filters.wants_stack(&event, None), expected, "{which:?} {keyword:#b}");
        }
    }
}

#[test]
fn stack_levels_and_data_for_the_provider_are_taken() {
    let filters = one(Filter::StackSelection(Listed::Pass, Selection { level: 2, any: 0, all: 0 }));
    assert!(!filters.wants_stack(&event(1), None));
    assert!(filters.wants_stack(&EventDescriptor::new(Level::Error, Keyword::NONE), None));
    assert_eq!(one(Filter::Payload(vec![1; 4096])).passed_on().map(|filter| filter.kind), Some(PAYLOAD));
}

#[test]
fn a_broken_rule_and_an_unknown_kind_are_refused() {
    for filter in [Filter::Payload(vec![1; 4097]), Filter::Other(SCHEMATIZED | 0x4000_0000, Vec::new())] {
        assert_eq!(Filters::new(&Enable::default().filter(filter)), None);
    }
}
