//! `profile`: samples and events for the Firefox Profiler, and samples for pprof.

mod firefox;
mod pprof;

use command_line::Content;
use etw_etl::format::record::Layout;
use etw_etl::{Decoder, EventRef, FileTime};

use super::schemas;
use crate::cli;
use crate::context::Context;
use crate::failure::Failure;
use crate::input::{Progress, Traces};
use crate::output::Destination;
use crate::select::Selection;
use firefox::Firefox;
use pprof::Pprof;

/// `PerfInfo/SampleProfile`.
const SAMPLE: u16 = 0x0F2E;

/// A sample of the processor: a process, a thread and frames, the outermost first.
struct Sample {
    frames: Vec<String>,
    count: u64,
}

impl Sample {
    /// The stack of a sample, or the function that was sampled if there is no stack.
    fn new(event: &EventRef<'_>, decoder: &mut Decoder) -> Self {
        let (mut address, mut count) = (0, 1);
        decoder.visit(event, &mut |field, value| match (&*field.name, value) {
            ("InstructionPointer", etw_types::tracelogging::Value::Hex(number)) => address = number,
            ("Count", etw_types::tracelogging::Value::Unsigned(number)) => count = number,
            _ => {}
        });
        let mut frames = decoder.frames(event);
        if frames.is_empty() {
            frames = match event.stack() {
                Some(stack) => stack.iter().map(|address| format!("{address:#x}")).collect(),
                None => decoder.frame(event.header.process_id.unwrap_or_default(), event.header.stamp, address),
            };
        }
        if frames.is_empty() {
            frames.push(format!("{address:#x}"));
        }
        frames.reverse();
        Self { frames, count }
    }
}

/// Returns whether an event is a sample of the processor.
pub(super) fn is_sample(event: &EventRef<'_>) -> bool {
    let is_kernel = matches!(event.header.layout, Layout::System | Layout::Compact | Layout::PerfInfo);
    is_kernel && event.header.descriptor.id == SAMPLE
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
    while let Some((event, decoder)) = traces.next() {
        if selection.is_over(&event) {
            break;
        }
        if !selection.may_take(&event) || !selection.takes_lazily(&event, decoder) {
            continue;
        }
        match (is_sample(&event), line.format) {
            (true, format) => {
                samples += 1;
                let sample = Sample::new(&event, decoder);
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
