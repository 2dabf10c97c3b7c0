//! Measures what `etwctl` makes of a trace for other programs and for people: the page for a browser, Parquet, summaries.
//!
//! The built `etwctl` is measured, because no other program contains the Parquet writer.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use test_support::images::{built, named};

use super::decode::{MIB, generate, megabytes, middle, ours};
use super::{Findings, Settings};
use crate::report::{Bound, Cell, Goal, Section};
use crate::stats::median;
use crate::tools::{cargo, run, timed, worker};

const TEXT: &str = "\
`etwctl decode` exports a generated file with E2 events: a page for the browser, and a folder of Parquet files. All events are read, but the page \
contains at most 100,000. `etwctl dataset add` adds the file to a dataset, which is partitioned Parquet. The file with kernel events is that of the \
decoding above; its events are a quarter as long. The file with .NET events has methods, types, allocations, locks, exceptions and stacks. `etwctl top` \
sums up the processor time. MB are those of the `.etl`, which is not compressed. One file is read by one thread. The floor is decoding the same E2 \
events into owned values and dropping them.";

/// What is done with a trace: the name of the row, the trace, the arguments, and the MB per second to reach.
type Row<'a> = (&'static str, &'a Path, &'static [&'static str], Option<f64>);

/// MB of trace per second that one core must add to a dataset.
const DATASET: f64 = 150.0;
/// MB of trace per second that one core must sum up: two thirds of what a quiet machine did.
const TOP: f64 = 100.0;

/// Exports a generated trace.
///
/// # Errors
///
/// Returns an error if the trace cannot be generated or decoded. If `etwctl` cannot be built, its rows say so.
pub fn export(settings: &Settings) -> Result<Findings, String> {
    let mut section = Section::new("Exports", TEXT, &["what", "MB", "s", "MB per s"]);
    let rounds = if settings.quick { 1 } else { 5 };
    let mib = if settings.quick { 64 } else { 256 };
    let how = format!("{rounds} runs, median");
    let file = settings.scratch(&format!("export-{mib}.etl"));
    generate(&file, mib * MIB)?;
    let floor = ours("decode", &file, rounds)?;
    section.row(
        vec![
            Cell::text("decoded only, owned (the floor)"),
            Cell::number(middle(&floor, |reading| reading.bytes / 1e6), 1),
            Cell::number(middle(&floor, |reading| reading.seconds), 2),
            Cell::number(middle(&floor, megabytes), 1),
        ],
        how.clone(),
    );
    let etwctl = program(settings);
    let kernel = settings.scratch(&format!("export-kernel-{mib}.etl"));
    worker(&["kernel", &(mib * MIB).to_string(), &kernel.display().to_string()])?;
    let dotnet = settings.scratch(&format!("export-dotnet-{mib}.etl"));
    worker(&["dotnet", &(mib * MIB).to_string(), &dotnet.display().to_string()])?;
    // Fails if an event has no name.
    ours("name", &dotnet, 1)?;
    let output = settings.scratch("export-output");
    let dataset: &[&str] = &["dataset", "add", "OUTPUT", "TRACE"];
    let rows: [Row<'_>; 6] = [
        ("page", &file, &["decode", "TRACE", "--html", "--output", "OUTPUT"], None),
        ("Parquet", &file, &["decode", "TRACE", "--parquet", "OUTPUT"], None),
        ("dataset", &file, dataset, Some(DATASET)),
        ("dataset, kernel events", &kernel, dataset, Some(DATASET)),
        ("dataset, .NET events", &dotnet, dataset, Some(DATASET)),
        ("top by processor time, kernel events", &kernel, &["top", "TRACE", "--by", "cpu"], Some(TOP)),
    ];
    let mut goals = Vec::new();
    for (name, trace, arguments, limit) in rows {
        let times = etwctl.as_ref().map_err(Clone::clone).and_then(|etwctl| {
            (0..rounds).map(|_| time(etwctl, trace, arguments, &output)).collect::<Result<Vec<f64>, String>>()
        });
        remove(&output);
        #[expect(clippy::cast_precision_loss, reason = "files are far smaller than 2^53 bytes")]
        let bytes = fs::metadata(trace).map_or(0, |about| about.len()) as f64;
        let seconds = times.as_ref().ok().and_then(|times| median(times));
        let rate = seconds.map(|seconds| bytes / 1e6 / seconds);
        match times {
            Ok(_) => section.row(
                vec![Cell::text(name), Cell::Number(bytes / 1e6, 1), Cell::number(seconds, 2), Cell::number(rate, 1)],
                how.clone(),
            ),
            Err(error) => section.skipped(name, &error),
        }
        goals.extend(limit.map(|limit| goal(name, limit, rate)));
    }
    for trace in [&kernel, &dotnet, &file] {
        remove(trace);
    }
    Ok(Findings { sections: vec![section], goals })
}

/// A goal for one thread that reads one file.
fn goal(name: &str, limit: f64, measured: Option<f64>) -> Goal {
    Goal {
        what: format!("{name}, MB per second"),
        limit,
        bound: Bound::AtLeast,
        measured,
        everywhere: false,
        note: String::from("generated file, one thread, whole process"),
        why: String::from("One thread reads, decodes and encodes the whole file."),
    }
}

/// Builds `etwctl` as it is installed.
fn program(settings: &Settings) -> Result<PathBuf, String> {
    let files = built(cargo(&settings.root).args(["build", "--release", "--locked", "--package", "etwctl"]))?;
    named(&files, "etwctl").map(Path::to_path_buf)
}

/// Runs a command once, with the paths of the trace and of its output, and returns the seconds of the whole process.
fn time(etwctl: &Path, trace: &Path, arguments: &[&str], output: &Path) -> Result<f64, String> {
    remove(output);
    let mut command = Command::new(etwctl);
    command.arg("--quiet");
    for argument in arguments {
        match *argument {
            "TRACE" => command.arg(trace),
            "OUTPUT" => command.arg(output),
            word => command.arg(word),
        };
    }
    timed(|| run(&mut command))
}

/// Removes a file or folder of an earlier run, if there is one.
fn remove(path: &Path) {
    let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}
