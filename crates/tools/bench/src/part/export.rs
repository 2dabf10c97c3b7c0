//! Measures the exports of a trace for other programs: the page for a browser, and Parquet.
//!
//! The built `etwctl` exports, because no other program contains the Parquet writer.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use test_support::images::{built, named};

use super::decode::{MIB, generate, megabytes, middle, ours};
use super::{Findings, Settings};
use crate::report::{Cell, Section};
use crate::stats::median;
use crate::tools::{cargo, run, timed};

const TEXT: &str = "\
`etwctl decode` exports a generated file with E2 events: a page for the browser, and a folder of Parquet files. All events are read, but the page \
contains at most the first 100,000. MB are those of the `.etl`. The floor is decoding the same events into owned values and dropping them.";

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
    let file = settings.folder(&format!("export-{mib}.etl"));
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
    let bytes = middle(&floor, |reading| reading.bytes).unwrap_or_default();
    let etwctl = program(settings);
    for (name, option, output) in [("page", "--html", "page.html"), ("Parquet", "--parquet", "parquet")] {
        let output = settings.folder(&format!("export-{output}"));
        let times = etwctl.as_ref().map_err(Clone::clone).and_then(|etwctl| {
            (0..rounds).map(|_| time(etwctl, &file, option, &output)).collect::<Result<Vec<f64>, String>>()
        });
        remove(&output);
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
    remove(&file);
    Ok(Findings { sections: vec![section], goals: Vec::new() })
}

/// Builds `etwctl` as it is installed.
fn program(settings: &Settings) -> Result<PathBuf, String> {
    let files = built(cargo(&settings.root).args(["build", "--release", "--locked", "--package", "etwctl"]))?;
    named(&files, "etwctl").map(Path::to_path_buf)
}

/// Exports once and returns the seconds of the whole process.
fn time(etwctl: &Path, file: &Path, option: &str, output: &Path) -> Result<f64, String> {
    remove(output);
    let mut command = Command::new(etwctl);
    command.args(["decode", "--quiet"]).arg(file).arg(option);
    if option == "--html" {
        command.arg("--output");
    }
    command.arg(output);
    timed(|| run(&mut command))
}

/// Removes a file or folder of an earlier run, if there is one.
fn remove(path: &Path) {
    let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}
