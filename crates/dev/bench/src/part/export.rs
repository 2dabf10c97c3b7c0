//! Measures what `etwctl` makes of traces: the page for a browser, Parquet, JSON, OTLP, summaries.
//!
//! The built `etwctl` is measured, because no other program contains the Parquet writer. It is built with the release profile, as it
//! is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use test_support::images::{built, named};

use super::decode::{MIB, Reading, generate, megabytes, middle, ours, recorded_files};
use super::{Findings, Settings};
use crate::report::{Bound, Cell, Goal, Origin, Section};
use crate::stats::median;
use crate::tools::{cargo, run, spent, worker};

const TEXT: &str = "\
`etwctl`, as it is installed, reads a whole file with one thread: `decode` writes a page for the browser, a folder of Parquet files or JSON, \
`dataset add` adds the file to a dataset, which is partitioned Parquet, `export --otlp` writes a file of OTLP requests, and `top` sums up \
processor time. A page shows at most 100,000 of the events that were read. Rates are per second of the process's processor time (user and \
system), from its start to its end. MB are those of the `.etl` file; a compressed one has more to decode. The floor is decoding the same \
events into owned values and dropping them.";
const TRACES_TEXT: &str = "\
The traces of the table above, and the kinds of their events. Generated: the engine wrote E2 events; the kernel's events are samples, context \
switches, disk requests, stacks, images and processes; the .NET events are methods, types, allocations, locks, exceptions and stacks. Recorded: \
files from Windows, in the folder of `--traces`.";

/// What is done with a trace.
#[derive(Clone, Copy, Debug)]
struct Work {
    name: &'static str,
    arguments: &'static [&'static str],
    /// The generated traces with which it is done. It is done with all recorded ones.
    generated: &'static [Generated],
    /// MB of a generated trace per second that one core must reach.
    limit: Option<(Origin, f64)>,
}

/// A trace that the bench makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Generated {
    TraceLogging,
    /// A sixteenth of the file with TraceLogging events, for what is slow.
    Short,
    Kernel,
    DotNet,
}

impl Generated {
    const ALL: [Self; 4] = [Self::TraceLogging, Self::Short, Self::Kernel, Self::DotNet];

    const fn name(self) -> &'static str {
        match self {
            Self::TraceLogging => "generated, TraceLogging",
            Self::Short => "generated, TraceLogging, short",
            Self::Kernel => "generated, kernel",
            Self::DotNet => "generated, .NET",
        }
    }

    fn write(self, file: &Path, bytes: u64) -> Result<(), String> {
        let made = |kind: &str| worker(&[kind, &bytes.to_string(), &file.display().to_string()]).map(drop);
        match self {
            Self::TraceLogging => generate(file, bytes),
            Self::Short => generate(file, bytes / 16),
            Self::Kernel => made("kernel"),
            Self::DotNet => {
                made("dotnet")?;
                // Fails if an event has no name.
                ours("name", file, 1).map(drop)
            }
        }
    }
}

use Generated::{DotNet, Kernel, Short, TraceLogging};

/// MB of trace per second that one core must add to a dataset.
const DATASET: (Origin, f64) = (Origin::Target, 150.0);
/// MB of trace per second that one core must sum up: two thirds of what a quiet machine did.
const TOP: (Origin, f64) = (Origin::Regression, 100.0);

const WORK: [Work; 6] = [
    Work {
        name: "dataset",
        arguments: &["dataset", "add", "OUTPUT", "TRACE"],
        generated: &[TraceLogging, Kernel, DotNet],
        limit: Some(DATASET),
    },
    Work {
        name: "Parquet",
        arguments: &["decode", "TRACE", "--parquet", "OUTPUT"],
        generated: &[TraceLogging],
        limit: None,
    },
    Work {
        name: "page",
        arguments: &["decode", "TRACE", "--html", "--output", "OUTPUT"],
        generated: &[TraceLogging],
        limit: None,
    },
    Work {
        name: "JSON",
        arguments: &["decode", "TRACE", "--json", "--output", "OUTPUT"],
        generated: &[TraceLogging, Kernel, DotNet],
        limit: None,
    },
    Work { name: "OTLP", arguments: &["export", "TRACE", "--otlp", "OUTPUT"], generated: &[Short], limit: None },
    Work {
        name: "top by processor time",
        arguments: &["top", "TRACE", "--by", "cpu"],
        generated: &[Kernel],
        limit: Some(TOP),
    },
];

/// Seconds of processor time after which work is not repeated: what takes long varies little.
const ENOUGH: f64 = 5.0;

/// A trace that is read.
#[derive(Clone, Debug)]
struct Trace {
    name: String,
    path: PathBuf,
    /// `None` for a recorded one.
    generated: Option<Generated>,
    bytes: f64,
    events: f64,
}

/// Exports generated traces, and those in the folder that the user named.
///
/// # Errors
///
/// Returns an error if a trace cannot be generated or decoded. If `etwctl` cannot be built, its rows say so.
pub fn export(settings: &Settings) -> Result<Findings, String> {
    let columns = ["what", "MB", "processor time, s", "MB per s", "events per s"];
    let mut section = Section::new("etwctl", TEXT, &columns);
    let mut described = Section::new("Traces", TRACES_TEXT, &["trace", "MB", "events", "kinds"]);
    let rounds = if settings.quick { 1 } else { 3 };
    let mib = if settings.quick { 64 } else { 128 };
    let mut traces = Vec::new();
    for generated in Generated::ALL {
        let path = settings.scratch(&format!("export-{}.etl", traces.len()));
        generated.write(&path, mib * MIB)?;
        traces.push(describe(&mut described, generated.name().to_owned(), path, Some(generated))?);
    }
    for path in recorded_files(settings)? {
        let name = format!("recorded, {}", path.file_name().unwrap_or_default().to_string_lossy());
        traces.push(describe(&mut described, name, path, None)?);
    }
    if settings.traces.is_none() {
        described.skipped("recorded", "no folder given (--traces FOLDER)");
    }
    for trace in &traces {
        if trace.generated != Some(TraceLogging) {
            continue;
        }
        let floor = ours("decode", &trace.path, rounds)?;
        let seconds = middle(&floor, |reading| reading.seconds);
        let events = seconds.map(|seconds| trace.events / seconds);
        let cells = vec![
            Cell::text(format!("decoded only, owned (the floor): {}", trace.name)),
            Cell::Number(trace.bytes / 1e6, 1),
            Cell::number(seconds, 2),
            Cell::number(middle(&floor, megabytes), 1),
            Cell::number(events, 0),
        ];
        section.row(cells, runs(rounds));
    }
    let mut goals = Vec::new();
    let etwctl = program(settings);
    let output = settings.scratch("export-output");
    for work in WORK {
        for trace in &traces {
            if trace.generated.is_some_and(|generated| !work.generated.contains(&generated)) {
                continue;
            }
            let name = format!("{}: {}", work.name, trace.name);
            let times = etwctl
                .as_ref()
                .map_err(Clone::clone)
                .and_then(|etwctl| repeated(rounds, || time(etwctl, &trace.path, work.arguments, &output)));
            remove(&output);
            let seconds = times.as_ref().ok().and_then(|times| median(times));
            let rate = seconds.map(|seconds| trace.bytes / 1e6 / seconds);
            match times {
                Ok(times) => {
                    let cells = vec![
                        Cell::text(&name),
                        Cell::Number(trace.bytes / 1e6, 1),
                        Cell::number(seconds, 2),
                        Cell::number(rate, 1),
                        Cell::number(seconds.map(|seconds| trace.events / seconds), 0),
                    ];
                    section.row(cells, runs(times.len()));
                }
                Err(error) => section.skipped(&name, &error),
            }
            let limit = work.limit.filter(|_| trace.generated.is_some());
            goals.extend(limit.map(|limit| goal(&name, limit, rate)));
        }
    }
    for trace in traces.iter().filter(|trace| trace.generated.is_some()) {
        remove(&trace.path);
    }
    Ok(Findings { sections: vec![section, described], goals })
}

/// Adds the trace to the table of traces.
fn describe(section: &mut Section, name: String, path: PathBuf, generated: Option<Generated>) -> Result<Trace, String> {
    let kinds = worker(&["kinds", &path.display().to_string()])?;
    let reading = ours("decode", &path, 1)?;
    let events = middle(&reading, |reading: &Reading| reading.events).unwrap_or_default();
    let bytes = middle(&reading, |reading: &Reading| reading.bytes).unwrap_or_default();
    let kinds: Vec<String> = kinds.as_object().into_iter().flatten().map(|(kind, count)| share(kind, count)).collect();
    let cells =
        vec![Cell::text(&name), Cell::Number(bytes / 1e6, 1), Cell::Number(events, 0), Cell::text(kinds.join(", "))];
    section.row(cells, if generated.is_some() { "generated for this run" } else { "recorded on Windows" });
    Ok(Trace { name, path, generated, bytes, events })
}

fn runs(count: usize) -> String {
    if count == 1 { String::from("1 run") } else { format!("{count} runs, median") }
}

/// Does the work this often, or until it has taken [`ENOUGH`].
fn repeated(rounds: usize, work: impl Fn() -> Result<f64, String>) -> Result<Vec<f64>, String> {
    let mut times = Vec::new();
    while times.len() < rounds && times.iter().sum::<f64>() < ENOUGH {
        times.push(work()?);
    }
    Ok(times)
}

fn share(kind: &str, count: &Value) -> String {
    let count = Cell::count(count.as_u64().unwrap_or_default()).show();
    format!("{count} {kind}")
}

/// A goal for one thread that reads one file.
fn goal(name: &str, (origin, limit): (Origin, f64), measured: Option<f64>) -> Goal {
    Goal {
        what: format!("{name}, MB per second of processor time"),
        limit,
        bound: Bound::AtLeast,
        origin,
        measured,
        everywhere: false,
        note: String::from("one thread, whole process"),
        why: String::from("One thread reads, decodes and encodes the whole file."),
    }
}

/// Builds `etwctl` as it is installed.
fn program(settings: &Settings) -> Result<PathBuf, String> {
    let files = built(cargo(&settings.root).args(["build", "--release", "--locked", "--package", "etwctl"]))?;
    named(&files, "etwctl").map(Path::to_path_buf)
}

/// Runs a command once, with the paths of the trace and of its output. Returns the processor time of the process in seconds.
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
    Ok(spent(|| run(&mut command))?.processor)
}

/// Removes a file or folder of an earlier run, if there is one.
fn remove(path: &Path) {
    let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}
