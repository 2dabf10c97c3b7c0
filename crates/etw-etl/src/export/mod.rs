//! Events for other tools and for people: text, JSON Lines, CSV, and the trace format of Chrome and Perfetto.
//!
//! Every export is streamed: an event goes out when it comes in. None of them changes an event; JSON and CSV lose nothing
//! of an event's values.

mod chrome;
mod csv;
mod json;
mod jsonl;
mod text;

use std::io::{self, Write};
use std::str::FromStr;

use crate::read::event::Event;
use chrome::Chrome;

/// The format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// A line for a reader.
    Text,
    /// A JSON object in a line, always with the same keys.
    JsonLines,
    /// Comma-separated values with a line of column names; fields are JSON.
    Csv,
    /// One JSON document for Chrome's and Perfetto's viewers: activities are spans on the track of their thread.
    Chrome,
}

impl FromStr for Format {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "text" => Ok(Self::Text),
            "json" | "jsonl" => Ok(Self::JsonLines),
            "csv" => Ok(Self::Csv),
            "chrome" | "perfetto" => Ok(Self::Chrome),
            _ => Err("the formats are text, json, csv and chrome"),
        }
    }
}

/// Writes events in one of the formats.
#[derive(Debug)]
pub struct Exporter<W> {
    out: W,
    format: Format,
    chrome: Chrome,
    line: String,
}

impl<W: Write> Exporter<W> {
    /// Begins an export.
    ///
    /// # Errors
    ///
    /// What `out` answered.
    pub fn new(mut out: W, format: Format) -> io::Result<Self> {
        let start = match format {
            Format::Csv => csv::COLUMNS,
            Format::Chrome => chrome::START,
            Format::Text | Format::JsonLines => "",
        };
        out.write_all(start.as_bytes())?;
        Ok(Self { out, format, chrome: Chrome::default(), line: String::new() })
    }

    /// Writes an event.
    ///
    /// # Errors
    ///
    /// What the output answered.
    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        let decoded = event.decode();
        self.line.clear();
        match self.format {
            Format::Text => text::line(&mut self.line, event, &decoded),
            Format::JsonLines => jsonl::line(&mut self.line, event, &decoded),
            Format::Csv => csv::line(&mut self.line, event, &decoded),
            Format::Chrome => self.chrome.event(&mut self.line, event, &decoded),
        }
        self.out.write_all(self.line.as_bytes())
    }

    /// Ends the export and gives the output back.
    ///
    /// # Errors
    ///
    /// What the output answered.
    pub fn finish(mut self) -> io::Result<W> {
        if self.format == Format::Chrome {
            self.line.clear();
            self.chrome.finish(&mut self.line);
            self.out.write_all(self.line.as_bytes())?;
        }
        self.out.flush()?;
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests;
