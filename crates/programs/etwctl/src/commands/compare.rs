//! `compare`.

use std::path::{Path, PathBuf};
use std::slice;

use command_line::{exit, note, shown};
use etw_etl::compare::{Comparison, Difference, Entry, Part, compare as compare_entries};

use super::{purpose, schemas};
use crate::cli::Compare;
use crate::context::Context;
use crate::failure::Failure;
use crate::input::{Progress, Schemas, Traces};
use crate::output::{Json, object};
use crate::select::Selection;
use crate::values::counted;

/// The maximum number of events of a trace. They are held in memory.
const MAX_EVENTS: usize = 200_000;

/// Compares two traces.
pub(super) fn compare(context: &Context<'_>, line: &Compare) -> Result<(), Failure> {
    if line.first == line.second {
        return Err(Failure::Usage(format!("{} is compared with itself: name two traces", shown(&line.first))));
    }
    let files = schemas::files(&line.schemas)?;
    let (first, first_damage) = entries(&line.first, line, &files)?;
    let (second, second_damage) = entries(&line.second, line, &files)?;
    let comparison = compare_entries(&first, &second);
    let sides = [(line.first.as_path(), first.len()), (line.second.as_path(), second.len())];
    if context.is_json {
        context.record(document(&comparison, sides))?;
    } else {
        context.done(&text(&comparison, sides))?;
    }
    // A part of a trace that could not be read may hold further differences.
    if let (Err(first), Err(_)) = (&first_damage, &second_damage) {
        first.report();
    }
    second_damage.and(first_damage)?;
    if comparison.is_empty() {
        return Err(Failure::Lost("nothing was compared: no trace has a selected event".to_owned()));
    }
    if comparison.is_same() { Ok(()) } else { Err(Failure::Reported(exit::FINDINGS)) }
}

/// The compared events of a trace, and whether all of it could be read.
fn entries(path: &PathBuf, line: &Compare, files: &Schemas) -> Result<(Vec<Entry>, Result<(), Failure>), Failure> {
    let mut traces = Traces::open(slice::from_ref(path), files, Progress::new(false), false)?;
    let mut selection = Selection::from_args(&line.selected).start(traces.next_time().unwrap_or_default());
    let mut entries = Vec::new();
    while let Some((event, decoder)) = traces.next() {
        if purpose::is_about_others(&event) {
            continue;
        }
        if selection.is_over(&event) {
            break;
        }
        if !selection.may_take(&event) {
            continue;
        }
        let decoded = decoder.decode(&event);
        if !selection.takes(&event, &decoded) {
            continue;
        }
        if entries.len() == MAX_EVENTS {
            let text =
                "has more events than can be compared; select fewer with --provider, --level, --where, --from or --to";
            return Err(Failure::Usage(format!("{} {text}", shown(path))));
        }
        entries.push(Entry::new(&event, &decoded, &line.ignored));
    }
    traces.done();
    for text in selection.notes() {
        note(&format!("{}: {text}", shown(path)));
    }
    let is_whole = traces.check();
    Ok((entries, is_whole))
}

/// The comparison for people.
fn text(comparison: &Comparison, [first, second]: [(&Path, usize); 2]) -> String {
    let events = |(path, count): (&Path, usize)| {
        format!("{}: {}", shown(path), counted(u64::try_from(count).unwrap_or(u64::MAX), "event"))
    };
    let mut lines = vec![format!("first   {}", events(first)), format!("second  {}", events(second))];
    for difference in &comparison.differences {
        match difference {
            Difference::OnlyFirst { position, event } => {
                lines.push(format!("- {}: only in the first trace, as event {position}", escaped(event)));
            }
            Difference::OnlySecond { position, event } => {
                lines.push(format!("+ {}: only in the second trace, as event {position}", escaped(event)));
            }
            Difference::Changed { positions: (one, other), event, parts } => {
                lines.push(format!("~ {}: event {one} in the first trace, {other} in the second", escaped(event)));
                for Part { name, first, second } in parts {
                    let value = |value: &Option<String>| value.as_deref().map_or("(none)".into(), escaped);
                    lines.push(format!("    {}: {} | {}", escaped(name), value(first), value(second)));
                }
            }
        }
    }
    lines.push(match comparison.differences.len() {
        0 if comparison.is_empty() => "nothing was compared".to_owned(),
        0 => "the traces are the same".to_owned(),
        count => format!("the traces differ: {}", counted(u64::try_from(count).unwrap_or(u64::MAX), "difference")),
    });
    lines.join("\n")
}

fn escaped(text: &str) -> String {
    etw_etl::escaped(text).into_owned()
}

/// The members of the JSON document.
fn document(comparison: &Comparison, [first, second]: [(&Path, usize); 2]) -> Vec<(&'static str, Json)> {
    let side = |(path, events): (&Path, usize)| {
        object([("file", path.to_string_lossy().into_owned().into()), ("events", events.into())])
    };
    let result = match comparison {
        comparison if comparison.is_empty() => "nothing",
        comparison if comparison.is_same() => "same",
        _ => "different",
    };
    vec![
        ("result", result.into()),
        ("first", side(first)),
        ("second", side(second)),
        ("common", comparison.common.into()),
        ("differences", comparison.differences.iter().map(json).collect()),
    ]
}

/// A difference as an object.
fn json(difference: &Difference) -> Json {
    let members = |kind: &str, event: &str, first: Option<usize>, second: Option<usize>, parts: &[Part]| {
        let part = |Part { name, first, second }: &Part| {
            object([("name", name.as_str().into()), ("first", first.clone().into()), ("second", second.clone().into())])
        };
        object([
            ("kind", kind.into()),
            ("event", event.into()),
            ("first", first.into()),
            ("second", second.into()),
            ("parts", parts.iter().map(part).collect()),
        ])
    };
    match difference {
        Difference::OnlyFirst { position, event } => members("only-first", event, Some(*position), None, &[]),
        Difference::OnlySecond { position, event } => members("only-second", event, None, Some(*position), &[]),
        Difference::Changed { positions: (one, other), event, parts } => {
            members("changed", event, Some(*one), Some(*other), parts)
        }
    }
}
