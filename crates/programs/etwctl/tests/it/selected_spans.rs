//! A selection takes spans as rows: by their starts, with the ends that they have in the trace.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::kernel::KernelTrace;
use crate::common::{etwctl, scratch};
use etw_types::{EventDescriptor, Guid, Opcode};
use serde_json::{Value, json};

const PROVIDER: Guid = Guid::from_u128(0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10);
const MS: u64 = 10_000;

/// On one thread an operation from 1 ms to 5 ms, on another one from 3 ms to 9 ms, and events at the start and at the end.
fn trace(name: &str) -> PathBuf {
    let mut trace = KernelTrace::new(1);
    for (at, id, opcode, thread) in [
        (0, 1, Opcode::Info, 70),
        (1, 2, Opcode::Start, 70),
        (3, 2, Opcode::Start, 71),
        (5, 3, Opcode::Stop, 70),
        (9, 3, Opcode::Stop, 71),
        (10, 1, Opcode::Info, 70),
    ] {
        let descriptor = EventDescriptor { id, opcode, task: 7, ..EventDescriptor::default() };
        trace.described(trace.at(at * MS), PROVIDER, descriptor, (500, thread), &[]);
    }
    trace.write(name)
}

/// Runs a command, and returns what it wrote to a file.
fn written(command: &str) -> String {
    // Tests run at the same time.
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let out = scratch(&format!("selected-spans-{number}.out"));
    let run = etwctl(&format!("{command} {}", out.display()));
    assert_eq!(run.code, 0, "{command}: {}", run.err);
    let text = fs::read_to_string(&out).unwrap();
    fs::remove_file(out).unwrap();
    text
}

/// The number of logs, and the durations of spans in milliseconds.
fn otlp(path: &Path, selected: &str) -> (usize, Vec<u64>) {
    let text = written(&format!("export {} --provider {PROVIDER} {selected} --otlp", path.display()));
    let mut logs = 0;
    let mut durations = Vec::new();
    for request in text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        logs += request["resourceLogs"][0]["scopeLogs"][0]["logRecords"].as_array().map_or(0, Vec::len);
        for span in request["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().into_iter().flatten() {
            let nanos = |key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
            durations.push((nanos("endTimeUnixNano") - nanos("startTimeUnixNano")) / 1_000_000);
        }
    }
    (logs, durations)
}

/// The phases of events, with the durations of spans in microseconds.
fn chrome(path: &Path, selected: &str) -> Vec<(String, Value)> {
    let text = written(&format!("decode {} --provider {PROVIDER} --chrome {selected} --output", path.display()));
    let document: Value = serde_json::from_str(&text).unwrap();
    let events = document["traceEvents"].as_array().unwrap();
    events.iter().map(|event| (event["ph"].as_str().unwrap().to_owned(), event["dur"].clone())).collect()
}

/// The number of rows of a page, and its spans: the row of the start, that of the stop, and the time of the end.
fn page(path: &Path, selected: &str) -> (usize, Value) {
    let text = written(&format!("decode {} --provider {PROVIDER} --html {selected} --output", path.display()));
    let (_, data) = text.split_once("<script id=\"trace\" type=\"application/json\">").unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    (data["events"].as_array().unwrap().len(), data["spans"].clone())
}

#[test]
fn a_span_of_opentelemetry_is_selected_by_its_start() {
    let path = trace("spans-otlp.etl");
    assert_eq!(otlp(&path, ""), (6, vec![4, 6]));
    assert_eq!(otlp(&path, "--from +2ms --to +4ms"), (1, vec![6]), "its stop is later");
    assert_eq!(otlp(&path, "--to +2ms"), (2, vec![4]));
    assert_eq!(otlp(&path, "--from +4ms"), (3, vec![]), "no span begins there");
    assert_eq!(otlp(&path, "--where opcode=start"), (2, vec![4, 6]));
    assert_eq!(otlp(&path, "--where opcode=stop"), (2, vec![]));
    assert_eq!(otlp(&path, "--where tid=71"), (2, vec![6]));
    fs::remove_file(path).unwrap();
}

#[test]
fn a_span_of_chrome_is_selected_by_its_start() {
    let path = trace("spans-chrome.etl");
    let instant = || ("i".to_owned(), Value::Null);
    let span = |length: f64| ("X".to_owned(), json!(length));
    assert_eq!(chrome(&path, ""), [instant(), span(4000.0), span(6000.0), instant()]);
    assert_eq!(chrome(&path, "--from +2ms --to +4ms"), [span(6000.0)]);
    assert_eq!(chrome(&path, "--from +4ms"), [instant(), instant(), instant()], "two stops and the last event");
    assert_eq!(chrome(&path, "--where opcode=start"), [span(4000.0), span(6000.0)]);
    assert_eq!(chrome(&path, "--count 3"), [instant(), span(4000.0), span(6000.0)]);
    fs::remove_file(path).unwrap();
}

#[test]
fn a_span_of_a_page_is_selected_by_its_start() {
    let path = trace("spans-page.etl");
    assert_eq!(page(&path, ""), (6, json!([[1, 3, 50_000], [2, 4, 90_000]])));
    // Times count from the first event of the page.
    assert_eq!(page(&path, "--from +2ms --to +4ms"), (1, json!([[0, null, 60_000]])));
    assert_eq!(page(&path, "--where opcode=start"), (2, json!([[0, null, 40_000], [1, null, 80_000]])));
    assert_eq!(page(&path, "--where opcode=stop"), (2, json!([])));
    fs::remove_file(path).unwrap();
}

#[test]
fn an_operation_without_a_stop_has_no_end() {
    let mut trace = KernelTrace::new(1);
    let descriptor = EventDescriptor { id: 2, opcode: Opcode::Start, task: 7, ..EventDescriptor::default() };
    trace.described(trace.at(MS), PROVIDER, descriptor, (500, 70), &[]);
    let path = trace.write("spans-open.etl");
    assert_eq!(otlp(&path, ""), (1, vec![]));
    assert_eq!(chrome(&path, ""), [("i".to_owned(), Value::Null)]);
    assert_eq!(page(&path, ""), (1, json!([[0, null, null]])));
    fs::remove_file(path).unwrap();
}
