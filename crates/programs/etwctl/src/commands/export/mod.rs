//! `export`: events as logs and activities as spans of OpenTelemetry.

mod otlp;
mod target;
#[cfg(feature = "tls")]
mod tls;

use etw_etl::pair::{Pairs, Role};
use etw_etl::{Decoded, EventRef};

use super::schemas;
use crate::cli::Export;
use crate::context::Context;
use crate::failure::Failure;
use crate::input::{Progress, Traces};
use crate::select::Selection;
use otlp::{Batch, Span, Traced};
use target::Target;

/// Maximum memory for activities whose end is awaited, in bytes, and the cost of one.
const MAX_OPEN: usize = 64 * 1024 * 1024;
const COST: usize = 512;

/// Exports the events of traces.
pub(super) fn export(context: &Context<'_>, line: &Export) -> Result<(), Failure> {
    let inputs = schemas::inputs(&line.schemas).files(&line.files).and(&context.inputs);
    let mut target = Target::open(&line.otlp, inputs)?;
    let files = schemas::files(&line.schemas)?;
    let mut traces = Traces::open(&line.files, &files, Progress::new(false), false)?;
    let mut selection = Selection::from_args(&line.selected).start(traces.next_time().unwrap_or_default());
    let computer = traces.names().find_map(|(names, _)| names.computer().map(str::to_owned));
    let session = traces.header().map(|header| header.logger_name.clone()).unwrap_or_default();
    let mut batch = Batch::new(&session, computer.as_deref());
    let mut spans = Spans::default();
    while let Some((event, decoder)) = traces.next() {
        spans.origins.note(&event);
        let role = Role::from_event(&event);
        let is_possible = selection.may_take(&event);
        if !is_possible && role.is_none() {
            continue;
        }
        let decoded = decoder.decode(&event);
        let is_selected = is_possible && selection.takes(&event, &decoded);
        if is_selected {
            batch.log(&event, &decoded, &spans.origins);
        }
        if let Some(role) = role {
            spans.read(&event, role, &decoded, is_selected, &mut batch);
        }
        if batch.is_full() {
            target.send(&mut batch)?;
        }
    }
    traces.done();
    // A start without a stop is not a span: its end is not known. Its event is a log.
    let open = spans.pairs.finish().into_iter().flatten().count();
    target.send(&mut batch)?;
    let (logs, ended) = batch.counts();
    target.finish()?;
    command_line::info(&format!("{logs} logs and {ended} spans; {open} activities have no end in the trace"));
    for text in selection.notes() {
        command_line::note(&text);
    }
    selection.check()?;
    traces.check()
}

/// Activities, from all events of the traces, whatever is selected. A span is selected by its start, and keeps its end.
struct Spans {
    /// What has begun; `None` if it is not selected.
    pairs: Pairs<Option<Span>>,
    origins: Traced,
}

impl Default for Spans {
    fn default() -> Self {
        Self { pairs: Pairs::new(MAX_OPEN), origins: Traced::default() }
    }
}

impl Spans {
    /// Reads a start or a stop, and adds a span if a selected activity ends.
    fn read(&mut self, event: &EventRef<'_>, role: Role, decoded: &Decoded, is_selected: bool, batch: &mut Batch) {
        match role {
            // The log of the event remains.
            Role::Start if self.pairs.repeats(event) => {}
            Role::Start => {
                let span = is_selected.then(|| Span::new(event, decoded, &self.origins));
                // What does not fit into memory has no end.
                let _ = self.pairs.start(event, decoded, span, COST);
            }
            Role::Stop => {
                if let Some(Some(span)) = self.pairs.stop(event, decoded).start {
                    batch.span(&span, event);
                }
            }
        }
    }
}
