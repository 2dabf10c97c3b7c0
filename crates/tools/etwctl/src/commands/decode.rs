//! `decode`.

use std::io::{self, Write};

use etw_etl::{About, Decoder, EventRef, Exporter, Format, Reader, Report};

use super::schemas;
use crate::cli::{Decode, Formats};
use crate::context::{Context, Failure};
use crate::output::Output;
use crate::output::paint::{self, Brush, Painted};
use crate::select::Selection;

/// The format that the options ask for.
pub(super) fn format(context: &Context<'_>, formats: Formats) -> Result<Format, String> {
    let asked = [
        (formats.csv, "csv", Format::Csv),
        (formats.chrome, "chrome", Format::Chrome),
        (formats.html, "html", Format::Html),
        (formats.text, "text", Format::Text),
        (formats.table, "table", Format::Table),
    ];
    match asked.into_iter().find(|(is_asked, ..)| *is_asked) {
        Some((_, name, _)) if context.is_json => Err(format!("--json cannot be used with --{name}")),
        Some((_, _, format)) => Ok(format),
        None if context.is_json => Ok(Format::JsonLines),
        None => Ok(Format::Text),
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

    /// Decodes with these schemas.
    pub(super) fn with_decoder(self, decoder: Decoder) -> Self {
        Self { exporter: self.exporter.with_decoder(decoder), ..self }
    }

    pub(super) fn event(&mut self, event: &EventRef<'_>) -> io::Result<()> {
        if self.has_colour {
            self.brush.set(paint::of_level(event.header.descriptor.level));
        }
        self.exporter.event_ref(event)
    }

    /// Says which trace it was, where the format has a place for it.
    pub(super) fn about(&mut self, title: &str, report: &Report) {
        self.exporter.about(About { title: title.to_owned(), ..About::from(report) });
    }

    /// Events that the format has no room for.
    pub(super) fn left_out(&self) -> u64 {
        self.exporter.left_out()
    }

    /// Shows what was printed so far.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.exporter.flush()
    }

    /// Ends the export and gives the output back.
    pub(super) fn finish(self) -> io::Result<W> {
        self.brush.set(None);
        let mut painted = self.exporter.finish()?;
        painted.flush()?;
        Ok(painted.into_inner())
    }
}

/// Prints the events of a file.
pub(super) fn decode(context: &Context<'_>, line: &Decode) -> Result<(), Failure> {
    let format = format(context, line.formats)?;
    let files = schemas::files(&line.schemas)?;
    let most = line.count.unwrap_or(u64::MAX);
    let mut reader = Reader::open(&line.file)?;
    let mut selection = Selection::of(&line.selected).with_decoder(Decoder::of(&reader, files.clone()));
    let out = Output::of(line.output.as_deref(), &[&line.file])?;
    let has_colour = context.has_colour && line.output.is_none();
    let mut printer = Printer::new(out, format, has_colour)?.with_decoder(schemas::decoder(&reader, files.as_ref()));
    let mut is_all = true;
    let mut count = 0;
    while let Some(event) = reader.next_ref() {
        if !selection.takes(&event) {
            continue;
        }
        if count == most {
            is_all = false;
            break;
        }
        printer.event(&event)?;
        count += 1;
    }
    let report = reader.report();
    printer.about(&line.file.display().to_string(), report);
    let left_out = printer.left_out();
    printer.finish()?.finish()?;
    if left_out > 0 {
        eprintln!(
            "note: the page has no room for {left_out} of the events; choose with --provider, --level, --where or --count"
        );
    }
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
