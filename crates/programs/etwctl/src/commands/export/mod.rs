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
    let (mut spans, mut origins): (Pairs<Span>, Traced) = (Pairs::new(MAX_OPEN), Traced::default());
    while let Some((event, decoder)) = traces.next() {
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
        origins.note(&event);
        batch.log(&event, &decoded, &origins);
        span(&event, &decoded, &mut spans, &origins, &mut batch);
        if batch.is_full() {
            target.send(&mut batch)?;
        }
    }
    traces.done();
    // A start without a stop is no span: its end is not known. Its event is a log.
    let open = spans.finish().len();
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

/// Adds a span if an activity ends.
fn span(event: &EventRef<'_>, decoded: &Decoded, spans: &mut Pairs<Span>, traced: &Traced, batch: &mut Batch) {
    match Role::from_event(event) {
        // The log of the event remains.
        Some(Role::Start) if spans.repeats(event) => {}
        Some(Role::Start) => {
            // What does not fit into memory has no end.
            let _ = spans.start(event, decoded, Span::new(event, decoded, traced), COST);
        }
        Some(Role::Stop) => {
            if let Some(span) = spans.stop(event, decoded).start {
                batch.span(&span, event);
            }
        }
        None => {}
    }
}
