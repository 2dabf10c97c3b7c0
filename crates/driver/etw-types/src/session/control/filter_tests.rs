//! Encoding and limits of every kind of filter.

use std::borrow::ToOwned;
use std::string::{String, ToString};
use std::vec;
use std::vec::Vec;

use super::{Filter, Listed, Selection};
use crate::session::filter;

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn filters_have_the_bytes_of_their_layouts() {
    let selection = Selection { level: 4, any: 1, all: 2 };
    let stack = [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 0, 0];
    let name = [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 4, 0, 2, 0, b'A', 0, b'B', b'c', 0];
    for (filter, kind, bytes) in [
        (Filter::ProcessIds(vec![1, 0x0102_0304]), filter::PID, vec![1, 0, 0, 0, 4, 3, 2, 1]),
        (Filter::Executables(names(&["a", "b"])), filter::EXECUTABLE_NAME, vec![b'a', 0, b';', 0, b'b', 0, 0, 0]),
        (Filter::PackageIds(names(&["p"])), filter::PACKAGE_ID, vec![b'p', 0, 0, 0]),
        (Filter::PackageAppIds(names(&["q"])), filter::PACKAGE_APP_ID, vec![b'q', 0, 0, 0]),
        (Filter::EventIds(Listed::Pass, vec![7, 256]), filter::EVENT_ID, vec![1, 0, 2, 0, 7, 0, 0, 1]),
        (Filter::StackEventIds(Listed::Blocked, vec![]), filter::STACKWALK, vec![0, 0, 0, 0]),
        (Filter::EventNames(Listed::Blocked, selection, names(&["A", "Bc"])), filter::EVENT_NAME, name.to_vec()),
        (
            Filter::StackEventNames(Listed::Blocked, selection, names(&["A", "Bc"])),
            filter::STACKWALK_NAME,
            name.to_vec(),
        ),
        (Filter::StackSelection(Listed::Pass, selection), filter::STACKWALK_LEVEL_KW, stack.to_vec()),
        (Filter::TraceHandle(3), filter::TRACEHANDLE, vec![3, 0, 0, 0, 0, 0, 0, 0]),
        (Filter::Payload(vec![9]), filter::PAYLOAD, vec![9]),
        (Filter::Schematized(vec![8]), filter::SCHEMATIZED, vec![8]),
        (Filter::SystemFlags(vec![7]), filter::SYSTEM_FLAGS, vec![7]),
        (Filter::Container("g".into()), filter::CONTAINER, vec![b'g', 0, 0, 0]),
        (Filter::Other(5, vec![6]), 5, vec![6]),
    ] {
        assert_eq!(filter.kind(), kind, "{filter:?}");
        assert_eq!(filter.encode().unwrap(), bytes, "{filter:?}");
        assert_eq!(Filter::decode(kind, &bytes), Ok(filter));
    }
}

#[test]
fn errors_name_the_limit_and_the_number() {
    for (filter, message) in [
        (Filter::ProcessIds(vec![0; 9]), "9 process ids of a filter: the maximum is 8"),
        (Filter::ProcessIds(vec![]), "0 process ids of a filter: the minimum is 1"),
        (Filter::EventIds(Listed::Pass, vec![0; 65]), "65 event ids of a filter: the maximum is 64"),
        (Filter::StackEventIds(Listed::Pass, vec![0; 65]), "65 event ids of a filter: the maximum is 64"),
        (Filter::Payload(vec![0; 4097]), "4097 bytes of a payload filter: the maximum is 4096"),
        (Filter::Schematized(vec![0; 1025]), "1025 bytes of a filter: the maximum is 1024"),
        (Filter::Executables(vec![]), "0 executables of a filter: the minimum is 1"),
        (Filter::Executables(names(&["a;b"])), "a name of a filter cannot be empty or contain ';' or NUL"),
        (
            Filter::EventNames(Listed::Pass, Selection::default(), vec!["x".repeat(4096)]),
            "4117 bytes of a filter of event names: the maximum is 4096",
        ),
    ] {
        assert_eq!(filter.encode().unwrap_err().to_string(), message);
    }
}

#[test]
fn data_without_the_layout_of_its_type_is_rejected() {
    let event_names = |count: u8, names: &[u8]| [&[0; 18][..], &[count, 0], names].concat();
    for (kind, data) in [
        (filter::PID, vec![7, 0]),
        (filter::PID, vec![]),
        (filter::PID, vec![0; 9 * 4]),
        (filter::EXECUTABLE_NAME, b"odd".to_vec()),
        (filter::EXECUTABLE_NAME, vec![0xFF, 0xDF]),
        (filter::EXECUTABLE_NAME, vec![b';', 0]),
        (filter::EVENT_ID, vec![1, 0, 2, 0, 9, 0, 3]),
        (filter::EVENT_ID, vec![1, 0, 2, 0, 9, 0]),
        (filter::EVENT_ID, vec![1, 0]),
        (filter::EVENT_NAME, event_names(1, b"no terminator")),
        (filter::EVENT_NAME, event_names(1, b"two\0names\0")),
        (filter::EVENT_NAME, event_names(1, b"\xFF\0")),
        (filter::EVENT_NAME, event_names(0, b"")),
        (filter::STACKWALK_LEVEL_KW, vec![0; 23]),
        (filter::STACKWALK_LEVEL_KW, vec![0; 25]),
        (filter::TRACEHANDLE, vec![0; 4]),
        (filter::SCHEMATIZED, vec![0; 1025]),
    ] {
        assert!(Filter::decode(kind, &data).is_err(), "{kind:#x} {data:?}");
    }
    let spaces: Vec<u8> = "a.exe; ;B.EXE\0".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(Filter::decode(filter::EXECUTABLE_NAME, &spaces), Ok(Filter::Executables(names(&["a.exe", "B.EXE"]))));
}
