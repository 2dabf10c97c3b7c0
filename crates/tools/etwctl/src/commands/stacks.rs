//! `stacks`.

use std::collections::HashMap;
use std::io::{self, IsTerminal, Write};

use command_line::Content;
use etw_etl::escaped;

use super::schemas;
use crate::cli::Stacks;
use crate::context::{Context, Failure};
use crate::input::{Progress, Traces};
use crate::output::Output;
use crate::select::Selection;

/// The maximum number of different stacks. Further ones are counted together.
const MOST_STACKS: usize = 1_000_000;

/// Writes the call stacks of events in the folded format of flame graphs: the process, the frames from the outermost to the
/// innermost, and the event's name, with semicolons between them, and a count.
pub(super) fn stacks(context: &Context<'_>, line: &Stacks) -> Result<(), Failure> {
    Output::check(line.output.as_deref(), &schemas::inputs(&line.schemas).files(&line.files).and(&context.inputs))?;
    let files = schemas::files(&line.schemas)?;
    let mut out = Output::of(line.output.as_deref(), Content::Plain)?;
    let progress = Progress::new(line.output.is_none() && io::stdout().is_terminal());
    let mut traces = Traces::open(&line.files, &files, progress, false)?;
    let mut selection = Selection::of(&line.selected).start(traces.next_time().unwrap_or_default());
    let (mut folded, mut more): (HashMap<String, u64>, u64) = (HashMap::new(), 0);
    let (mut events, mut with_stack) = (0_u64, 0_u64);
    while let Some((event, decoder)) = traces.next() {
        if !selection.may_take(&event) || !selection.takes_lazily(&event, decoder) {
            continue;
        }
        events += 1;
        let Some(addresses) = event.stack().filter(|frames| !frames.is_empty()) else { continue };
        with_stack += 1;
        let process = event.stack_process();
        let identity = decoder.identify(&event);
        let name =
            identity.event.as_deref().map_or_else(|| format!("event {}", event.header.descriptor.id), str::to_owned);
        let mut frames = decoder.frames(&event);
        if frames.is_empty() {
            frames = addresses.iter().map(|address| format!("{address:#x}")).collect();
        }
        let mut key = process.map_or_else(|| "process ?".to_owned(), |process| format!("process {process}"));
        for frame in frames.iter().rev() {
            key.push(';');
            key.push_str(&escaped(frame).replace(';', ":"));
        }
        key.push(';');
        // A semicolon or a line end in a name would break the format.
        key.push_str(&escaped(&name).replace(';', ":"));
        if folded.len() < MOST_STACKS || folded.contains_key(&key) {
            *folded.entry(key).or_default() += 1;
        } else {
            more += 1;
        }
    }
    let mut rows: Vec<_> = folded.into_iter().collect();
    rows.sort_by(|(one, a), (other, b)| b.cmp(a).then_with(|| one.cmp(other)));
    if more > 0 {
        rows.push((format!("(more than {MOST_STACKS} different stacks)"), more));
    }
    for (stack, count) in rows {
        if context.is_json {
            let members = vec![("stack", stack.into()), ("count", count.into())];
            writeln!(out, "{}", crate::output::document(members))?;
        } else {
            writeln!(out, "{stack} {count}")?;
        }
    }
    out.finish()?;
    traces.done();
    command_line::say(&format!("{with_stack} of {events} events have a call stack"));
    traces.check()
}
