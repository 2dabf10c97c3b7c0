//! Instrumentation manifests: the complete model, and its XML form.
//!
//! The model follows the `eventman` schema of Microsoft's documentation. It also keeps what a decoder does not need (symbols,
//! channels, the values of all parts), so that code and resources can be generated from it.

mod check;
mod lower;
pub(crate) mod numbers;
mod xml;

use std::collections::HashMap;
use std::sync::Arc;

use etw_types::Guid;

pub use numbers::Numbers;
pub use xml::ParseError;

use crate::schema::{EventKey, EventSchema, Schema, Source};
use crate::types::Encoding;

/// The content of a manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// The providers, in the order of the file.
    pub providers: Vec<Provider>,
    /// The string tables, in the order of the file. Empty for a manifest read from a binary.
    pub languages: Vec<Language>,
    /// Parts that a decoder can do without but does not understand, such as fields with an unknown type.
    pub notes: Vec<ParseError>,
}

/// The strings of a language.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Language {
    /// The name of the language, such as `en-US`.
    pub culture: String,
    /// The strings by id.
    pub strings: HashMap<String, String>,
}

/// A text and its id in the string tables of the manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The id in `$(string.ID)`; empty if the manifest contains the text itself.
    pub id: String,
    /// The text in English or, if the file has no English strings, in its first language.
    pub text: String,
}

/// A provider and everything that it declares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provider {
    /// The name of the provider.
    pub name: String,
    /// The GUID of the provider.
    pub guid: Guid,
    /// The symbol for its GUID in generated code.
    pub symbol: String,
    /// The binary that contains the templates.
    pub resource_file: String,
    /// The binary that contains the messages.
    pub message_file: String,
    /// The display name.
    pub message: Option<Message>,
    /// Channels, including imported ones.
    pub channels: Vec<Channel>,
    /// Levels in addition to those of Windows.
    pub levels: Vec<Level>,
    /// Tasks.
    pub tasks: Vec<Task>,
    /// Opcodes, including those of tasks.
    pub opcodes: Vec<Opcode>,
    /// Keywords in addition to those of Windows.
    pub keywords: Vec<Keyword>,
    /// Value maps and bit maps.
    pub maps: Vec<Map>,
    /// Templates, which describe the payloads of events and the data of filters.
    pub templates: Vec<Template>,
    /// Filters that a session can pass to the provider.
    pub filters: Vec<Filter>,
    /// Events.
    pub events: Vec<Event>,
}

/// A channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Channel {
    /// The name of the channel, such as `My-Provider/Operational`.
    pub name: String,
    /// The id by which events refer to the channel; its name if the manifest gives no id.
    pub id: String,
    /// `Admin`, `Operational`, `Analytic` or `Debug`; empty for an imported channel.
    pub kind: String,
    /// The value, if the manifest gives one.
    pub value: Option<u8>,
    /// The symbol in generated code.
    pub symbol: String,
    /// Whether the channel is enabled when it is installed.
    pub is_enabled: bool,
    /// `Application`, `System` or `Custom`.
    pub isolation: String,
    /// The display name.
    pub message: Option<Message>,
}

macro_rules! named {
    ($(#[$meta:meta])* $name:ident, $value:ty, $what:literal $(, $(#[$extra_meta:meta])* $extra:ident: $extra_type:ty)?) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            /// The name.
            pub name: String,
            #[doc = $what]
            pub value: $value,
            /// The symbol in generated code.
            pub symbol: String,
            /// The display name.
            pub message: Option<Message>,
            $( $(#[$extra_meta])* pub $extra: $extra_type, )?
        }
    };
}

named!(
    /// A level.
    Level, u8, "The level's number."
);
named!(
    /// A task.
    Task, u16, "The task's number.",
    /// The GUID of the task, for consumers of classic events.
    guid: Option<Guid>
);
named!(
    /// An opcode.
    Opcode, u8, "The opcode's number.",
    /// The task that the opcode belongs to, or `None` if it belongs to the provider.
    task: Option<String>
);
named!(
    /// A keyword.
    Keyword, u64, "The keyword's bit."
);

/// A value map or a bit map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Map {
    /// The name of the map.
    pub name: String,
    /// Whether the values are bits.
    pub is_bits: bool,
    /// The symbol in generated code.
    pub symbol: String,
    /// Values and their names.
    pub items: Vec<MapItem>,
}

/// One entry of a map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapItem {
    /// The value, or the bits.
    pub value: u32,
    /// The symbol in generated code.
    pub symbol: String,
    /// The name of the value.
    pub message: Option<Message>,
}

/// A filter: data that a session passes to the provider, which decides what to do with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The name of the filter.
    pub name: String,
    /// The filter's number, which is the `Id` in the header of its data.
    pub value: u8,
    /// The version of the filter.
    pub version: u8,
    /// The symbol in generated code.
    pub symbol: String,
    /// The id of the template that describes the data; empty for a filter without data.
    pub template: String,
    /// The display name.
    pub message: Option<Message>,
}

/// The payload layout of events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    /// The id by which events refer to the template.
    pub id: String,
    /// The fields.
    pub fields: Vec<Data>,
    /// The XML of the `UserData` element, if there is one.
    pub user_data: Option<String>,
}

/// A field or a struct of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    /// The name of the field.
    pub name: String,
    /// Whether it is a value or a struct.
    pub kind: DataKind,
    /// Number of values.
    pub count: Size,
    /// Length of text in characters or of binary data in bytes.
    pub length: Size,
}

/// A value or a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataKind {
    /// A value.
    Value {
        /// How the value is encoded in the payload.
        encoding: Encoding,
        /// How the value is shown: a `TDH_OUTTYPE_*` number.
        out: u16,
        /// The map that names the values.
        map: Option<String>,
    },
    /// A struct with these fields.
    Struct(Vec<Data>),
    /// A value of a type that this crate does not know, by its name or number. Its size is unknown, so a decoder shows the rest
    /// of the payload as bytes. [`Manifest::notes`] has its position.
    Unknown(String),
}

/// A count or length in a manifest: a number, or the value of another field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Size {
    /// Not given.
    #[default]
    None,
    /// This number.
    Fixed(u16),
    /// The value of the field with this name.
    Field(String),
}

/// An event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The id of the event.
    pub id: u16,
    /// The version of the event.
    pub version: u8,
    /// The symbol in generated code.
    pub symbol: String,
    /// The name of the level.
    pub level: String,
    /// The id of the channel.
    pub channel: String,
    /// The name of the task.
    pub task: String,
    /// The name of the opcode.
    pub opcode: String,
    /// The names of the keywords.
    pub keywords: Vec<String>,
    /// The id of the template.
    pub template: String,
    /// The message.
    pub message: Option<Message>,
}

impl Manifest {
    /// Parses a manifest in UTF-8, or in UTF-16 with a byte-order mark.
    ///
    /// # Errors
    ///
    /// Fails if the XML is malformed or an element is invalid. The error has the line and column. A field of an unknown type is
    /// no error: see [`notes`](Self::notes).
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        xml::parse(&xml::decode(bytes)?)
    }

    /// Parses a manifest that code and resources are generated from. Checks that every name used by an event is declared, that
    /// numbers are in range and unique, and that nothing in the manifest would be lost.
    ///
    /// # Errors
    ///
    /// Returns all mistakes, with line and column.
    pub fn parse_checked(bytes: &[u8]) -> Result<Self, Vec<ParseError>> {
        let one = |error| vec![error];
        let text = xml::decode(bytes).map_err(one)?;
        check::check(&text)?;
        xml::parse(&text).map_err(one)
    }
}

/// The event schemas of manifests.
#[derive(Clone, Debug, Default)]
pub struct ManifestSchemas {
    events: HashMap<(Guid, u16, u8), Arc<EventSchema>>,
    providers: HashMap<Guid, Arc<str>>,
}

impl ManifestSchemas {
    /// Adds the events of a manifest. Events that are already known are not replaced.
    pub fn add(&mut self, manifest: &Manifest, source: Source) {
        for provider in &manifest.providers {
            self.providers.entry(provider.guid).or_insert_with(|| provider.name.as_str().into());
            let lower = lower::Lower::new(provider, source);
            for event in &provider.events {
                let key = (provider.guid, event.id, event.version);
                self.events.entry(key).or_insert_with(|| Arc::new(lower.event(event)));
            }
        }
    }

    /// Returns the number of known events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Returns whether no event is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }
}

impl Schema for ManifestSchemas {
    fn event(&self, key: &EventKey) -> Option<Arc<EventSchema>> {
        (!key.is_classic).then(|| self.events.get(&(key.provider, key.id, key.version)).cloned())?
    }

    fn provider_name(&self, provider: &Guid) -> Option<Arc<str>> {
        self.providers.get(provider).cloned()
    }
}

#[cfg(test)]
mod tests;
