//! Times of `top`, in traces whose truth is known.

use std::fs;
use std::path::PathBuf;

use crate::common::kernel::{KernelTrace, words};
use crate::common::{etwctl, rows};
use serde_json::{Value, json};

const WAITING: u8 = 5;
const READY: u8 = 1;
const IDLE: (u32, u32) = (0, 0);
/// A program that works and waits.
const WORKER: (u32, u32) = (500, 70);
/// A program that never gives up its processor.
const RUNAWAY: (u32, u32) = (600, 80);
/// A program that ran before the first switch.
const EARLY: (u32, u32) = (700, 90);

/// Two processors for 100 ms, in units of 100 ns.
const MS: u64 = 10_000;

/// The first processor runs `EARLY` for 10 ms, `WORKER` for 20 ms, is idle for 30 ms, and runs `WORKER` for the last 40 ms. The
/// second one is idle for 25 ms and then runs `RUNAWAY`.
fn two_processors(name: &str) -> PathBuf {
    let mut trace = KernelTrace::new(2);
    let at = |ms: u64| trace.at(MS) + ms * MS;
    let moments: Vec<u64> = [0, 10, 25, 30, 50, 60, 100].map(at).to_vec();
    let [start, ten, twenty_five, thirty, fifty, sixty, end] = moments[..] else { panic!("seven moments") };
    for (process, name) in [(0, "Idle"), (500, "worker.exe"), (600, "runaway.exe"), (700, "early.exe")] {
        trace.process(trace.at(1), process, name);
    }
    for (process, thread) in [WORKER, RUNAWAY, EARLY] {
        trace.thread(trace.at(2), process, thread);
    }
    // Any event: the session records from here on.
    trace.event(0, 0x090B, 2, start, IDLE, &words(&[0, 0, 0, 0, 0, 0, 0]));
    trace.switch(0, ten, WORKER, EARLY.1, READY);
    trace.switch(0, thirty, IDLE, WORKER.1, WAITING);
    trace.event(0, 0x0532, 2, fifty, IDLE, &words(&[WORKER.1, 0]));
    trace.switch(0, sixty, WORKER, 0, READY);
    trace.event(0, 0x090B, 2, end, WORKER, &words(&[0, 0, 0, 0, 0, 0, 0]));
    trace.switch(1, twenty_five, RUNAWAY, 0, READY);
    trace.write(name)
}

/// The row of a process, as its times of running, being ready and waiting, and its switches.
fn times(rows: &Value, process: &str) -> Value {
    let all = rows.as_array().unwrap();
    let row = all.iter().find(|row| row["process"] == process).unwrap_or(&Value::Null);
    json!([row["run_ms"], row["ready_ms"], row["wait_ms"], row["switches"]])
}

fn sum(rows: &Value, column: &str) -> f64 {
    rows.as_array().unwrap().iter().map(|row| row[column].as_f64().unwrap()).sum()
}

#[test]
fn run_times_of_all_threads_and_idle_are_the_time_of_the_processors() {
    let path = two_processors("truth.etl");
    for per in ["process", "thread"] {
        let all = rows(&format!("top {} --per {per} --json", path.display()));
        assert_eq!(times(&all, "early.exe"), json!([10.0, 90.0, 0.0, 0]), "until its first switch, and then ready");
        assert_eq!(times(&all, "worker.exe"), json!([60.0, 10.0, 20.0, 2]), "until the end");
        assert_eq!(times(&all, "runaway.exe"), json!([75.0, 0.0, 0.0, 1]), "it never switches out");
        assert_eq!(times(&all, "Idle"), json!([55.0, 0.0, 0.0, 1]), "of both processors");
        assert!((sum(&all, "run_ms") - 2.0 * 100.0).abs() < 1e-9, "{all}");
    }
    fs::remove_file(path).unwrap();
}

#[test]
fn conditions_select_rows_and_change_no_time() {
    let path = two_processors("truth-where.etl");
    let all = rows(&format!("top {} --json", path.display()));
    for (condition, process) in [
        ("pid=500", "worker.exe"),
        ("process=runaway.exe", "runaway.exe"),
        ("tid=90", "early.exe"),
        ("process=idle", "Idle"),
    ] {
        let one = rows(&format!("top {} --json --where {condition}", path.display()));
        assert_eq!(one.as_array().unwrap().len(), 1, "{one}");
        assert_eq!(times(&one, process), times(&all, process), "{condition}");
    }
    let second = rows(&format!("top {} --json --where cpu=1", path.display()));
    assert_eq!(times(&second, "Idle"), json!([25.0, 0.0, 0.0, 0]));
    assert!((sum(&second, "run_ms") - 100.0).abs() < 1e-9, "{second}");
    fs::remove_file(path).unwrap();
}

#[test]
fn the_run_times_on_each_processor_are_the_time_of_the_trace() {
    let path = two_processors("truth-processor.etl");
    for per in ["process", "thread"] {
        let on = |processor: u16| rows(&format!("top {} --per {per} --json --where cpu={processor}", path.display()));
        let first = on(0);
        assert_eq!(times(&first, "early.exe")[0], 10.0);
        assert_eq!(times(&first, "worker.exe")[0], 60.0);
        assert_eq!(times(&first, "Idle")[0], 30.0);
        assert!((sum(&first, "run_ms") - 100.0).abs() < 1e-9, "{first}");
        let second = on(1);
        assert_eq!(times(&second, "runaway.exe")[0], 75.0);
        assert_eq!(times(&second, "Idle")[0], 25.0);
        assert!((sum(&second, "run_ms") - 100.0).abs() < 1e-9, "{second}");
    }
    fs::remove_file(path).unwrap();
}

#[test]
fn a_thread_that_nothing_tells_about_keeps_the_sum_of_run_times() {
    // Three processors, and only one of them switches: nothing tells who runs on the others.
    let mut trace = KernelTrace::new(3);
    trace.process(trace.at(1), 500, "worker.exe");
    trace.thread(trace.at(2), 500, 70);
    trace.switch(0, trace.at(MS), WORKER, 0, READY);
    trace.switch(0, trace.at(11 * MS), IDLE, WORKER.1, WAITING);
    trace.sample(1, trace.at(5 * MS), WORKER, 0x10);
    let path = trace.write("truth-untold.etl");
    let all = rows(&format!("top {} --json", path.display()));
    let unknown = all.as_array().unwrap().iter().find(|row| row["process"] == "(unknown)").unwrap();
    assert_eq!(unknown["run_ms"], 10.0, "of the third processor");
    assert!((sum(&all, "run_ms") - 3.0 * 10.0).abs() < 1e-9, "{all}");
    fs::remove_file(path).unwrap();
}

#[test]
fn a_range_of_time_has_the_parts_inside_it() {
    let path = two_processors("truth-range.etl");
    // The first event of the file is 1 ms before the times.
    let part = |range: &str| rows(&format!("top {} --json {range}", path.display()));
    let middle = part("--from +21ms --to +56ms");
    assert_eq!(times(&middle, "worker.exe"), json!([10.0, 5.0, 20.0, 0]));
    assert_eq!(times(&middle, "runaway.exe"), json!([30.0, 0.0, 0.0, 1]));
    assert!((sum(&middle, "run_ms") - 2.0 * 35.0).abs() < 1e-9, "{middle}");
    let all = part("");
    let parts = [part("--to +21ms"), middle, part("--from +56ms")];
    for column in ["run_ms", "ready_ms", "wait_ms", "switches"] {
        let parts: f64 = parts.iter().map(|part| sum(part, column)).sum();
        assert!((parts - sum(&all, column)).abs() < 1e-9, "{column}: the parts add up");
    }
    fs::remove_file(path).unwrap();
}

#[test]
fn what_a_trace_cannot_tell_is_not_zero() {
    let mut trace = KernelTrace::new(1);
    trace.process(trace.at(1), 500, "worker.exe");
    trace.sample(0, trace.at(MS), WORKER, 0x40_0010);
    let path = trace.write("samples-only.etl");
    let row = json!({"process": "worker.exe", "pid": 500, "samples": 1, "run_ms": null, "ready_ms": null, "wait_ms": null,
        "switches": null, "percent": 100.0});
    assert_eq!(rows(&format!("top {} --json", path.display())), json!([row]));
    let text = etwctl(&format!("top {}", path.display())).out;
    let cells: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(cells, ["worker.exe", "500", "1", "-", "-", "-", "-", "100.0"]);
    fs::remove_file(path).unwrap();

    let path = two_processors("switches-only.etl");
    let all = rows(&format!("top {} --json", path.display()));
    assert!(all.as_array().unwrap().iter().all(|row| row["samples"].is_null()), "{all}");
    fs::remove_file(path).unwrap();

    // A file operation whose end is not in the trace.
    let mut trace = KernelTrace::new(1);
    // Offset, IRP, file object, file key, thread, size, flags, extra flags.
    let write = words(&[0, 0, 9, 0, 0x77, 0, 0x77, 0, 70, 512, 0, 0]);
    trace.event(0, 0x0444, 3, trace.at(MS), WORKER, &write);
    let path = trace.write("no-end.etl");
    let row = &rows(&format!("top {} --by file --json", path.display()))[0];
    assert_eq!([&row["ms"], &row["longest_ms"], &row["writes"]], [&json!(null), &json!(null), &json!(1)]);
    fs::remove_file(path).unwrap();
}

/// A file operation of one process whose end is an event of another one.
#[test]
fn an_operation_has_its_time_although_its_end_is_not_selected() {
    let mut trace = KernelTrace::new(1);
    trace.process(trace.at(1), 500, "worker.exe");
    let write = words(&[0, 0, 9, 0, 0x77, 0, 0x77, 0, 70, 512, 0, 0]);
    trace.event(0, 0x0444, 3, trace.at(10 * MS), WORKER, &write);
    // IRP, extra information, status.
    trace.event(0, 0x044C, 3, trace.at(60 * MS), IDLE, &words(&[9, 0, 0, 0, 0]));
    let path = trace.write("operation.etl");
    let times = |more: &str| {
        let rows = rows(&format!("top {} --by file --json {more}", path.display()));
        assert_eq!(rows.as_array().unwrap().len(), 1, "{more}: {rows}");
        json!([rows[0]["ms"], rows[0]["writes"], rows[0]["written_bytes"]])
    };
    assert_eq!(times(""), json!([50.0, 1, 512]));
    assert_eq!(times("--where pid=500"), json!([50.0, 1, 512]));
    assert_eq!(times("--to +20ms"), json!([10.0, 1, 512]));
    assert_eq!(times("--from +20ms"), json!([40.0, 0, 0]));
    fs::remove_file(path).unwrap();
}
