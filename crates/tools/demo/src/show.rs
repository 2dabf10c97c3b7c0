//! What the terminal shows.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use etw_etl::export::Columns;
use etw_etl::{About, Format};

use crate::files::{Files, export};
use crate::run::{Outcome, PROVIDER};
use crate::trace::Trace;

/// Names of the statuses in `DriverEntry`'s event, and what each is about.
const STATUSES: [(&str, &str); 5] = [
    ("Register", "EtwRegister"),
    ("SetTraits", "EtwSetInformation, class 2: name and group"),
    ("UseDescriptorType", "EtwSetInformation, class 3"),
    ("TrackBinary", "EtwSetInformation, class 0"),
    ("Status", "DriverEntry"),
];

/// Prints everything.
pub(crate) fn all(outcome: &Outcome, trace: &Trace, files: &Files) {
    println!("\n{PROVIDER}, run by nt-host as on {}\n", outcome.os);
    section("Statuses of registering and of set-information", statuses(trace));
    section("Requests", requests(outcome));
    section("Session control", controls(outcome));
    println!("Events");
    events(trace);
    summary(outcome, trace, files);
}

fn section(title: &str, mut table: Columns) {
    println!("{title}");
    table.take_lines().iter().for_each(|line| println!("{line}"));
    println!();
}

fn statuses(trace: &Trace) -> Columns {
    let mut table = Columns::default();
    let entry = trace.first("DriverEntry");
    for (name, what) in STATUSES {
        let node = entry.as_ref().and_then(|entry| entry.field(name));
        let status = node.map_or_else(|| String::from("not in the trace"), ToString::to_string);
        table.row([name.into(), status], vec![what.into()]);
    }
    table
}

fn requests(outcome: &Outcome) -> Columns {
    let mut table = Columns::default();
    for (what, code, status) in &outcome.requests {
        table.row([format!("{code:#010x}"), (*what).into()], vec![status.to_string()]);
    }
    table
}

fn controls(outcome: &Outcome) -> Columns {
    let mut table = Columns::default();
    for (what, answer) in &outcome.controls {
        table.row([(*what).into()], vec![answer.clone()]);
    }
    table
}

fn events(trace: &Trace) {
    if let Err(error) = export(std::io::stdout(), Format::Table, trace, About::default()) {
        eprintln!("cannot show the events: {error}");
    }
    println!();
}

fn summary(outcome: &Outcome, trace: &Trace, files: &Files) {
    let lost = outcome.session.events_lost;
    println!("Summary");
    println!(
        "  {} events in {:.4} ms, {} activities; {} of them came live; {lost} lost",
        trace.events.len(),
        trace.milliseconds(),
        trace.activities(),
        outcome.live
    );
    match &outcome.findings[..] {
        [] => println!("  the driver kept every rule, and left nothing behind"),
        findings => findings.iter().for_each(|finding| println!("  finding: {finding}")),
    }
    if !outcome.output.is_empty() {
        outcome.output.lines().for_each(|line| println!("  it printed: {line}"));
    }
    for (path, what) in [
        (&files.etl, "the trace, for tools that read .etl"),
        (&files.json, "one JSON object for each event"),
        (&files.html, "a page: open it in a browser"),
    ] {
        println!("  {:<28} {what}", shown(path));
    }
}

/// A path as short as it can be said here.
fn shown(path: &std::path::Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).display().to_string()
}
