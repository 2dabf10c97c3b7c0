//! Measures reading traces, compared with dissect.etl and etl-parser.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{Findings, Settings};
use crate::report::{Bound, Cell, Goal, Origin, Section};
use crate::stats::median;
use crate::tools::{number, python, run, worker};

const TEXT: &str = "\
Each run is a separate process that reads every event and decodes all of its fields. Rates are per second of its processor time: *visited* passes each value to a visitor without \
copying it, *owned* makes values that outlive the event. Memory is the maximum of the process (VmHWM). The generated files have E2 events \
that the engine wrote. The files with kernel events have samples, context switches, disk requests, stacks, images and processes; *named* \
means that the kernel's event classes name each event and cover all of its bytes. The Python readers need minutes for 256 MB, so they read \
a small file with the same events; their rate does not depend on the size. etl-parser keeps the whole file in memory.";
const PACKAGES: [&str; 2] = ["dissect.etl==3.14", "etl-parser==1.0.1"];
const IMPORT: &str = "import dissect.etl, etl.etl";
pub(super) const MIB: u64 = 1 << 20;
/// Recorded files smaller than this say nothing about speed.
const SMALLEST: u64 = MIB;

/// One reading.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) seconds: f64,
    pub(super) bytes: f64,
    pub(super) events: f64,
    peak_kib: Option<f64>,
}

impl Reading {
    fn from_output(output: &Value) -> Option<Self> {
        let get = |name| number(output, name);
        let peak_kib = get("peak_kib");
        Some(Self { seconds: get("ns")? / 1e9, bytes: get("bytes")?, events: get("events")?, peak_kib })
    }
}

/// Measures all readers.
///
/// # Errors
///
/// Returns an error if our side fails. If another reader is not available, its row says so.
pub fn decode(settings: &Settings) -> Result<Findings, String> {
    let columns = ["what", "MB", "events", "MB per s", "events per s", "peak MiB"];
    let mut section = Section::new("Decoding", TEXT, &columns);
    let rounds = if settings.quick { 1 } else { 5 };
    let large = if settings.quick { 64 } else { 256 };
    let mut peaks = Vec::new();
    let mut rates = (None, None);
    for mib in [16, large] {
        let file = settings.scratch(&format!("decode-{mib}.etl"));
        generate(&file, mib * MIB)?;
        let visited = ours("visit", &file, rounds);
        let owned = ours("decode", &file, rounds);
        let _ = fs::remove_file(&file);
        let visited = visited?;
        let owned = owned?;
        let how = format!("{rounds} runs, median");
        row(&mut section, &format!("etw-etl, generated, {mib} MiB, visited"), &visited, &how);
        row(&mut section, &format!("etw-etl, generated, {mib} MiB, owned"), &owned, &how);
        peaks.push(middle(&owned, |reading| reading.peak_kib.unwrap_or_default()));
        if mib == large {
            rates = (middle(&visited, megabytes), middle(&owned, events_per_second));
        }
    }
    let kernel = kernel(settings, &mut section, rounds, large)?;
    recorded(settings, &mut section, rounds)?;
    let parser = peers(settings, &mut section)?;
    let growth = growth(&peaks);
    let ratio = rates.1.zip(parser).map(|(ours, theirs)| ours / theirs);
    let goal = |what: &str, origin, limit, bound, measured, note: &str| Goal {
        what: what.into(),
        limit,
        bound,
        origin,
        measured,
        everywhere: false,
        note: note.into(),
        why: String::from("One thread reads, checks and decodes the whole file."),
    };
    let goals = vec![
        goal(
            "decoding, MB per second of processor time",
            Origin::Target,
            300.0,
            Bound::AtLeast,
            rates.0,
            "generated file, E2, visited",
        ),
        goal(
            "decoding, events per second, ratio to etl-parser",
            Origin::Target,
            100.0,
            Bound::AtLeast,
            ratio,
            "the same events, owned",
        ),
        goal(
            "naming kernel events, MB per second of processor time",
            Origin::Regression,
            230.0,
            Bound::AtLeast,
            kernel.0,
            "generated file, every event named and complete",
        ),
        goal(
            "decoding, peak memory, large file to small one",
            Origin::Promise,
            1.1,
            Bound::AtMost,
            growth,
            "VmHWM; 1 means no growth",
        ),
        goal(
            "naming kernel events, peak memory, large file to small one",
            Origin::Promise,
            1.1,
            Bound::AtMost,
            kernel.1,
            "VmHWM; 1 means no growth",
        ),
    ];
    Ok(Findings { sections: vec![section], goals })
}

/// Measures naming kernel events. Returns the rate for a large file, and its peak memory divided by the peak memory for
/// a small file.
fn kernel(
    settings: &Settings,
    section: &mut Section,
    rounds: usize,
    large: u64,
) -> Result<(Option<f64>, Option<f64>), String> {
    let mut rate = None;
    let mut peaks = Vec::new();
    for mib in [16, large] {
        let file = settings.scratch(&format!("kernel-{mib}.etl"));
        worker(&["kernel", &(mib * MIB).to_string(), &file.display().to_string()])?;
        let named = ours("name", &file, rounds);
        let owned = ours("name-owned", &file, rounds);
        let _ = fs::remove_file(&file);
        let named = named?;
        let owned = owned?;
        let how = format!("{rounds} runs, median");
        row(section, &format!("etw-etl, kernel events, {mib} MiB, named"), &named, &how);
        row(section, &format!("etw-etl, kernel events, {mib} MiB, owned"), &owned, &how);
        rate = middle(&named, megabytes);
        peaks.push(middle(&owned, |reading| reading.peak_kib.unwrap_or_default()));
    }
    Ok((rate, growth(&peaks)))
}

/// Returns the peak memory for a large file divided by the peak memory for a small file.
fn growth(peaks: &[Option<f64>]) -> Option<f64> {
    match peaks {
        [Some(small), Some(large)] if *small > 0.0 => Some(large / small),
        _ => None,
    }
}

pub(super) fn generate(file: &Path, bytes: u64) -> Result<(), String> {
    worker(&["generate", &bytes.to_string(), &file.display().to_string()]).map(drop)
}

pub(super) fn ours(work: &str, file: &Path, rounds: usize) -> Result<Vec<Reading>, String> {
    let path = file.display().to_string();
    (0..rounds)
        .map(|_| {
            Reading::from_output(&worker(&[work, &path])?)
                .ok_or_else(|| String::from("a worker's output lacks a number"))
        })
        .collect()
}

/// Returns the traces in the folder that the user named that are large enough, sorted by name.
pub(super) fn recorded_files(settings: &Settings) -> Result<Vec<PathBuf>, String> {
    let Some(dir) = &settings.traces else { return Ok(Vec::new()) };
    let entries = fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let mut files: Vec<_> = entries
        .flatten()
        .filter(|entry| entry.metadata().is_ok_and(|metadata| metadata.len() >= SMALLEST))
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "etl"))
        .collect();
    files.sort();
    Ok(files)
}

/// Decodes the traces in the folder that the user named.
fn recorded(settings: &Settings, section: &mut Section, rounds: usize) -> Result<(), String> {
    if settings.traces.is_none() {
        section.skipped("etw-etl, recorded files", "no folder given (--traces FOLDER)");
    }
    for file in recorded_files(settings)? {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        row(
            section,
            &format!("etw-etl, {name}"),
            &ours("decode", &file, rounds)?,
            &format!("recorded file, {rounds} runs, median"),
        );
    }
    Ok(())
}

/// Measures the Python readers. Returns the events per second of etl-parser.
fn peers(settings: &Settings, section: &mut Section) -> Result<Option<f64>, String> {
    let readers = ["dissect", "etl_parser"];
    let python = match python(&settings.scratch("python-etl"), &PACKAGES, IMPORT) {
        Ok(python) => python,
        Err(error) => {
            for reader in readers {
                section.skipped(reader, &error);
            }
            return Ok(None);
        }
    };
    let file = settings.scratch("decode-peers.etl");
    let mib = if settings.quick { 1 } else { 4 };
    generate(&file, mib * MIB)?;
    let mut rate = None;
    for reader in readers {
        let script = settings.root.join("crates/dev/bench/programs").join(format!("read_{reader}.py"));
        let output = run(Command::new(&python).arg(script).arg(&file));
        let output = output.and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()));
        match output.map(|output: Value| Reading::from_output(&output)) {
            Ok(Some(reading)) => {
                let name = if reader == "dissect" { "dissect.etl 3.14" } else { "etl-parser 1.0.1" };
                row(section, name, &[reading], &format!("generated, the same events, {mib} MiB of buffers, 1 run"));
                if reader == "etl_parser" {
                    rate = Some(events_per_second(&reading));
                }
            }
            Ok(None) => section.skipped(reader, "its output lacks a number"),
            Err(error) => section.skipped(reader, &error),
        }
    }
    let _ = fs::remove_file(&file);
    Ok(rate)
}

fn row(section: &mut Section, name: &str, readings: &[Reading], how: &str) {
    section.row(
        vec![
            Cell::text(name),
            Cell::number(middle(readings, |reading| reading.bytes / 1e6), 1),
            Cell::number(middle(readings, |reading| reading.events), 0),
            Cell::number(middle(readings, megabytes), 1),
            Cell::number(middle(readings, events_per_second), 0),
            Cell::number(middle(readings, |reading| reading.peak_kib.unwrap_or_default() / 1024.0), 1),
        ],
        how,
    );
}

pub(super) fn middle(readings: &[Reading], value: fn(&Reading) -> f64) -> Option<f64> {
    median(&readings.iter().map(value).collect::<Vec<_>>())
}

pub(super) fn megabytes(reading: &Reading) -> f64 {
    reading.bytes / 1e6 / reading.seconds
}

fn events_per_second(reading: &Reading) -> f64 {
    reading.events / reading.seconds
}
