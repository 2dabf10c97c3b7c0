//! `top`: who used the processor, the disks, the network and so on.

mod cpu;
mod io;
mod network;
mod report;
mod tally;
mod timeline;

use etw_etl::{Clock, Decoder, EventRef, Threads};

use etw_types::session::mode::{BUFFERING, CIRCULAR};

use super::folded::function;
use super::schemas;
use crate::cli::{self, Per, Topic};
use crate::context::Context;
use crate::failure::Failure;
use crate::input::{Next, Progress, Traces};
use crate::select::Selection;
use report::Report;
use tally::Tally;

impl Topic {
    /// What a trace must have recorded.
    const fn needs(self) -> &'static str {
        match self {
            Self::Cpu => "samples (PROFILE) or context switches (CSWITCH)",
            Self::Disk => "disk events (DISK_IO), and names of files (DISK_FILE_IO)",
            Self::File => "file events (FILE_IO, FILE_IO_INIT), and names of files (DISK_FILE_IO)",
            Self::Memory => "hard page faults (MEMORY_HARD_FAULTS)",
            Self::Registry => "registry events (REGISTRY)",
            Self::Network => "network events (NETWORK_TCPIP), or those of Microsoft-Windows-Kernel-Network",
            Self::Images => "image events (IMAGE_LOAD)",
            Self::Dpc => "interrupt events (INTERRUPT, DPC)",
            Self::Heap => {
                "events of a heap session, or of Microsoft-Windows-DotNETRuntime (keyword 0x1, level verbose)"
            }
            Self::Gc => "events of Microsoft-Windows-DotNETRuntime (keyword 0x1)",
        }
    }
}

/// How an event is decoded.
struct Decoders<'a> {
    /// With the built-in layouts, for all that is measured: what another schema calls fields and events changes no row.
    layouts: &'a mut Decoder,
    /// With the schemas of the trace and of the user, for the conditions of the selection.
    named: &'a mut Decoder,
}

/// The time of an event, and its trace.
struct Moment<'a> {
    time: i64,
    /// The number of the trace.
    trace: usize,
    clock: &'a Clock,
    threads: &'a Threads,
}

/// Adds events to a summary. It sees every event of the traces, whatever is selected.
trait Analyzer {
    fn event(&mut self, event: &EventRef<'_>, now: &Moment<'_>, decoders: &mut Decoders<'_>, report: &mut Report<'_>);
    /// Adds what lasts until the end.
    fn finish(&mut self, _report: &mut Report<'_>) {}
    /// What the reader of the summary must know about it, after the last event.
    fn note(&self) -> Option<String> {
        None
    }
}

/// The hook id of a kernel event: group and type.
fn hook(event: &EventRef<'_>) -> Option<u16> {
    event.header.layout.is_kernel().then_some(event.header.descriptor.id)
}

/// The number of processors, and whether the session overwrote the oldest events.
fn machine(traces: &Traces) -> (u16, bool) {
    let processors = traces.headers().map(|(header, _)| header.processors).max().unwrap_or_default();
    let is_circular = traces.headers().any(|(header, _)| header.log_file_mode & (CIRCULAR | BUFFERING) != 0);
    (u16::try_from(processors).unwrap_or(u16::MAX), is_circular)
}

/// Summarises traces.
pub(super) fn top(context: &Context<'_>, line: &cli::Top) -> Result<(), Failure> {
    if line.per != Per::Process && line.by != Topic::Cpu {
        return Err(Failure::Usage("--per is for --by cpu".to_owned()));
    }
    let files = schemas::files(&line.schemas)?;
    let mut traces = Traces::open(&line.files, &files, Progress::new(false), false)?;
    let mut selection = Selection::from_args(&line.selected).start(traces.next_time().unwrap_or_default());
    let (mut analyzer, mut tally): (Box<dyn Analyzer>, Tally) = match line.by {
        Topic::Cpu => {
            let (processors, is_circular) = machine(&traces);
            (Box::new(cpu::Cpu::new(line.per, processors, is_circular)), cpu::Cpu::tally(line.per))
        }
        topic => (Box::new(io::Operations::new(topic)), io::Operations::tally(topic)),
    };
    let mut report = Report::new(&mut tally, &mut selection);
    while let Some(Next { event, decoder, layouts, trace, clock, threads }) = traces.next_of() {
        let now = Moment { time: event.header.time.0, trace, clock: &clock, threads };
        analyzer.event(&event, &now, &mut Decoders { layouts, named: decoder }, &mut report);
    }
    analyzer.finish(&mut report);
    let Report { has_any, has_checked, .. } = report;
    traces.done();
    let is_empty = tally.is_empty();
    let most = line.rows.unwrap_or(if context.is_json { usize::MAX } else { 25 });
    let (table, left_out) = tally.table(most);
    context.table(table)?;
    if is_empty && has_any {
        command_line::note("nothing of this is selected");
    } else if is_empty {
        command_line::note(&format!("the trace has nothing for this; record {}", line.by.needs()));
    } else if left_out > 0 {
        command_line::note(&format!("{left_out} more rows; --rows N shows more"));
    }
    if let Some(note) = analyzer.note() {
        command_line::note(&note);
    }
    if has_checked {
        selection.check()?;
    }
    traces.check()
}
