//! Baselines of `TraceEvent`: what Microsoft's own reader says about the traces of its tests.
//!
//! `PERFVIEW_INPUTS` names a folder with these traces, such as `src/TraceEvent/TraceEvent.Tests/inputs` in a clone of
//! microsoft/perfview. Without it, the test says so and passes. A baseline has the first events of each name with their process,
//! thread, length and fields, and the number of events of each name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::folder;
use etw_etl::decode::{Field, Node, Scalar};
use etw_etl::{Decoded, Decoder, Event, Reader};
use etw_types::Guid;
use test_support::run;

/// An event of a baseline.
#[derive(Debug)]
struct Expected<'a> {
    name: &'a str,
    /// Since the first event, in units of 100 ns. The baseline has microseconds.
    ticks: i64,
    process_id: i64,
    process: &'a str,
    processor: u16,
    length: usize,
    fields: Vec<(&'a str, &'a str)>,
}

impl<'a> Expected<'a> {
    /// Parses `EVENT 28.493: Windows Kernel/Process/DCStart PID=0; TID=-1; PName=Idle; ProceNum=7; DataLen=75; Name=Value; …`.
    fn parse(line: &'a str) -> Option<Self> {
        let (time, rest) = line.strip_prefix("EVENT ")?.split_once(": ")?;
        let (name, rest) = rest.split_once(" PID=")?;
        let milliseconds: f64 = time.replace(',', "").parse().ok()?;
        let (process_id, rest) = rest.split_once("; TID=")?;
        let mut fields = rest.split("; ").skip(1).filter_map(|field| field.split_once('='));
        let mut next = |wanted: &str| fields.next().filter(|(name, _)| *name == wanted).map(|(_, value)| value);
        #[expect(clippy::cast_possible_truncation, reason = "a trace takes seconds")]
        Some(Self {
            name,
            ticks: (milliseconds * 10_000.0).round() as i64,
            process_id: process_id.parse().ok()?,
            process: next("PName")?,
            processor: next("ProceNum")?.parse().ok()?,
            length: next("DataLen")?.parse().ok()?,
            fields: fields.collect(),
        })
    }

    /// Whether an event of the same time may be this one: its processor and length are.
    fn fits(&self, event: &Event) -> bool {
        event.header.cpu == self.processor && event.payload().len() == self.length
    }
}

/// A number of a baseline: `65,536`, `-1` or `0xfffff80021489000`.
fn number(text: &str) -> Option<i128> {
    match text.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).ok(),
        None => text.replace(',', "").parse().ok(),
    }
}

/// The number of a field.
fn own_number(node: &Node) -> Option<i128> {
    match node {
        Node::Value(Scalar::Integer(number)) => Some(*number),
        Node::Value(Scalar::Word(word)) => number(word.split(' ').next()?).filter(|_| word.starts_with("0x")),
        _ => None,
    }
}

/// Whether a field has the value of a baseline, or `None` if the two cannot be compared: `TraceEvent` names a value, or has a
/// number where this crate has a name.
fn agrees(node: &Node, expected: &str, payload: &[u8]) -> Option<bool> {
    if let (Some(own), Some(expected)) = (own_number(node), number(expected)) {
        // TraceEvent shows many unsigned numbers as signed ones.
        return Some([0, 1 << 32, 1 << 64].iter().any(|turn| own - turn == expected));
    }
    let Node::Value(Scalar::Text(own)) = node else { return None };
    let wide: Vec<u8> = own.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let is_in_payload =
        [own.as_bytes(), &wide].iter().any(|text| payload.windows(text.len().max(1)).any(|part| part == *text));
    if !is_in_payload || number(own).or(number(expected)).is_some() {
        return None;
    }
    // Texts are cut after 20 characters.
    Some(expected.strip_suffix("...").map_or(own == expected, |start| own.starts_with(start)))
}

fn field<'a>(decoded: &'a Decoded, name: &str) -> Option<&'a Field> {
    decoded.fields.iter().find(|field| field.name.eq_ignore_ascii_case(name))
}

/// Fields that `TraceEvent` does not take from the payload: paths with drive letters, names of processes, the options of a file
/// without its disposition, and the process of an image, for which it shows 0 where the event has that of its header.
const COMPUTED: [&str; 4] = ["FileName", "ProcessName", "CreateOptions", "ProcessID"];
/// Whether `TraceEvent` keeps an event. It leaves out the samples of idle processors, unless a DPC or an ISR ran, and the loads of
/// methods that were neither compiled by the runtime nor dynamic.
fn is_kept(name: &str, event: &Event) -> bool {
    let payload = event.payload();
    match name {
        "Windows Kernel/PerfInfo/Sample" => {
            let (_, thread) = payload.split_at(if event.header.is_32_bit { 4 } else { 8 });
            thread[..4] != [0; 4] || thread[6] & 3 != 0
        }
        "Microsoft-Windows-DotNETRuntime/Method/LoadVerbose" => payload[32] & 9 != 0,
        _ => true,
    }
}

/// How many things of a baseline were compared.
#[derive(Debug, Default)]
struct Compared {
    events: usize,
    fields: usize,
    processes: usize,
    counts: usize,
}

/// What tells apart events of different names: class, id and opcode.
type Kind = (Option<Guid>, u16, u8);

fn kind(event: &Event) -> Kind {
    (event.as_ref().class(), event.header.descriptor.id, event.header.descriptor.opcode.as_int())
}

/// Compares a trace with its baseline.
fn compare(trace: &Path, baseline: &str) -> Compared {
    let mut reader = Reader::open(trace).unwrap();
    let mut decoder = Decoder::from_reader(&reader, None);
    let events: Vec<Event> = reader.by_ref().collect();
    let start = events[0].header.time.0;
    let mut compared = Compared::default();
    let mut kinds = BTreeMap::<&str, BTreeSet<Kind>>::new();
    for line in baseline.lines().filter(|line| line.starts_with("EVENT ")) {
        let expected = Expected::parse(line).unwrap_or_else(|| panic!("{line}"));
        let first = events.partition_point(|event| event.header.time.0 < start + expected.ticks - 6);
        let near = events[first..].iter().take_while(|event| event.header.time.0 <= start + expected.ticks + 6);
        let candidates = near.filter(|event| expected.fits(event)).map(|event| {
            let tree = decoder.decode(&event.as_ref());
            let fields = expected.fields.iter().filter(|(name, _)| !COMPUTED.contains(name));
            let (same, other): (Vec<_>, Vec<_>) = fields
                .filter_map(|(name, value)| Some((*name, agrees(&field(&tree, name)?.node, value, event.payload())?)))
                .partition(|(_, agrees)| *agrees);
            (event, tree, same.len(), other)
        });
        // Several events may have the same time and length.
        let best = candidates.max_by_key(|(_, _, same, other)| same.saturating_sub(other.len()));
        let (event, tree, same, other) = best.unwrap_or_else(|| panic!("there is no such event: {line}"));
        assert!(other.is_empty(), "{other:?} differ: {line}\n{tree}");
        compared.events += 1;
        compared.fields += same;
        // TraceEvent gives some events the process that they are about, and does not know the names of some processes.
        if let Some(process) = &tree.names.process
            && !expected.process.starts_with("Process(")
            && event.header.process_id.map(i64::from) == Some(expected.process_id)
        {
            assert_eq!(process.name.strip_suffix(".exe").unwrap_or(&process.name), expected.process, "{line}");
            compared.processes += 1;
        }
        kinds.entry(expected.name).or_default().insert(kind(event));
    }
    compared.counts = compare_counts(&events, &kinds, baseline);
    compared
}

/// Compares the number of events of each name. Returns the number of names.
fn compare_counts(events: &[Event], kinds: &BTreeMap<&str, BTreeSet<Kind>>, baseline: &str) -> usize {
    let mut found = BTreeMap::<Kind, Vec<&Event>>::new();
    for event in events {
        found.entry(kind(event)).or_default().push(event);
    }
    let mut compared = 0;
    for line in baseline.lines() {
        let Some((name, count)) = line.strip_prefix("COUNT ").and_then(|line| line.rsplit_once(':')) else { continue };
        let own = &kinds[name];
        // TraceEvent gives several names to some kinds of events.
        let is_alone = kinds.iter().all(|(other, kinds)| *other == name || kinds.is_disjoint(own));
        if is_alone {
            let sum = own.iter().flat_map(|kind| &found[kind]).filter(|event| is_kept(name, event)).count();
            assert_eq!(sum.to_string(), count, "{name}");
            compared += 1;
        }
    }
    compared
}

/// Returns the trace of a baseline. The inputs of `TraceEvent`'s tests are compressed.
fn unpacked(baseline: &Path, to: &Path) -> Option<PathBuf> {
    let name = baseline.file_name()?.to_str()?.strip_suffix(".baseline.txt")?;
    let archive = baseline.with_file_name(format!("{name}.etl.zip"));
    let to = to.join(name);
    run(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(archive).arg(&to)).ok()?;
    let mut folders = vec![to];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "etl") {
                return Some(path);
            }
        }
    }
    None
}

#[test]
fn events_fields_processes_and_counts_are_those_of_trace_event() {
    let Some(inputs) = std::env::var_os("PERFVIEW_INPUTS") else {
        println!("skipped: PERFVIEW_INPUTS does not name the inputs of TraceEvent's tests");
        return;
    };
    let to = folder("trace-event");
    let mut traces = 0;
    for entry in fs::read_dir(inputs).unwrap() {
        let path = entry.unwrap().path();
        let Some(trace) = unpacked(&path, &to) else { continue };
        let text = fs::read_to_string(&path).unwrap();
        let compared = compare(&trace, text.trim_start_matches('\u{feff}'));
        println!("{}: {compared:?}", path.display());
        assert!(compared.events > 0, "{compared:?}");
        assert!(compared.fields > compared.events, "{compared:?}");
        assert!(compared.counts > 0, "{compared:?}");
        traces += 1;
    }
    assert!(traces > 0, "there is no baseline with a trace");
    fs::remove_dir_all(to).unwrap();
}
