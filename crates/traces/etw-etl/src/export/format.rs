//! The formats, each declared once: names, parsing, the list of all formats and the writer of each follow from the table below.

use std::fmt;
use std::str::FromStr;

use super::chrome::Chrome;
use super::csv::{Csv, FieldColumns};
use super::html::Html;
use super::jsonl::JsonLines;
use super::table::Table;
use super::text::Text;
use super::writer::FormatWriter;

/// What an export looks like. A new form is a decision of everybody who matches this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Lines for people. They can have colours, and have no control characters of the trace.
    Text,
    /// Comma-separated values.
    Csv,
    /// A JSON document per line.
    JsonLines,
    /// One JSON document.
    Json,
    /// A page for a browser.
    Page,
}

/// Declares the formats: the documentation and the name of the variant, the names, the form, one line of help, and the writer.
macro_rules! formats {
    ($(
        $(#[doc = $doc:literal])+
        $variant:ident: $name:literal $(or $other:literal)*, $form:ident, $about:literal => $writer:ty;
    )+) => {
        /// The format of an export.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Format {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Format {
            /// All formats.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the name, which can be parsed.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Returns the other names that can be parsed.
            #[must_use]
            pub const fn other_names(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &[$($other),*],)+ }
            }

            /// Returns what an export looks like.
            #[must_use]
            pub const fn form(self) -> Form {
                match self { $(Self::$variant => Form::$form,)+ }
            }

            /// Returns a description in one line.
            #[must_use]
            pub const fn about(self) -> &'static str {
                match self { $(Self::$variant => $about,)+ }
            }

            /// Returns what writes the format.
            pub(super) fn writer(self) -> Box<dyn FormatWriter> {
                match self { $(Self::$variant => Box::<$writer>::default(),)+ }
            }
        }
    };
}

formats! {
    /// One line per event, for people.
    Text: "text", Text, "One line per event" => Text;
    /// A table for people, with relative times, bracketed activities and fields.
    Table: "table", Text, "A table of the terminal's width: relative times, brackets for activities, fields in columns" => Table;
    /// One JSON object per line, always with the same keys.
    JsonLines: "json" or "jsonl", JsonLines, "One JSON object per line" => JsonLines;
    /// Comma-separated values with a header line; the fields are JSON.
    Csv: "csv", Csv, "Comma-separated values" => Csv;
    /// Comma-separated values for events of one kind: each field has a column of its own.
    CsvFields: "csv-fields", Csv, "Comma-separated values of events of one kind, with a column for each field" => FieldColumns;
    /// One JSON document for the Chrome and Perfetto viewers: activities are spans on the track of their thread.
    Chrome: "chrome" or "perfetto", Json, "A JSON document for the trace viewers of Chrome and Perfetto" => Chrome;
    /// A page that shows the trace in a browser, with a timeline, a filter, a table and fields. It needs no network and holds at
    /// most 100,000 events: the first ones, those around warnings and errors, and the last ones.
    Html: "html", Page, "A page that shows the trace in a browser, with at most 100,000 events" => Html;
}

/// A name that no format has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownFormat;

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
        write!(f, "the formats are {}", names.join(", "))
    }
}

impl std::error::Error for UnknownFormat {}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        let has_name = |format: &&Self| format.name() == name || format.other_names().contains(&name);
        Self::ALL.iter().find(has_name).copied().ok_or(UnknownFormat)
    }
}
