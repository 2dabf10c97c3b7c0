//! Events carry their call stacks. The image's unwind tables give the frames, and its symbols give their names.

use std::path::Path;

use crate::common;
use crate::common::c::build_at;
use etw_etl::{ExtendedType, Reader};
use nt_host::{Event, NtHost};

/// The functions of an event's stack, innermost first, with inlined functions.
fn functions(host: &NtHost, frames: &[u64]) -> Vec<String> {
    let places = frames.iter().flat_map(|frame| host.locate_all(*frame));
    places.map(|location| location.symbol.unwrap_or_default()).collect()
}

/// The expected stacks of the driver's two events.
const CALLBACK: [&str; 5] = ["Write", "Announce", "Enabled", "Register", "DriverEntry"];
const ENTRY: [&str; 7] = ["Write", "Inner", "Inner", "Inner", "Middle", "Outer", "DriverEntry"];

/// Writes a trace file. Returns the functions of each stack in it.
fn written(host: &NtHost, level: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("stacks{level}.etl"));
    host.trace().write_etl(&path).expect("a trace file");
    named_by_the_file(host, &path);
    let mut stacks = Vec::new();
    for event in Reader::open(&path).expect("a trace file") {
        let item = event.items().find(|item| item.kind == ExtendedType::STACK_TRACE64);
        let Some(item) = item else { continue };
        let words: Vec<u64> = item.data.as_chunks().0.iter().copied().map(u64::from_le_bytes).collect();
        let (match_id, frames) = words.split_first().expect("a match id");
        assert_eq!(*match_id, 0);
        stacks.push(functions(host, frames));
    }
    stacks
}

/// Checks that the file itself has the image of an address and the PDB of that image.
fn named_by_the_file(host: &NtHost, path: &Path) {
    let images = Reader::open(path).expect("a trace file").images();
    let event = host.trace().events().expect("events").remove(0);
    let stack = event.stack().expect("a stack");
    let process = event.header.process_id.unwrap_or_default();
    let place = images.find(process, stack[0]).expect("the image");
    let own = host.locate(stack[0]).expect("an address of the image");
    assert_eq!(place.offset, own.rva);
    assert!(place.image.starts_with("c_stacks_0"), "{}", place.image);
    assert!(place.pdb.is_some_and(|(_, name)| name.starts_with("c_stacks_0")), "{:?}", place.pdb);
}

#[test]
fn an_event_names_its_callers_in_order() {
    for level in ["-O0", "-O1"] {
        let image = build_at(level, "stacks", 0, "DriverEntry", &["ntoskrnl"]);
        let host = NtHost::builder().driver(image).trace_all().stacks().start().expect("DriverEntry");
        let events = host.trace().events().expect("events");
        let stacks: Vec<_> = events.iter().map(|event| functions(&host, &event.stack().unwrap_or_default())).collect();
        assert_eq!(stacks, [CALLBACK.to_vec(), ENTRY.to_vec()], "{level}");
        assert_eq!(written(&host, level), stacks, "{level}");
        let write = host.locate(events[0].stack().expect("a stack")[0]).expect("an address of the image");
        let source = include_str!("../../drivers/c/stacks.c");
        let line = (1..).zip(source.lines()).find(|(_, line)| line.contains("EtwWrite(")).map(|(number, _)| number);
        assert_eq!(write.line, line, "{level}");
        let report = host.unload().expect("unload");
        report.assert_clean();
        assert_eq!(report.output(), "2 1 1\n1\n", "{level}");
    }
}

#[test]
fn no_event_has_a_stack_unless_it_was_requested() {
    let image = build_at("-O0", "stacks", 1, "DriverEntry", &["ntoskrnl"]);
    let host = NtHost::builder().driver(image).trace_all().start().expect("DriverEntry");
    let events = host.trace().events().expect("events");
    assert_eq!(events.len(), 2);
    assert!(events.iter().all(|event: &Event| event.stack().is_none()));
}

#[test]
fn the_samples_events_lead_back_to_what_the_kernel_calls() {
    let host = NtHost::builder().driver(common::built("driver_sample.sys")).trace_all().stacks().start();
    let host = host.expect("DriverEntry");
    host.add_device().expect("a device").ioctl(0x0022_E000, b"hello", 64).expect("a reply");
    host.unload().expect("unload").assert_clean();
    let events = host.trace().events().expect("events");
    // The optimiser may inline the driver's functions, except for the outermost ones, which are called by address.
    for (name, outermost) in
        [("DriverEntry", "FxDriverEntry"), ("Request", "device_control"), ("DeviceAdd", "device_add")]
    {
        let event = events.iter().find(|event| event.decode().event.as_deref() == Some(name)).expect("the event");
        let stack = functions(&host, &event.stack().unwrap_or_default());
        assert!(stack.last().is_some_and(|function| function.contains(outermost)), "{name}: {stack:?}");
        let own = host.locate(event.stack().unwrap_or_default()[0]).and_then(|location| location.symbol);
        assert!(own.is_some_and(|symbol| symbol.starts_with("driver_sample::events::")), "{name}: {stack:?}");
    }
}
