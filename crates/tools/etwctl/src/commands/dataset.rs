//! `dataset add` and `dataset schemas`.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::slice;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::schemas;
use crate::cli::AddTraces;
use crate::context::Context;
use crate::failure::Failure;
use crate::input::{Progress, Schemas, Traces};
use crate::output::{Json, Table};
use crate::parquet::Dataset;
use crate::values::counted;

/// What happened to the traces.
#[derive(Debug, Default)]
struct Outcome {
    added: u64,
    skipped: u64,
    events: u64,
    failed: Vec<String>,
    lossy: Vec<String>,
    notes: Vec<String>,
    /// Whether the dataset could not be written, as on a full disk.
    is_unwritten: bool,
}

/// Adds traces to a dataset. A trace that cannot be read does not stop the others.
pub(super) fn add(context: &Context<'_>, line: &AddTraces) -> Result<(), Failure> {
    let dataset = Dataset::open(&line.dir)?;
    let files = schemas::files(&line.schemas)?;
    let jobs = line.jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    let (next, outcome) = (AtomicUsize::new(0), Mutex::new(Outcome::default()));
    let claimed = Mutex::new(HashSet::new());
    thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, line.files.len().max(1)) {
            scope.spawn(|| {
                while let Some(path) = line.files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = one(&dataset, path, &files, line.machine.as_deref(), &claimed);
                    let Ok(mut outcome) = outcome.lock() else { return };
                    let path = path.display();
                    match result {
                        Ok(Added::Skipped) => outcome.skipped += 1,
                        Ok(Added::Written(events, left_out, check)) => {
                            outcome.added += 1;
                            outcome.events += events;
                            if left_out > 0 {
                                let left_out = counted(left_out, "event");
                                outcome.notes.push(format!("{path}: {left_out} left out: there are too many kinds"));
                            }
                            // It names the file.
                            outcome.lossy.extend(check.err());
                        }
                        Err(NotAdded::Read(why)) => outcome.failed.push(format!("{path}: {why}")),
                        Err(NotAdded::Write(why)) => {
                            outcome.is_unwritten = true;
                            outcome.failed.push(format!("{path}: {why}"));
                        }
                    }
                }
            });
        }
    });
    dataset.tidy();
    let outcome = outcome.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    if context.is_json {
        context.record(vec![
            ("added", outcome.added.into()),
            ("skipped", outcome.skipped.into()),
            ("failed", outcome.failed.len().into()),
            ("events", outcome.events.into()),
        ])?;
    } else {
        let (added, events) = (counted(outcome.added, "trace"), counted(outcome.events, "event"));
        context.done(&format!("added {added} with {events}; {} were there already", outcome.skipped))?;
    }
    outcome.notes.iter().for_each(|text| command_line::note(text));
    let number = |list: &[String], noun| counted(u64::try_from(list.len()).unwrap_or(u64::MAX), noun);
    outcome.lossy.iter().chain(&outcome.failed).for_each(|text| command_line::error(text));
    match (outcome.failed.as_slice(), outcome.lossy.as_slice()) {
        ([], []) => Ok(()),
        ([], lossy) => Err(Failure::Lost(format!("{} added", number(lossy, "incomplete trace")))),
        (failed, _) if outcome.is_unwritten => Err(Failure::Usage(format!("{} not added", number(failed, "trace")))),
        (failed, _) => Err(Failure::Damaged(format!("{} not added", number(failed, "trace")))),
    }
}

/// Shows the columns of a dataset.
pub(super) fn schemas(context: &Context<'_>, dir: &Path) -> Result<(), Failure> {
    let mut table = Table::new(&["provider", "event", "versions", "column", "type", "traces", "of"]);
    for ([provider, event], known) in &Dataset::registry(dir)?.events {
        let event = [provider, event].map(|name| Json::from(name.as_deref()));
        let versions = known.versions.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        for column in &known.columns {
            let kinds = column.types.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            let cells = [versions.clone(), column.name.clone(), kinds].map(Json::from);
            let counts = [column.traces.number, known.traces.number].map(Json::from);
            table.row(event.iter().cloned().chain(cells).chain(counts).collect());
        }
        if known.columns.is_empty() {
            let rest = [Json::from(versions), Json::Null, Json::Null];
            let counts = [known.traces.number; 2].map(Json::from);
            table.row(event.into_iter().chain(rest).chain(counts).collect());
        }
    }
    context.table(table)
}

/// The result for one trace: whether it was there, or its events, those that were left out, and what is wrong with the file.
enum Added {
    Skipped,
    Written(u64, u64, Result<(), String>),
}

/// Why a trace was not added.
enum NotAdded {
    /// The trace cannot be read.
    Read(String),
    /// The dataset cannot be written.
    Write(String),
}

fn one(
    dataset: &Dataset,
    path: &Path,
    files: &Schemas,
    machine: Option<&str>,
    claimed: &Mutex<HashSet<String>>,
) -> Result<Added, NotAdded> {
    let unwritten = |error: io::Error| NotAdded::Write(error.to_string());
    let id = Dataset::id(path).map_err(|error| NotAdded::Read(error.to_string()))?;
    // The same trace may be named twice.
    let is_claimed = claimed.lock().is_ok_and(|mut claimed| !claimed.insert(id.clone()));
    if is_claimed || dataset.has(&id) {
        return Ok(Added::Skipped);
    }
    let text = |failure: Failure| failure.text();
    let traces = Traces::open(slice::from_ref(&path.to_owned()), files, Progress::new(true), false);
    let mut traces = traces.map_err(|failure| NotAdded::Read(text(failure)))?;
    traces.leave_frames_unnamed();
    let computer = traces.names().next().and_then(|(names, _)| names.computer().map(str::to_owned));
    let machine = machine.map(str::to_owned).or(computer);
    let mut addition = dataset.add(id, path, machine).map_err(unwritten)?;
    while let Some((Some(event), decoder)) = &mut traces.next_in_place() {
        addition.event(event, decoder).map_err(unwritten)?;
    }
    let is_whole = traces.check().map_err(text);
    let (events, left_out) = addition.finish(is_whole.as_ref().err().map(String::as_str)).map_err(unwritten)?;
    Ok(Added::Written(events, left_out, is_whole))
}
