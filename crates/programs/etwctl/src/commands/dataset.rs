//! `dataset add` and `dataset schemas`.

use std::collections::HashSet;
use std::fs;
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
    let plan = Plan::new(address_space(), jobs.clamp(1, line.files.len().max(1)))?;
    let next = AtomicUsize::new(0);
    let outcome = Mutex::new(Outcome::default());
    let claimed = Mutex::new(HashSet::new());
    let work = || {
        while let Some(path) = line.files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = one(&dataset, path, &files, line.machine.as_deref(), &claimed, plan.rows);
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
    };
    thread::scope(|scope| {
        // A thread that cannot be created is not needed: this one takes all traces that no other takes.
        for _ in 1..plan.jobs {
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
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
        let added = counted(outcome.added, "trace");
        let events = counted(outcome.events, "event");
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

/// How many traces are added at the same time, and the memory for the rows of each.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    jobs: usize,
    rows: usize,
}

const MIB: usize = 1 << 20;
/// The memory of the program itself, and of the buffers and the call stacks of one trace.
const PROGRAM: usize = 64 * MIB;
const TRACE: usize = 128 * MIB;
/// The memory for the rows of one trace: the minimum, what an additional job should have, and the maximum.
const MIN_ROWS: usize = 16 * MIB;
const GOOD_ROWS: usize = 64 * MIB;
const MAX_ROWS: usize = 128 * MIB;

impl Plan {
    /// Adapts the work to a limited address space: an allocation that fails would end the program without a message.
    fn new(limit: Option<usize>, jobs: usize) -> Result<Self, Failure> {
        let Some(limit) = limit else { return Ok(Self { jobs, rows: MAX_ROWS }) };
        let minimum = PROGRAM + TRACE + MIN_ROWS;
        if limit < minimum {
            let limit = limit / MIB;
            let minimum = minimum / MIB;
            return Err(Failure::Usage(format!(
                "the address space of this process is limited to {limit} MiB, and a dataset needs {minimum} MiB: raise the limit \
                 (ulimit -v)"
            )));
        }
        let rest = limit - PROGRAM;
        let jobs = jobs.min(rest / (TRACE + GOOD_ROWS)).max(1);
        Ok(Self { jobs, rows: (rest / jobs - TRACE).min(MAX_ROWS) })
    }
}

/// The limit of this process's address space in bytes, if it has one.
fn address_space() -> Option<usize> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
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
    rows: usize,
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
    let mut addition = dataset.add(id, path, machine, rows).map_err(unwritten)?;
    while let Some((Some(event), decoder)) = &mut traces.next_in_place() {
        addition.event(event, decoder).map_err(unwritten)?;
    }
    let is_whole = traces.check().map_err(text);
    let (events, left_out) = addition.finish(is_whole.as_ref().err().map(String::as_str)).map_err(unwritten)?;
    Ok(Added::Written(events, left_out, is_whole))
}

#[cfg(test)]
mod tests {
    use super::{MAX_ROWS, MIB, Plan};

    #[test]
    fn a_limited_address_space_means_fewer_jobs_with_less_memory() {
        let plan = |limit: usize| Plan::new(Some(limit * MIB), 8).unwrap();
        assert_eq!(Plan::new(None, 8).unwrap(), Plan { jobs: 8, rows: MAX_ROWS });
        assert_eq!(plan(208), Plan { jobs: 1, rows: 16 * MIB });
        assert_eq!(plan(447), Plan { jobs: 1, rows: MAX_ROWS });
        assert_eq!(plan(448), Plan { jobs: 2, rows: 64 * MIB });
        assert_eq!(plan(4096), Plan { jobs: 8, rows: MAX_ROWS });
        assert!(Plan::new(Some(207 * MIB), 1).is_err());
    }
}
