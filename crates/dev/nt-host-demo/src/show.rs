//! Shows the results on the terminal.

use std::env;
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use command_line::{escaped, shown};
use etw_etl::export::Columns;
use etw_etl::{About, Format};

use crate::Failure;
use crate::files::{Files, export};
use crate::run::{Outcome, PROVIDER};
use crate::trace::Trace;

/// The statuses that the driver's control code returns, in their order: a name, and the call that returned it.
const STATUSES: [(&str, &str); 6] = [
    ("Register", "EtwRegister"),
    ("SetTraits", "EtwSetInformation, class 2: name and group"),
    ("UseDescriptorType", "EtwSetInformation, class 3"),
    ("TrackBinary", "EtwSetInformation, class 0"),
    ("AdminRegister", "EtwRegister of the manifest's provider"),
    ("AdminTrackBinary", "EtwSetInformation, class 0, of the manifest's provider"),
];

/// Prints the text to standard output. It is not an error if the reader has closed it (`| head`).
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::usage(format!("cannot write to standard output: {error}; the rest of the output is lost")))
        }
        _ => Ok(()),
    }
}

/// All results as text.
pub(crate) fn all(outcome: &Outcome, trace: &Trace, files: &Files) -> String {
    let sections = [
        section("Statuses of registering and of set-information", statuses(outcome, trace)),
        section("Requests", requests(outcome)),
        section("Session control", controls(outcome)),
        format!("Events\n{}\n", events(trace, outcome)),
    ];
    let title = format!("\n{PROVIDER}, run by nt-host as on {}\n\n", outcome.os);
    title + &sections.concat() + &summary(outcome, trace, files)
}

fn section(title: &str, mut table: Columns) -> String {
    format!("{title}\n{}\n\n", table.take_lines().join("\n"))
}

/// The statuses come from the driver's control code, except that of `DriverEntry`, which only its event has.
fn statuses(outcome: &Outcome, trace: &Trace) -> Columns {
    let mut table = Columns::default();
    for ((name, what), status) in STATUSES.into_iter().zip(&outcome.statuses) {
        table.row([name.into(), status.to_string()], vec![what.into()]);
    }
    let entry = trace.first("DriverEntry");
    let status = entry.as_ref().and_then(|entry| entry.field("Status"));
    let status = status.map_or_else(|| String::from("not in the trace"), ToString::to_string);
    table.row(["Status".into(), status], vec!["DriverEntry".into()]);
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
    for (what, result) in &outcome.controls {
        table.row([(*what).into()], vec![result.clone()]);
    }
    table
}

fn events(trace: &Trace, outcome: &Outcome) -> String {
    // Writing to memory does not fail.
    let table = export(Vec::new(), Format::Table, trace, About::default(), outcome).unwrap_or_default();
    String::from_utf8_lossy(&table).into_owned()
}

fn summary(outcome: &Outcome, trace: &Trace, files: &Files) -> String {
    let lost = outcome.session.events_lost;
    let mut lines = vec![
        String::from("Summary"),
        format!(
            "  {} events in {:.4} ms, {} activities; {} of them came live; {lost} lost",
            trace.events.len(),
            trace.milliseconds(),
            trace.activities(),
            outcome.live
        ),
    ];
    match &outcome.findings[..] {
        [] => lines.push(String::from("  the driver kept every rule, and left nothing behind")),
        findings => lines.extend(findings.iter().map(|finding| format!("  finding: {}", escaped(finding)))),
    }
    lines.extend(outcome.gaps.iter().map(|gap| format!("  gap: {}", escaped(gap))));
    lines.extend(outcome.output.lines().map(|line| format!("  it printed: {}", escaped(line))));
    for (path, what) in [
        (&files.etl, "the trace, for tools that read .etl"),
        (&files.json, "one JSON object for each event"),
        (&files.html, "a page: open it in a browser"),
    ] {
        lines.push(format!("  {:<28} {what}", relative(path)));
    }
    lines.join("\n") + "\n"
}

/// Returns the text of the path relative to the current folder if it is below it, otherwise of the whole path.
fn relative(path: &Path) -> String {
    let here = env::current_dir().unwrap_or_default();
    shown(path.strip_prefix(&here).unwrap_or(path))
}
