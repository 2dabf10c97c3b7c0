//! `stacks`.

use std::io::{self, IsTerminal, Write};

use command_line::Content;

use super::folded::{Counted, Folded, Offsets};
use super::schemas;
use crate::cli::Stacks;
use crate::context::Context;
use crate::failure::Failure;
use crate::input::{Progress, Traces};
use crate::output::Destination;
use crate::select::Selection;

/// Writes the call stacks of events in the folded format of flame graphs.
pub(super) fn stacks(context: &Context<'_>, line: &Stacks) -> Result<(), Failure> {
    let inputs = schemas::inputs(&line.schemas).files(&line.files).and(&context.inputs);
    let destination = Destination::check("--output", line.output.as_ref(), inputs)?;
    let files = schemas::files(&line.schemas)?;
    let mut out = destination.create(Content::Plain)?;
    let progress = Progress::new(line.output.is_none() && io::stdout().is_terminal());
    let mut traces = Traces::open(&line.files, &files, progress, false)?;
    let mut selection = Selection::from_args(&line.selected).start(traces.next_time().unwrap_or_default());
    let folded = Folded::read(&mut traces, &mut selection, Offsets::Kept, Counted::Events);
    for (stack, count) in folded.rows {
        if context.is_json {
            let members = vec![("stack", stack.into()), ("count", count.into())];
            writeln!(out, "{}", crate::output::document(members))?;
        } else {
            writeln!(out, "{stack} {count}")?;
        }
    }
    out.finish()?;
    traces.done();
    command_line::info(&format!("{} of {} events have a call stack", folded.with_stack, folded.events));
    selection.check()?;
    traces.check()
}
