//! What the terminal shows.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use etw_types::Opcode;

use crate::files::Files;
use crate::run::{Outcome, PROVIDER};
use crate::table::Table;
use crate::trace::{Entry, Trace};

/// Names of the statuses that the driver's control code returns, in their order, and what each is about.
const STATUSES: [(&str, &str); 4] = [
    ("Register", "EtwRegister"),
    ("SetTraits", "EtwSetInformation, class 2: name and group"),
    ("UseDescriptorType", "EtwSetInformation, class 3"),
    ("TrackBinary", "EtwSetInformation, class 0"),
];

/// Everything, as text.
pub(crate) fn all(outcome: &Outcome, trace: &Trace, files: &Files) -> String {
    let sections = [
        section("Statuses of registering and of set-information", &statuses(outcome, trace)),
        section("Requests", &requests(outcome)),
        section("Session control", &controls(outcome)),
        section("Events", &events(trace)),
    ];
    let title = format!("\n{PROVIDER}, run by nt-host as on {}\n\n", outcome.os);
    title + &sections.concat() + &summary(outcome, trace, files)
}

fn section(title: &str, table: &Table) -> String {
    format!("{title}\n{}\n\n", table.lines().join("\n"))
}

/// From the driver's control code; the status of `DriverEntry` is in its event only.
fn statuses(outcome: &Outcome, trace: &Trace) -> Table {
    let mut table = Table::default();
    for ((name, what), status) in STATUSES.into_iter().zip(&outcome.statuses) {
        table.row([name.into(), status.to_string()], vec![what.into()]);
    }
    let entry = trace.events.iter().find(|entry| entry.name() == "DriverEntry");
    let status = entry.and_then(|entry| entry.field("Status")).unwrap_or_else(|| String::from("not in the trace"));
    table.row(["Status".into(), status], vec!["DriverEntry".into()]);
    table
}

fn requests(outcome: &Outcome) -> Table {
    let mut table = Table::default();
    for (what, code, status) in &outcome.requests {
        table.row([format!("{code:#010x}"), (*what).into()], vec![status.to_string()]);
    }
    table
}

fn controls(outcome: &Outcome) -> Table {
    let mut table = Table::default();
    for (what, answer) in &outcome.controls {
        table.row([(*what).into()], vec![answer.clone()]);
    }
    table
}

fn events(trace: &Trace) -> Table {
    let mut table = Table::with_numbers(&[0, 1]);
    table.row(["ms", "delta", "level", "activity", "event"].map(String::from), vec!["fields".into()]);
    let mut last = 0;
    for entry in &trace.events {
        let time = trace.since_start(entry);
        let cells = [milliseconds(time), milliseconds(time - last), level(entry).into(), activity(entry), name(entry)];
        table.row(cells, entry.fields());
        last = time;
    }
    table
}

/// 100 ns units as milliseconds with all their digits.
fn milliseconds(ticks: i64) -> String {
    format!("{}.{:04}", ticks / 10_000, ticks % 10_000)
}

fn level(entry: &Entry) -> &'static str {
    match entry.event.header.descriptor.level.as_int() {
        0 => "always",
        1 => "critical",
        2 => "error",
        3 => "warning",
        4 => "info",
        _ => "verbose",
    }
}

/// The activity with its bracket: where it starts, goes on and stops.
fn activity(entry: &Entry) -> String {
    let Some(number) = entry.activity else { return String::new() };
    let bracket = match entry.event.header.descriptor.opcode {
        Opcode::Start => '┌',
        Opcode::Stop => '└',
        _ => '│',
    };
    format!("{bracket} {number}")
}

fn name(entry: &Entry) -> String {
    let phase = match entry.event.header.descriptor.opcode.as_int() {
        1 => " start",
        2 => " stop",
        _ => "",
    };
    format!("{}{phase}", entry.name())
}

fn summary(outcome: &Outcome, trace: &Trace, files: &Files) -> String {
    let length = trace.events.last().map_or(0, |last| trace.since_start(last));
    let lost = outcome.session.events_lost;
    let mut lines = vec![
        String::from("Summary"),
        format!(
            "  {} events in {} ms, {} activities; {} of them came live; {lost} lost",
            trace.events.len(),
            milliseconds(length),
            trace.activities,
            outcome.live
        ),
    ];
    match &outcome.findings[..] {
        [] => lines.push(String::from("  the driver kept every rule, and left nothing behind")),
        findings => lines.extend(findings.iter().map(|finding| format!("  finding: {finding}"))),
    }
    lines.extend(outcome.output.lines().map(|line| format!("  it printed: {line}")));
    for (path, what) in [
        (&files.etl, "the trace, for tools that read .etl"),
        (&files.json, "one JSON object for each event"),
        (&files.html, "a page: open it in a browser"),
    ] {
        lines.push(format!("  {:<28} {what}", shown(path)));
    }
    lines.join("\n") + "\n"
}

/// A path as short as it can be said here.
fn shown(path: &std::path::Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).display().to_string()
}
