//! `decode`.

use std::io::{self, IsTerminal};
use std::thread;
use std::time::Duration;

use command_line::{Content, Inputs, Outputs, info, note, shown};
use etw_etl::export::{Form, Pcapng};
use etw_etl::{About, Exporter, FileTime, Format};

use super::schemas;
use super::unnamed::Unnamed;
use crate::cli::{Decode, Formats};
use crate::context::Context;
use crate::failure::Failure;
use crate::input::{Progress, Traces};
use crate::output::{Destination, Sink};
use crate::platform::interrupted;
use crate::select::Selection;
use crate::values;

/// The time between two looks at a growing file.
const LOOK: Duration = Duration::from_millis(100);

/// The format that the options choose, if any.
pub(super) fn format(context: &Context<'_>, formats: &Formats) -> Result<Option<Format>, Failure> {
    if !context.is_json {
        return Ok(formats.switch.0);
    }
    if formats.pcapng || formats.parquet.is_some() {
        return Err(Failure::Usage("--json cannot be used with --parquet or --pcapng".to_owned()));
    }
    match formats.switch.0 {
        Some(format) => Err(Failure::Usage(format!("--json cannot be used with --{}", format.name()))),
        None => Ok(Some(Format::JsonLines)),
    }
}

/// What a terminal gets to see of a format.
pub(super) const fn content(format: Format, has_colours: bool) -> Content {
    match format.form() {
        Form::Csv => Content::Csv,
        Form::Text if has_colours => Content::Coloured,
        _ => Content::Plain,
    }
}

/// The width of the terminal; `None` if standard output is not a terminal.
pub(super) fn terminal_width() -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(io::stdout())?;
    Some(width.0.into())
}

/// Prints the events of files.
pub(super) fn decode(context: &Context<'_>, line: &Decode) -> Result<(), Failure> {
    let is_terminal = line.output.is_none() && io::stdout().is_terminal();
    let format = format(context, &line.formats)?.unwrap_or(if is_terminal { Format::Table } else { Format::Text });
    if line.follow && (line.files.len() > 1 || line.files.iter().any(|file| file.as_os_str() == "-")) {
        return Err(Failure::Usage("--follow needs exactly one file, which is not standard input".to_owned()));
    }
    let inputs = schemas::inputs(&line.schemas).files(&line.files).and(&context.inputs);
    let destination = Destination::check("--output", line.output.as_ref(), inputs.clone())?;
    let files = schemas::files(&line.schemas)?;
    let progress = Progress::new(is_terminal || line.follow);
    let mut traces = Traces::open(&line.files, &files, progress, line.follow)?;
    if line.formats.parquet.is_some() {
        traces.leave_frames_unnamed();
    }
    let origin = traces.next_time().unwrap_or_default();
    let mut selection = Selection::from_args(&line.selected).start(origin);
    if line.follow {
        // From here on, an interrupt completes the output.
        interrupted();
    }
    let mut sink = sink(context, line, (&destination, inputs), format, origin, is_terminal)?;
    let most = line.count.unwrap_or(u64::MAX);
    let mut printed = Printed { count: 0, most, is_all: true, unnamed: Unnamed::default() };
    if line.follow {
        follow(&mut traces, &mut selection, &mut sink, &mut printed)?;
    } else {
        printed.print(&mut traces, &mut selection, &mut sink)?;
    }
    traces.done();
    let about = traces.reports().map(|(_, report)| About::from(report)).reduce(|one, other| one.and(&other));
    if let Some(text) = sink.finish(About { title: traces.title(), ..about.unwrap_or_default() })? {
        note(&text);
    }
    match traces.reports().collect::<Vec<_>>().as_slice() {
        [(_, report)] => format!("{} of {report}", printed.count).lines().for_each(info),
        reports => {
            for (path, report) in reports {
                format!("{}: {report}", shown(path)).lines().for_each(info);
            }
            info(&format!("{} printed", values::counted(printed.count, "event")));
        }
    }
    // If not all events were read, it is not known whether a name is missing.
    for text in selection.notes().into_iter().filter(|_| printed.is_all) {
        note(&text);
    }
    printed.unnamed.print_notes();
    if printed.is_all {
        selection.check()?;
    }
    traces.check()
}

/// The output of the events.
fn sink(
    context: &Context<'_>,
    line: &Decode,
    (destination, inputs): (&Destination, Inputs),
    format: Format,
    origin: FileTime,
    is_terminal: bool,
) -> Result<Sink, Failure> {
    if let Some(dir) = &line.formats.parquet {
        if line.output.is_some() {
            return Err(Failure::Usage("--output cannot be used with --parquet, which names the folder".to_owned()));
        }
        return Sink::parquet(&Outputs::new(inputs).dir(dir));
    }
    if line.formats.pcapng && is_terminal {
        return Err(Failure::Usage("a pcapng file cannot go to a terminal: name a file with --output".to_owned()));
    }
    let has_colours = context.has_colour && line.output.is_none();
    let out = destination.create(content(format, has_colours))?;
    if line.formats.pcapng {
        return Ok(Sink::Packets(Box::new(Pcapng::new(out)?)));
    }
    // The events of one kind have the same fields, so each field gets a column.
    let has_columns = format == Format::Csv && line.selected.events.len() == 1;
    let format = if has_columns { Format::CsvFields } else { format };
    let mut exporter = Exporter::new(out, format)?.since(origin);
    if has_colours {
        exporter = exporter.with_colours();
    }
    if let Some(width) = terminal_width().filter(|_| is_terminal) {
        exporter = exporter.with_width(width);
    }
    Ok(Sink::Export(Box::new(exporter)))
}

/// The number of printed events, its maximum, and whether all events were read.
struct Printed {
    count: u64,
    most: u64,
    is_all: bool,
    unnamed: Unnamed,
}

impl Printed {
    /// Prints the events that the traces have now.
    fn print(&mut self, traces: &mut Traces, selection: &mut Selection, sink: &mut Sink) -> Result<(), Failure> {
        while let Some((event, decoder)) = traces.next() {
            self.unnamed.look_at(&event);
            if self.is_all && selection.is_over(&event) {
                self.is_all = false;
            }
            if !self.is_all && !sink.awaits_ends() {
                break;
            }
            if !self.is_all || !selection.may_take(&event) {
                if sink.needs_unselected(&event) {
                    sink.unselected(&event, &decoder.decode(&event))?;
                }
                continue;
            }
            if self.count < self.most && selection.takes_undecoded(&event) && sink.flat(&event, decoder)? {
                self.count += 1;
                continue;
            }
            let decoded = decoder.decode(&event);
            let is_taken = selection.takes(&event, &decoded);
            if is_taken && self.count == self.most {
                self.is_all = false;
            }
            if !is_taken || !self.is_all {
                if sink.needs_unselected(&event) {
                    sink.unselected(&event, &decoded)?;
                }
                continue;
            }
            if decoded.event.is_none() && decoded.fields.is_empty() {
                self.unnamed.add(&event, decoded.provider.as_deref());
            }
            sink.event(&event, &decoded)?;
            self.count += 1;
        }
        Ok(())
    }
}

/// Prints the events that a growing file has and gets, until an interrupt or the last selected event.
fn follow(
    traces: &mut Traces,
    selection: &mut Selection,
    sink: &mut Sink,
    printed: &mut Printed,
) -> Result<(), Failure> {
    while !interrupted() {
        printed.print(traces, selection, sink)?;
        sink.flush()?;
        if !printed.is_all || printed.count >= printed.most {
            return Ok(());
        }
        thread::sleep(LOOK);
        traces.refresh()?;
    }
    printed.is_all = false;
    Ok(())
}
