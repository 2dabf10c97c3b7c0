//! Exports events for other tools and for people: text, a table, JSON Lines, CSV, the trace format of Chrome and Perfetto, and a
//! page for a browser.
//!
//! Every export is streamed: an event is written as soon as it arrives, or together with its page of rows in a table. No export
//! modifies an event, and JSON and CSV preserve all values.

mod about;
mod chrome;
mod columns;
mod csv;
mod format;
mod html;
mod json;
mod jsonl;
mod paint;
mod pcapng;
mod table;
mod text;
mod typed;
mod writer;

use std::io::{self, Write};

use crate::decode::{Decoded, Decoder, Field, Node};
use crate::event::{Event, EventRef};
use crate::time::FileTime;
pub use about::About;
pub use columns::Columns;
pub use format::{Form, Format, UnknownFormat};
pub use pcapng::Pcapng;
use writer::FormatWriter;

/// Appends the value of a field as JSON, with one type per field. Returns whether the JSON represents the value exactly.
///
/// ```
/// # use etw_types::tracelogging::EventBuilder;
/// # use etw_types::{Channel, EventDescriptor, Guid, Keyword, Level, Opcode};
/// # fn traced(name: &str, opcode: Opcode) -> etw_etl::Event {
/// #     let (mut metadata, mut payload) = ([0; 64], [0; 64]);
/// #     let builder = EventBuilder::new(&mut metadata, &mut payload, name, 0).u32("Length", 512);
/// #     let (metadata, payload) = builder.finish().unwrap();
/// #     let items = etw_etl::ExtendedItem::trace_logging(b"\x0b\x00MyDriver\x00", metadata);
/// #     let descriptor = EventDescriptor::new(Level::Informational, Keyword::from_bits(1)).with_channel(Channel::TraceLogging);
/// #     let descriptor = EventDescriptor { opcode, ..descriptor };
/// #     let provider = Guid::from_name("MyDriver");
/// #     let data = etw_etl::EventData { provider, descriptor, items: &items, payload, ..etw_etl::EventData::default() };
/// #     let mut record = [0; 512];
/// #     let length = data.encode(&mut record).unwrap();
/// #     etw_etl::Event::from_record(&record[..length], 0, &etw_etl::WriterOptions::default().clock).unwrap()
/// # }
/// use etw_etl::export::json_node;
///
/// let decoded = traced("Read", Opcode::Info).decode();
/// let mut json = String::new();
/// let field = &decoded.fields[0];
/// assert!(json_node(&mut json, field, &field.node));
/// assert_eq!(json, "512");
/// ```
pub fn json_node(out: &mut String, field: &Field, node: &Node) -> bool {
    typed::node(out, field, node, json::Integers::Numbers)
}

/// Writes events in one of the formats.
///
/// ```
/// # use etw_types::tracelogging::EventBuilder;
/// # use etw_types::{Channel, EventDescriptor, Guid, Keyword, Level, Opcode};
/// # fn traced(name: &str, opcode: Opcode) -> etw_etl::Event {
/// #     let (mut metadata, mut payload) = ([0; 64], [0; 64]);
/// #     let builder = EventBuilder::new(&mut metadata, &mut payload, name, 0).u32("Length", 512);
/// #     let (metadata, payload) = builder.finish().unwrap();
/// #     let items = etw_etl::ExtendedItem::trace_logging(b"\x0b\x00MyDriver\x00", metadata);
/// #     let descriptor = EventDescriptor::new(Level::Informational, Keyword::from_bits(1)).with_channel(Channel::TraceLogging);
/// #     let descriptor = EventDescriptor { opcode, ..descriptor };
/// #     let provider = Guid::from_name("MyDriver");
/// #     let data = etw_etl::EventData { provider, descriptor, items: &items, payload, ..etw_etl::EventData::default() };
/// #     let mut record = [0; 512];
/// #     let length = data.encode(&mut record).unwrap();
/// #     etw_etl::Event::from_record(&record[..length], 0, &etw_etl::WriterOptions::default().clock).unwrap()
/// # }
/// use etw_etl::{About, Decoder, Exporter, FileTime, Format};
///
/// let event = traced("Read", Opcode::Info);
/// let mut exporter = Exporter::new(Vec::new(), Format::Text)?.with_decoder(Decoder::default());
/// exporter.event(&event)?;
/// exporter.event_ref(&event.as_ref())?;
/// exporter.decoded(&event.as_ref(), &event.decode())?;
/// exporter.flush()?;
/// let text = String::from_utf8(exporter.finish()?)?;
/// assert_eq!(text.matches("MyDriver/Read Length=512").count(), 3);
///
/// // A table for a terminal: its width, colours, and times since a moment.
/// let mut table = Exporter::new(Vec::new(), Format::Table)?.with_width(100).with_colours().since(FileTime(0));
/// table.event(&event)?;
/// assert!(String::from_utf8(table.finish()?)?.contains("Read"));
///
/// // A page also says what the trace lost.
/// let mut page = Exporter::new(Vec::new(), "html".parse()?)?;
/// let first = About { title: "a.etl".into(), events_lost: Some(1), ..About::default() };
/// page.about(first.and(&About { buffers_lost: Some(2), ..About::default() }));
/// page.event(&event)?;
/// assert_eq!(page.left_out(), 0);
///
/// // It shows spans. One that began with this event ends with its stop, even if that is not selected.
/// assert!(page.has_spans());
/// page.event(&traced("Write", Opcode::Start))?;
/// assert!(page.awaits_stops());
/// let stop = traced("Write", Opcode::Stop);
/// page.unselected(&stop.as_ref(), &stop.decode())?;
/// assert!(String::from_utf8(page.finish()?)?.contains("a.etl"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Exporter<W> {
    out: W,
    writer: Box<dyn FormatWriter>,
    line: String,
    decoder: Decoder,
}

impl<W: Write> Exporter<W> {
    /// Starts an export.
    ///
    /// # Errors
    ///
    /// Returns the error of `out`.
    pub fn new(out: W, format: Format) -> io::Result<Self> {
        Self::with_writer(out, format.writer())
    }

    fn with_writer(out: W, writer: Box<dyn FormatWriter>) -> io::Result<Self> {
        let mut exporter = Self { out, writer, line: String::new(), decoder: Decoder::default() };
        exporter.writer.start(&mut exporter.line);
        exporter.write_line()?;
        Ok(exporter)
    }

    /// Writes what the writer has appended.
    fn write_line(&mut self) -> io::Result<()> {
        self.out.write_all(self.line.as_bytes())?;
        self.line.clear();
        Ok(())
    }

    /// Decodes with these schemas. By default, only self-describing events and the kernel's own events are decoded.
    #[must_use]
    pub fn with_decoder(mut self, decoder: Decoder) -> Self {
        self.decoder = decoder;
        self
    }

    /// Limits a table to this width. Other formats ignore it.
    #[must_use]
    pub fn with_width(mut self, width: usize) -> Self {
        self.writer.fit(width);
        self
    }

    /// Writes text and tables in colours that depend on the level of an event.
    #[must_use]
    pub fn with_colours(mut self) -> Self {
        self.writer.colour();
        self
    }

    /// Shows the times of a table relative to this time instead of the first event.
    #[must_use]
    pub fn since(mut self, origin: FileTime) -> Self {
        self.writer.since(origin);
        self
    }

    /// Sets what the export says about the trace. May be called at any time before [`finish`](Self::finish).
    pub fn about(&mut self, about: About) {
        self.writer.about(about);
    }

    /// Writes an event.
    ///
    /// # Errors
    ///
    /// Returns the error of the output.
    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        self.event_ref(&event.as_ref())
    }

    /// Writes an event returned by [`Reader::next_ref`](crate::Reader::next_ref).
    ///
    /// # Errors
    ///
    /// Returns the error of the output.
    pub fn event_ref(&mut self, event: &EventRef<'_>) -> io::Result<()> {
        let decoded = self.decoder.decode(event);
        self.decoded(event, &decoded)
    }

    /// Writes an event that the caller decoded.
    ///
    /// # Errors
    ///
    /// Returns the error of the output.
    pub fn decoded(&mut self, event: &EventRef<'_>, decoded: &Decoded) -> io::Result<()> {
        self.writer.event(&mut self.line, event, decoded);
        self.write_line()
    }

    /// Sees an event that is not selected. It is not written, but a span of [`Format::Chrome`] or [`Format::Html`] that began with a
    /// selected event ends with its stop, whether that is selected or not. Only events with a [`Role`](crate::pair::Role) matter.
    ///
    /// # Errors
    ///
    /// Returns the error of the output.
    pub fn unselected(&mut self, event: &EventRef<'_>, decoded: &Decoded) -> io::Result<()> {
        self.writer.unselected(&mut self.line, event, decoded);
        self.write_line()
    }

    /// Returns whether the format shows spans, so that [`unselected`](Self::unselected) has to see all starts and stops.
    #[must_use]
    pub fn has_spans(&self) -> bool {
        self.writer.has_spans()
    }

    /// Returns whether a span that began with a selected event waits for its stop.
    #[must_use]
    pub fn awaits_stops(&self) -> bool {
        self.writer.awaits_stops()
    }

    /// Returns the number of events that were left out because of the limit of [`Format::Html`].
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.writer.left_out()
    }

    /// Writes the buffered rows and flushes the output.
    ///
    /// # Errors
    ///
    /// Returns the error of the output.
    pub fn flush(&mut self) -> io::Result<()> {
        self.writer.flush(&mut self.line);
        self.write_line()?;
        self.out.flush()
    }

    /// Ends the export and returns the output.
    ///
    /// # Errors
    ///
    /// Returns the error of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.writer.finish(&mut self.line);
        self.write_line()?;
        self.out.flush()?;
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests;
