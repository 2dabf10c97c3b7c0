//! `profile`: samples and events for the Firefox Profiler, and samples for pprof.

mod firefox;
mod pprof;

use command_line::Content;
use etw_etl::{Decoder, EventRef, FileTime};
use etw_types::tracelogging::Value;

use super::schemas;
use crate::cli;
use crate::context::Context;
use crate::failure::Failure;
use crate::input::{Next, Progress, Traces};
use crate::output::Destination;
use crate::select::Selection;
use firefox::Firefox;
use pprof::Pprof;

/// What the trace does not tell of a sample.
const UNKNOWN_PROCESS: &str = "(unknown process)";
const UNKNOWN_FUNCTION: &str = "(unknown)";

/// `PerfInfo/SampleProfile`.
const SAMPLE: u16 = 0x0F2E;

/// A sample of the processor: a process, a thread and frames, the outermost first.
struct Sample {
    frames: Vec<String>,
    count: u64,
}

impl Sample {
    /// The stack of a sample, or the function that was sampled if there is no stack. `layouts` has the built-in layouts only.
    fn new(event: &EventRef<'_>, layouts: &mut Decoder) -> Self {
        let mut address = None;
        let mut count = 1;
        layouts.visit(event, &mut |field, value| match (&*field.name, value) {
            ("InstructionPointer", Value::Hex(number)) => address = Some(number),
            ("Count", Value::Unsigned(number)) => count = number,
            _ => {}
        });
        let mut frames = layouts.frames(event);
        if frames.is_empty() {
            let process = event.header.process_id.unwrap_or_default();
            frames = match (event.stack(), address) {
                (Some(stack), _) => stack.iter().map(|address| format!("{address:#x}")).collect(),
                (None, Some(address)) => layouts.frame(process, event.header.stamp, address),
                (None, None) => Vec::new(),
            };
        }
        if frames.is_empty() {
            frames.push(address.map_or_else(|| UNKNOWN_FUNCTION.to_owned(), |address| format!("{address:#x}")));
        }
        frames.reverse();
        Self { frames, count }
    }
}

/// Returns whether an event is a sample of the processor.
pub(super) fn is_sample(event: &EventRef<'_>) -> bool {
    event.header.layout.is_kernel() && event.header.descriptor.id == SAMPLE
}

/// Writes a profile.
pub(super) fn profile(context: &Context<'_>, line: &cli::Profile) -> Result<(), Failure> {
    let inputs = schemas::inputs(&line.schemas).files(&line.files).and(&context.inputs);
    let destination = Destination::check("--output", line.output.as_ref(), inputs)?;
    let files = schemas::files(&line.schemas)?;
    let mut traces = Traces::open(&line.files, &files, Progress::new(line.output.is_none()), false)?;
    let origin: FileTime = traces.next_time().unwrap_or_default();
    let mut selection = Selection::from_args(&line.selected).start(origin);
    let mut firefox = Firefox::new(&traces.title(), origin);
    let mut pprof = Pprof::new(origin);
    let mut samples = 0_u64;
    while let Some(Next { event, decoder, layouts, .. }) = traces.next_of() {
        if selection.is_over(&event) {
            break;
        }
        if !selection.may_take(&event) || !selection.takes_lazily(&event, decoder) {
            continue;
        }
        match (is_sample(&event), line.format) {
            (true, format) => {
                samples += 1;
                let sample = Sample::new(&event, layouts);
                match format {
                    cli::ProfileFormat::Firefox => firefox.sample(&event, decoder, &sample),
                    cli::ProfileFormat::Pprof => pprof.sample(&event, decoder, &sample),
                }
            }
            (false, cli::ProfileFormat::Firefox) => firefox.event(&event, decoder),
            (false, cli::ProfileFormat::Pprof) => {}
        }
    }
    traces.done();
    let mut out = destination.create(Content::Plain)?;
    let markers = firefox.markers();
    match line.format {
        cli::ProfileFormat::Firefox => firefox.write(&mut out)?,
        cli::ProfileFormat::Pprof => pprof.write(&mut out)?,
    }
    out.finish()?;
    let events =
        if line.format == cli::ProfileFormat::Firefox { format!(" and {markers} markers") } else { String::new() };
    command_line::info(&format!("{samples} samples{events}"));
    if samples == 0 {
        command_line::note("the trace has no samples of the processor; record the kernel's PROFILE events with stacks");
    }
    selection.check()?;
    traces.check()
}
