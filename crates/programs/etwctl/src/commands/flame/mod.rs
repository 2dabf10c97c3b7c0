//! `flame`: a flame graph of the stacks of a trace.

mod svg;

use std::io::Write;

use command_line::Content;

use super::folded::{Counted, Folded, Offsets};
use super::schemas;
use crate::cli::Flame;
use crate::context::Context;
use crate::failure::Failure;
use crate::input::{Progress, Traces};
use crate::output::Destination;
use crate::select::Selection;

/// Writes a flame graph.
pub(super) fn flame(context: &Context<'_>, line: &Flame) -> Result<(), Failure> {
    let inputs = schemas::inputs(&line.schemas).files(&line.files).and(&context.inputs);
    let destination = Destination::check("--output", line.output.as_ref(), inputs)?;
    let files = schemas::files(&line.schemas)?;
    let mut out = destination.create(Content::Plain)?;
    let mut traces = Traces::open(&line.files, &files, Progress::new(line.output.is_none()), false)?;
    let mut selection = Selection::from_args(&line.selected).start(traces.next_time().unwrap_or_default());
    let names_events = !line.selected.events.is_empty() || !line.selected.providers.is_empty();
    let counted = if names_events { Counted::Events } else { Counted::Samples };
    let folded = Folded::read(&mut traces, &mut selection, Offsets::Dropped, counted);
    traces.done();
    let rows = folded.rows;
    let total: u64 = rows.iter().map(|(_, count)| count).sum();
    if line.folded {
        for (stack, count) in &rows {
            writeln!(out, "{stack} {count}")?;
        }
    } else {
        out.write_all(svg::render(&rows, &traces.title()).as_bytes())?;
    }
    out.finish()?;
    let with_stack = folded.with_stack;
    let events = folded.events;
    command_line::info(&format!("{total} stacks; {with_stack} of {events} events have a call stack"));
    if total == 0 && folded.has_stacks {
        command_line::note("none of the trace's stacks is selected; --event draws those of other events than samples");
    } else if total == 0 {
        command_line::note(
            "the trace has no stacks; record them with the session's stack classes or the property stacks",
        );
    }
    selection.check()?;
    traces.check()
}
