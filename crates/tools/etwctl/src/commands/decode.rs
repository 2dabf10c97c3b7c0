//! `decode`.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use etw_etl::{About, Event, Exporter, Format, Reader, Report};

use crate::cli::Line;
use crate::context::{Context, Failure};
use crate::output::paint::{self, Brush, Painted};
use crate::select::Selection;

/// The format that the options ask for.
pub(super) fn format(context: &Context<'_>, line: &Line) -> Result<Format, String> {
    let asked = [
        ("json", Format::JsonLines),
        ("csv", Format::Csv),
        ("chrome", Format::Chrome),
        ("html", Format::Html),
        ("text", Format::Text),
        ("table", Format::Table),
    ];
    let mut asked = asked.into_iter().filter(|(name, _)| line.has(name) || (*name == "json" && context.is_json));
    match (asked.next(), asked.next()) {
        (None, _) => Ok(Format::Text),
        (Some((_, format)), None) => Ok(format),
        (Some((one, _)), Some((other, _))) => Err(format!("--{one} and --{other} exclude each other")),
    }
}

/// Events to an output, in colours where they are wanted.
pub(super) struct Printer<W: Write> {
    exporter: Exporter<Painted<W>>,
    brush: Brush,
    has_colour: bool,
}

impl<W: Write> Printer<W> {
    pub(super) fn new(out: W, format: Format, has_colour: bool) -> io::Result<Self> {
        let (painted, brush) = Painted::new(out);
        let exporter = Exporter::new(painted, format)?;
        Ok(Self { exporter, brush, has_colour: has_colour && format == Format::Text })
    }

    pub(super) fn event(&mut self, event: &Event) -> io::Result<()> {
        if self.has_colour {
            self.brush.set(paint::of_level(event.header.descriptor.level));
        }
        self.exporter.event(event)
    }

    /// Says which trace it was, where the format has a place for it.
    pub(super) fn about(&mut self, title: &str, report: &Report) {
        self.exporter.about(About { title: title.to_owned(), ..About::from(report) });
    }

    /// Shows what was printed so far.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.exporter.flush()
    }

    pub(super) fn finish(self) -> io::Result<()> {
        self.brush.set(None);
        self.exporter.finish()?.flush()
    }
}

/// Prints the events of a file.
pub(super) fn decode(context: &Context<'_>, line: &Line) -> Result<(), Failure> {
    let format = format(context, line)?;
    let mut selection = Selection::of(line)?;
    let most: u64 = line.parsed("count")?.unwrap_or(u64::MAX);
    let mut reader = Reader::open(line.argument(0).unwrap_or_default())?;
    let (out, has_colour): (Box<dyn Write>, bool) = match line.value("output") {
        Some(path) => (Box::new(File::create(path)?), false),
        None => (Box::new(io::stdout().lock()), context.has_colour),
    };
    let mut printer = Printer::new(BufWriter::new(out), format, has_colour)?;
    let mut is_all = true;
    let mut count = 0;
    for event in reader.by_ref().filter(|event| selection.takes(event)) {
        if count == most {
            is_all = false;
            break;
        }
        printer.event(&event)?;
        count += 1;
    }
    let report = reader.report();
    printer.about(line.argument(0).unwrap_or_default(), report);
    printer.finish()?;
    eprintln!("{count} of {report}");
    // Whoever did not read everything cannot say what is missing.
    for note in selection.notes().into_iter().filter(|_| is_all) {
        eprintln!("note: {note}");
    }
    // The report says which places; here only how many.
    if report.is_whole() {
        Ok(())
    } else {
        let places = u64::try_from(report.losses.len()).unwrap_or(u64::MAX).saturating_add(report.more_losses);
        Err(Failure::Damaged(format!("{} bytes in {places} places could not be read", report.lost_bytes)))
    }
}
