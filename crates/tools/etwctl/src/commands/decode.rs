//! `decode`.

use std::io::{self, Write};
use std::path::Path;

use etw_etl::{About, Decoder, EventRef, Exporter, Format, Reader, Report};

use super::schemas;
use crate::cli::Line;
use crate::context::{Context, Failure};
use crate::output::Output;
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
pub(super) fn decode(context: &Context<'_>, line: &Line) -> Result<(), Failure> {
    let format = format(context, line)?;
    let files = schemas::files(line)?;
    let most: u64 = line.parsed("count")?.unwrap_or(u64::MAX);
    let mut reader = Reader::open(line.argument(0).unwrap_or_default())?;
    let mut selection = Selection::of(line)?.with_decoder(Decoder::of(&reader, files.clone()));
    let out = Output::of(line.value("output"), &[Path::new(line.argument(0).unwrap_or_default())])?;
    let has_colour = context.has_colour && line.value("output").is_none();
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
    printer.about(line.argument(0).unwrap_or_default(), report);
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
