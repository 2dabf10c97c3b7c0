//! Measures what `etwctl` makes of a trace for other programs and for people: the page for a browser, Parquet, summaries.
//!
//! The built `etwctl` is measured, because no other program contains the Parquet writer.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use test_support::images::{built, named};

use super::decode::{MIB, generate, megabytes, middle, ours};
use super::{Findings, Settings};
use crate::report::{Cell, Section};
use crate::stats::median;
use crate::tools::{cargo, run, timed, worker};

const TEXT: &str = "\
`etwctl decode` exports a generated file with E2 events: a page for the browser, and a folder of Parquet files. All events are read, but the page \
contains at most 100,000. `etwctl dataset add` adds the file to a dataset, which is partitioned Parquet. The file with kernel events is that of the \
decoding above; its events are a quarter as long. MB are those of the `.etl`. One file is read by one thread. The floor is decoding the same E2 events \
into owned values and dropping them.";

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
    let output = settings.scratch("export-output");
    for (name, trace, arguments) in [
        ("page", &file, &["decode", "TRACE", "--html", "--output", "OUTPUT"][..]),
        ("Parquet", &file, &["decode", "TRACE", "--parquet", "OUTPUT"]),
        ("dataset", &file, &["dataset", "add", "OUTPUT", "TRACE"]),
        ("dataset, kernel events", &kernel, &["dataset", "add", "OUTPUT", "TRACE"]),
        ("top by processor time, kernel events", &kernel, &["top", "TRACE", "--by", "cpu"]),
    ] {
        let times = etwctl.as_ref().map_err(Clone::clone).and_then(|etwctl| {
            (0..rounds).map(|_| time(etwctl, trace, arguments, &output)).collect::<Result<Vec<f64>, String>>()
        });
        remove(&output);
        #[expect(clippy::cast_precision_loss, reason = "files are far smaller than 2^53 bytes")]
        let bytes = fs::metadata(trace).map_or(0, |about| about.len()) as f64;
        match times.map(|times| median(&times)) {
            Ok(seconds) => section.row(
                vec![
                    Cell::text(name),
                    Cell::Number(bytes / 1e6, 1),
                    Cell::number(seconds, 2),
                    Cell::number(seconds.map(|seconds| bytes / 1e6 / seconds), 1),
                ],
                how.clone(),
            ),
            Err(error) => section.skipped(name, &error),
        }
    }
    remove(&kernel);
    remove(&file);
    Ok(Findings { sections: vec![section], goals: Vec::new() })
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
