//! Measures writing events to a file session of the engine, compared with LTTng-UST.

use std::fs;

use super::lttng::Lttng;
use super::{Findings, Settings};
use crate::report::{Bound, Cell, Goal, Origin, Section};
use crate::stats::{median, paired_ratio, ratios, spread};
use crate::step::program::between_marks;
use crate::tools::{required_number, worker, worker_command};

const TEXT: &str = "\
E2 events are written in a tight loop to a session that writes a file. Each side has 128 buffers of 256 KiB for each processor. An event \
for which no buffer becomes free is lost and counted. *Recorded per second* is the number of events in the file per second of writing. LTTng-UST \
writes the same three fields without a context: its records have a time stamp, but no process, thread, provider or schema, which an \
ETW record has. The two sides run in turns. Instructions are those of the writing thread, counted by single steps; a system call counts as one, and so does reading the clock.";
/// Runs of each side, in turns. A quick run has as many, because single pairs differ by a factor of two.
const PAIRS: usize = 7;
/// Events of each thread in a run. With fewer, all records of LTTng-UST, which are smaller, fit into its buffers, so its writers
/// need not keep pace with its consumer.
const EVENTS: u64 = 1_000_000;

/// One run of either side.
#[derive(Clone, Copy, Debug)]
struct Written {
    nanoseconds: f64,
    events: f64,
    lost: f64,
    bytes: f64,
}

impl Written {
    fn recorded_per_second(&self) -> f64 {
        (self.events - self.lost) / self.nanoseconds * 1e9
    }
}

/// Measures both sides.
///
/// # Errors
///
/// Returns an error if our side fails. If `LTTng` is not available, its rows say so.
pub fn engine(settings: &Settings) -> Result<Findings, String> {
    let columns = ["what", "ns per event", "recorded per s", "MB per s", "lost %", "instructions"];
    let mut section = Section::new("Engine", TEXT, &columns);
    let peer = Lttng::new(settings);
    let mut goals = Vec::new();
    for threads in [1, 2, 4] {
        let mut ours = Vec::new();
        let mut theirs: Result<Vec<Written>, String> = Ok(Vec::new());
        for _ in 0..PAIRS {
            ours.push(write(settings, threads)?);
            theirs = match (&peer, theirs) {
                (Ok(peer), Ok(mut list)) => peer_write(peer, threads).map(|run| {
                    list.push(run);
                    list
                }),
                (Err(error), _) => Err(error.clone()),
                (_, Err(error)) => Err(error),
            };
        }
        let stepped = if threads == 1 { Some(stepped(settings, 0)?) } else { None };
        let peer_stepped = peer.as_ref().ok().filter(|_| threads == 1).and_then(|peer| peer_stepped(peer).ok());
        row(&mut section, &format!("etw-engine, {threads} thread(s)"), &ours, stepped);
        match &theirs {
            Ok(list) => {
                row(&mut section, &format!("LTTng-UST, {threads} thread(s)"), list, peer_stepped);
            }
            Err(error) => section.skipped(&format!("LTTng-UST, {threads} thread(s)"), error),
        }
        goals.push(rate(threads, &ours, theirs.as_deref()));
        if let Some(stepped) = stepped {
            let ratio = peer_stepped.map(|theirs| stepped / theirs);
            let what = "engine, E2 to a file: instructions, ratio to LTTng-UST";
            goals.push(instructions(what, Origin::Peer, 1.0, ratio));
            let more = (self::stepped(settings, OTHERS)? - stepped).round();
            let what = "engine, E2, instructions more with 7 sessions for another keyword";
            goals.push(instructions(what, Origin::Target, 10.0, Some(more)));
        }
    }
    Ok(Findings { sections: vec![section], goals })
}

/// The goal of a rate at least as high as the peer's.
fn rate(threads: u64, ours: &[Written], theirs: Result<&[Written], &String>) -> Goal {
    let pairs: Vec<(f64, f64)> = theirs
        .iter()
        .copied()
        .flatten()
        .zip(ours)
        .map(|(theirs, ours)| (ours.recorded_per_second(), theirs.recorded_per_second()))
        .collect();
    let spread = spread(&ratios(&pairs), 2, "");
    Goal {
        what: format!("engine, E2 to a file, {threads} thread(s): rate, ratio to LTTng-UST"),
        limit: 1.0,
        bound: Bound::AtLeast,
        origin: Origin::Peer,
        measured: paired_ratio(&pairs),
        everywhere: false,
        why: explain(ours, theirs.unwrap_or_default()),
        note: theirs
            .err()
            .map_or_else(|| format!("median of {} pairs{spread}", pairs.len()), |error| format!("skipped: {error}")),
    }
}

/// A goal for a number of stepped instructions.
fn instructions(what: &str, origin: Origin, limit: f64, measured: Option<f64>) -> Goal {
    Goal {
        what: String::from(what),
        limit,
        bound: Bound::AtMost,
        origin,
        measured,
        // The count includes functions of the system's C library, which differ between systems.
        everywhere: false,
        why: String::new(),
        note: String::from("single steps"),
    }
}

/// Explains the difference.
fn explain(ours: &[Written], theirs: &[Written]) -> String {
    let bytes =
        |runs: &[Written]| median(&runs.iter().map(|run| run.bytes / (run.events - run.lost)).collect::<Vec<_>>());
    match (bytes(ours), bytes(theirs)) {
        (Some(ours), Some(theirs)) => format!(
            "An ETW record has provider, process, thread, activity, schema and traits: {ours:.0} bytes per event, compared with {theirs:.0} \
             for LTTng-UST. All of them are gathered, copied and written."
        ),
        _ => String::new(),
    }
}

fn row(section: &mut Section, name: &str, runs: &[Written], stepped: Option<f64>) {
    let middle = |value: fn(&Written) -> f64| median(&runs.iter().map(value).collect::<Vec<_>>());
    let how = format!("{} runs of {EVENTS} events for each thread, median", runs.len());
    section.row(
        vec![
            Cell::text(name),
            Cell::number(middle(|run| run.nanoseconds / run.events), 1),
            Cell::number(middle(Written::recorded_per_second), 0),
            Cell::number(middle(|run| run.bytes / run.nanoseconds * 1e3), 1),
            Cell::number(middle(|run| 100.0 * run.lost / run.events), 2),
            Cell::number(stepped, 0),
        ],
        if stepped.is_some() { format!("{how}; instructions stepped over {STEPPED} events") } else { how },
    );
}

fn write(settings: &Settings, threads: u64) -> Result<Written, String> {
    let file = settings.scratch("engine.etl");
    let path = file.display().to_string();
    let output = worker(&["engine", &EVENTS.to_string(), &threads.to_string(), &path]);
    let _ = fs::remove_file(&file);
    let output = output?;
    let get = |name| required_number(&output, name);
    Ok(Written { nanoseconds: get("writing_ns")?, events: total(threads), lost: get("lost")?, bytes: get("bytes")? })
}

fn peer_write(peer: &Lttng, threads: u64) -> Result<Written, String> {
    let run = peer.write(EVENTS, threads)?;
    Ok(Written { nanoseconds: run.nanoseconds, events: total(threads), lost: run.lost, bytes: run.bytes })
}

#[expect(clippy::cast_precision_loss, reason = "a few million")]
fn total(threads: u64) -> f64 {
    (EVENTS * threads) as f64
}

/// The number of events that are executed in single steps.
const STEPPED: u64 = 50;

/// Returns the instructions per event: those of many events minus those of none.
fn per_event(mut count: impl FnMut(u64) -> Result<u64, String>) -> Result<f64, String> {
    let many = count(STEPPED)?;
    let none = count(0)?;
    #[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^53")]
    Ok(many.saturating_sub(none) as f64 / STEPPED as f64)
}

/// The number of sessions that do not want the events. One more session wants them; a provider can have eight.
const OTHERS: u64 = 7;

fn stepped(settings: &Settings, others: u64) -> Result<f64, String> {
    let file = settings.scratch("stepped.etl");
    let path = file.display().to_string();
    let counted = per_event(|events| {
        let events = events.to_string();
        let others = others.to_string();
        between_marks(&mut worker_command(&["engine-stepped", &events, &others, &path])?)
    });
    let _ = fs::remove_file(&file);
    counted
}

fn peer_stepped(peer: &Lttng) -> Result<f64, String> {
    per_event(|events| peer.stepped(events))
}
