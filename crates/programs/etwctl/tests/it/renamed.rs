//! What other schemas call providers, events and fields changes no result of an analysis.

use std::path::PathBuf;

use crate::common::etwctl;
use crate::common::kernel::{KernelTrace, wide, words};
use etw_manifest::built_in::BuiltIn;
use etw_manifest::tdh::{METADATA_CLASS, TYPE_EVENT_INFO};
use etw_manifest::{Encoding, EventKey, Extent, PointerSize, Schema};

const OWNER: (u32, u32) = (500, 70);
const IDLE: (u32, u32) = (0, 0);

/// The events of the trace that are described again: hook id and version.
const DESCRIBED: [(u16, u16); 9] = [
    (0x010A, 3),
    (0x0400, 0),
    (0x0524, 4),
    (0x0532, 2),
    (0x060A, 2),
    (0x090B, 2),
    (0x0919, 2),
    (0x0F2E, 2),
    (0x0F44, 1),
];

/// Returns a `TRACE_EVENT_INFO` that has the fields of a built-in class under other names.
fn description(hook: u16, version: u16) -> Vec<u8> {
    let [opcode, _] = hook.to_le_bytes();
    let class = BuiltIn::class_of_hook(hook).unwrap();
    let version = u8::try_from(version).unwrap();
    let key = EventKey { provider: class, id: 0, version, opcode, is_classic: true, pointer: PointerSize::Eight };
    let schema = BuiltIn.event(&key).unwrap();
    let mut info = vec![0; 112 + 24 * schema.fields.len()];
    let put = |info: &mut Vec<u8>, place: usize, bytes: &[u8]| info[place..place + bytes.len()].copy_from_slice(bytes);
    let count = u32::try_from(schema.fields.len()).unwrap().to_le_bytes();
    put(&mut info, 0, &class.to_bytes_le());
    put(&mut info, 16, &class.to_bytes_le());
    put(&mut info, 34, &[version, 0, 0, opcode]);
    // From WMI.
    put(&mut info, 48, &1_u32.to_le_bytes());
    put(&mut info, 100, &count);
    put(&mut info, 104, &count);
    let text = |info: &mut Vec<u8>, place: usize, text: &str| {
        let offset = u32::try_from(info.len()).unwrap().to_le_bytes();
        put(info, place, &offset);
        info.extend(wide(text));
    };
    text(&mut info, 52, "Other-Provider");
    text(&mut info, 68, "Other");
    text(&mut info, 72, "Event");
    for (index, field) in schema.fields.iter().enumerate() {
        assert_eq!(field.count, Extent::None, "{hook:#x}: {field:?}");
        assert_eq!(field.length, Extent::None, "{hook:#x}: {field:?}");
        let in_type = (0..400).find(|number| Encoding::from_tdh(*number) == Some(field.encoding)).unwrap();
        let place = 112 + 24 * index;
        text(&mut info, place + 4, &format!("Field{index}"));
        put(&mut info, place + 8, &in_type.to_le_bytes());
        put(&mut info, place + 16, &1_u16.to_le_bytes());
    }
    info
}

/// A trace in which a process runs, reads, opens a key, sends, and is interrupted.
fn trace(name: &str, is_renamed: bool) -> PathBuf {
    let mut trace = KernelTrace::new(1);
    let file = [words(&[0x77, 0]), wide("\\Device\\X\\data.bin")].concat();
    let key = [words(&[0, 0, 0, 0, 0x99, 0]), wide("\\REGISTRY\\X")].concat();
    let opened = [words(&[1_080_000, 0, 0, 0, 0x99, 0]), wide("Sub")].concat();
    trace.process(trace.at(1), 500, "a.exe");
    trace.thread(trace.at(2), 500, 70);
    trace.event(0, 0x0400, 0, trace.at(3), OWNER, &file);
    trace.event(0, 0x0919, 2, trace.at(4), OWNER, &key);
    trace.switch(0, trace.at(10_000), OWNER, 0, 1);
    trace.sample(0, trace.at(20_000), OWNER, 0x40_0010);
    trace.stack(0, trace.at(20_000), OWNER, &[0x40_0010, 0x40_0100]);
    trace.switch(0, trace.at(30_000), IDLE, 70, 5);
    trace.event(0, 0x0532, 2, trace.at(40_000), IDLE, &words(&[70, 0]));
    trace.switch(0, trace.at(50_000), OWNER, 0, 1);
    trace.event(0, 0x010A, 3, trace.at(80_000), OWNER, &words(&[0, 0, 4096, 0, 0, 0, 0x77, 0, 9, 0, 20_000, 0, 70]));
    trace.event(0, 0x090B, 2, trace.at(90_000), OWNER, &opened);
    let sent = words(&[500, 1000, 0x0101_0101, 0x0202_0202, 0x5000_BB01, 0, 0, 0, 0, 0]);
    trace.event(0, 0x060A, 2, trace.at(100_000), OWNER, &sent);
    trace.event(0, 0x0F44, 1, trace.at(110_000), IDLE, &words(&[1_109_000, 0, 0x40_0010, 0]));
    for (hook, version) in DESCRIBED.into_iter().filter(|_| is_renamed) {
        trace.classic(trace.at(120_000), METADATA_CLASS, TYPE_EVENT_INFO, &description(hook, version));
    }
    // The last event of both traces.
    trace.sample(0, trace.at(130_000), OWNER, 0x40_0020);
    trace.write(name)
}

#[test]
fn a_trace_that_calls_the_events_of_the_kernel_otherwise_has_the_same_results() {
    let known = trace("known.etl", false);
    let renamed = trace("renamed.etl", true);
    let run = |command: &str, path: &PathBuf| {
        let run = etwctl(&command.replace("FILE", &path.display().to_string()));
        assert_eq!(run.code, 0, "{command}: {}", run.err);
        run
    };
    for command in [
        "top FILE --json",
        "top FILE --per thread --json",
        "top FILE --per function --json",
        "top FILE --json --where pid=500",
        "top FILE --by disk --json",
        "top FILE --by registry --json",
        "top FILE --by network --json",
        "top FILE --by dpc --json",
        "flame FILE --folded",
        "processes FILE --json",
        "activities FILE --json",
    ] {
        let [known, renamed] = [&known, &renamed].map(|path| run(command, path).out);
        assert!(known.contains("a.exe") || command.contains("dpc") || command.contains("activities"), "{known}");
        assert_eq!(known, renamed, "{command}");
    }
    // The number of samples and of markers.
    let [one, other] = [&known, &renamed].map(|path| run("profile FILE", path).err);
    assert!(one.contains("2 samples and 9 markers"), "{one}");
    assert_eq!(one, other);
    for condition in ["file~data.bin", "key=\\REGISTRY\\X\\Sub"] {
        let command = format!("decode FILE --text --where {condition}");
        let [one, other] = [&known, &renamed].map(|path| run(&command, path).out.lines().count());
        assert!(one > 0, "{condition}");
        assert_eq!(one, other, "{condition}");
    }
    let named = run("decode FILE --text", &renamed).out;
    assert_eq!(named.matches("Other-Provider/").count(), 12, "the other schemas are used: {named}");
    for path in [known, renamed] {
        std::fs::remove_file(path).unwrap();
    }
}
