//! `decode`.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use etw_etl::{About, Exporter, Format};

use super::schemas;
use crate::cli::{Decode, Formats};
use crate::context::{Context, Failure};
use crate::input::{Progress, Traces};
use crate::output::Output;
use crate::platform::interrupted;
use crate::select::Selection;
use crate::values;

/// How often a growing file is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// The format that the options ask for, if they do.
pub(super) fn format(context: &Context<'_>, formats: Formats) -> Result<Option<Format>, String> {
    let asked = [
        (formats.csv, "csv", Format::Csv),
        (formats.chrome, "chrome", Format::Chrome),
        (formats.html, "html", Format::Html),
        (formats.text, "text", Format::Text),
        (formats.table, "table", Format::Table),
    ];
    match asked.into_iter().find(|(is_asked, ..)| *is_asked) {
        Some((_, name, _)) if context.is_json => Err(format!("--json cannot be used with --{name}")),
        Some((_, _, format)) => Ok(Some(format)),
        None => Ok(context.is_json.then_some(Format::JsonLines)),
    }
}

/// The width of a terminal; `None` if standard output is none.
pub(super) fn terminal_width() -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(io::stdout())?;
    Some(width.0.into())
}

/// Prints the events of files.
pub(super) fn decode(context: &Context<'_>, line: &Decode) -> Result<(), Failure> {
    let is_terminal = line.output.is_none() && io::stdout().is_terminal();
    let format = format(context, line.formats)?.unwrap_or(if is_terminal { Format::Table } else { Format::Text });
    if line.follow && (line.files.len() > 1 || line.files.iter().any(|file| file.as_os_str() == "-")) {
        return Err(Failure::Usage("--follow takes one file".to_owned()));
    }
    let files = schemas::files(&line.schemas)?;
    let progress = Progress::new(is_terminal || line.follow);
    let mut traces = Traces::open(&line.files, &files, progress, line.follow)?;
    let origin = traces.next_time().unwrap_or_default();
    let mut selection = Selection::of(&line.selected).start(origin);
    let inputs: Vec<&Path> = line.files.iter().map(PathBuf::as_path).collect();
    let out = Output::of(line.output.as_deref(), &inputs)?;
    let mut exporter = Exporter::new(out, format)?.since(origin);
    if context.has_colour && line.output.is_none() {
        exporter = exporter.with_colours();
    }
    if let Some(width) = terminal_width().filter(|_| is_terminal) {
        exporter = exporter.with_width(width);
    }
    let mut printed = Printed { count: 0, most: line.count.unwrap_or(u64::MAX), is_all: true };
    if line.follow {
        follow(&mut traces, &mut selection, &mut exporter, &mut printed)?;
    } else {
        printed.print(&mut traces, &mut selection, &mut exporter)?;
    }
    traces.done();
    let about = traces.reports().map(|(_, report)| About::from(report)).reduce(|one, other| one.and(&other));
    exporter.about(About { title: traces.title(), ..about.unwrap_or_default() });
    let left_out = exporter.left_out();
    exporter.finish()?.finish()?;
    if left_out > 0 {
        eprintln!(
            "note: the page has no room for {left_out} of the events; choose with --from, --to, --provider, --level, --where or --count"
        );
    }
    match traces.reports().collect::<Vec<_>>().as_slice() {
        [(_, report)] => eprintln!("{} of {report}", printed.count),
        reports => {
            reports.iter().for_each(|(path, report)| eprintln!("{}: {report}", path.display()));
            eprintln!("{} printed", values::counted(printed.count, "event"));
        }
    }
    // Whoever did not read everything cannot say what is missing.
    for note in selection.notes().into_iter().filter(|_| printed.is_all) {
        eprintln!("note: {note}");
    }
    traces.check()
}

/// How many events were printed, how many may be, and whether there were no more.
struct Printed {
    count: u64,
    most: u64,
    is_all: bool,
}

impl Printed {
    /// Prints what is there.
    fn print<W: Write>(
        &mut self,
        traces: &mut Traces,
        selection: &mut Selection,
        exporter: &mut Exporter<W>,
    ) -> Result<(), Failure> {
        while let Some((event, decoder)) = traces.next() {
            if selection.is_over(&event) {
                self.is_all = false;
                break;
            }
            if !selection.may_take(&event) {
                continue;
            }
            let decoded = decoder.decode(&event);
            if !selection.takes(&event, &decoded) {
                continue;
            }
            if self.count == self.most {
                self.is_all = false;
                break;
            }
            exporter.decoded(&event, &decoded)?;
            self.count += 1;
        }
        Ok(())
    }
}

/// Prints what is there and what comes, until an interrupt or the last event that is wanted.
fn follow<W: Write>(
    traces: &mut Traces,
    selection: &mut Selection,
    exporter: &mut Exporter<W>,
    printed: &mut Printed,
) -> Result<(), Failure> {
    while !interrupted() {
        printed.print(traces, selection, exporter)?;
        exporter.flush()?;
        if !printed.is_all || printed.count >= printed.most {
            return Ok(());
        }
        thread::sleep(LOOK);
        traces.refresh()?;
    }
    printed.is_all = false;
    Ok(())
}
