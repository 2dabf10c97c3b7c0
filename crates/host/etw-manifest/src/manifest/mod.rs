//! Instrumentation manifests: the complete model, and its XML form.
//!
//! The model follows the `eventman` schema of Microsoft's documentation. It keeps what a decoder does not need as well (symbols,
//! channels, values of all parts), so that code and resources can be generated from it.

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
    /// The string tables, in the order of the file; a binary has none.
    pub languages: Vec<Language>,
}

/// The texts of a language.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Language {
    /// Its name, such as `en-US`.
    pub culture: String,
    /// Texts by their ids.
    pub strings: HashMap<String, String>,
}

/// Text, and the string-table id under which a manifest has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The id in `$(string.ID)`; empty if the text stands in its place.
    pub id: String,
    /// The text in the first language of the file.
    pub text: String,
}

/// A provider and all that it declares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provider {
    /// Its name.
    pub name: String,
    /// Its GUID.
    pub guid: Guid,
    /// The symbol for its GUID in generated code.
    pub symbol: String,
    /// The binary with the templates.
    pub resource_file: String,
    /// The binary with the messages.
    pub message_file: String,
    /// Its display name.
    pub message: Option<Message>,
    /// Channels, imported ones included.
    pub channels: Vec<Channel>,
    /// Levels besides those of Windows.
    pub levels: Vec<Level>,
    /// Tasks.
    pub tasks: Vec<Task>,
    /// Opcodes of all tasks.
    pub opcodes: Vec<Opcode>,
    /// Keywords besides those of Windows.
    pub keywords: Vec<Keyword>,
    /// Value maps and bit maps.
    pub maps: Vec<Map>,
    /// Templates of payloads.
    pub templates: Vec<Template>,
    /// Events.
    pub events: Vec<Event>,
}

/// A channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Channel {
    /// Its name, such as `My-Provider/Operational`.
    pub name: String,
    /// The id by which events name it; its name if it has none.
    pub id: String,
    /// `Admin`, `Operational`, `Analytic` or `Debug`; empty for an imported channel.
    pub kind: String,
    /// Its value, if the manifest gives one.
    pub value: Option<u8>,
    /// Its symbol in generated code.
    pub symbol: String,
    /// Whether it is enabled when it is installed.
    pub is_enabled: bool,
    /// `Application`, `System` or `Custom`.
    pub isolation: String,
    /// Its display name.
    pub message: Option<Message>,
}

macro_rules! named {
    ($(#[$meta:meta])* $name:ident, $value:ty, $what:literal $(, $(#[$extra_meta:meta])* $extra:ident: $extra_type:ty)?) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            /// Its name.
            pub name: String,
            #[doc = $what]
            pub value: $value,
            /// Its symbol in generated code.
            pub symbol: String,
            /// Its display name.
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
    /// Its GUID, for events that classic consumers read.
    guid: Option<Guid>
);
named!(
    /// An opcode.
    Opcode, u8, "The opcode's number.",
    /// The task that it belongs to, if it is not the provider's.
    task: Option<String>
);
named!(
    /// A keyword.
    Keyword, u64, "The keyword's bit."
);

/// A value map or a bit map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Map {
    /// Its name.
    pub name: String,
    /// Whether its values are bits.
    pub is_bits: bool,
    /// Its symbol in generated code.
    pub symbol: String,
    /// Values and their names.
    pub items: Vec<MapItem>,
}

/// One value of a map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapItem {
    /// The value, or the bits.
    pub value: u32,
    /// Its symbol in generated code.
    pub symbol: String,
    /// Its name.
    pub message: Option<Message>,
}

/// The payload of events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    /// The id by which events name it.
    pub id: String,
    /// The fields.
    pub fields: Vec<Data>,
    /// The XML of `UserData`, if there is one.
    pub user_data: Option<String>,
}

/// A field or a structure of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: DataKind,
    /// Number of values.
    pub count: Size,
    /// Length of text in characters or of binary data in bytes.
    pub length: Size,
}

/// A value or a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataKind {
    /// A value.
    Value {
        /// How it stands in the payload.
        encoding: Encoding,
        /// How it is shown: a `TDH_OUTTYPE_*` number.
        out: u16,
        /// The map with names of its values.
        map: Option<String>,
    },
    /// Fields that belong together.
    Struct(Vec<Data>),
}

/// A number in a manifest: given, or the value of another field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Size {
    /// Not given.
    #[default]
    None,
    /// This number.
    Fixed(u16),
    /// The value of the field of this name.
    Field(String),
}

/// An event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Its id.
    pub id: u16,
    /// Its version.
    pub version: u8,
    /// Its symbol in generated code.
    pub symbol: String,
    /// The name of its level.
    pub level: String,
    /// The id of its channel.
    pub channel: String,
    /// The name of its task.
    pub task: String,
    /// The name of its opcode.
    pub opcode: String,
    /// The names of its keywords.
    pub keywords: Vec<String>,
    /// The id of its template.
    pub template: String,
    /// Its message.
    pub message: Option<Message>,
}

impl Manifest {
    /// Reads a manifest: UTF-8 or UTF-16 with a byte-order mark.
    ///
    /// # Errors
    ///
    /// If the XML is malformed or an element is not what the schema of manifests says; with line and column.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        xml::parse(&xml::decode(bytes)?)
    }

    /// Reads a manifest that code and resources are made from: every name that an event uses is declared, numbers are in their
    /// ranges and there once, and nothing is in it that would be left out.
    ///
    /// # Errors
    ///
    /// Every mistake, with line and column.
    pub fn parse_checked(bytes: &[u8]) -> Result<Self, Vec<ParseError>> {
        let one = |error| vec![error];
        let text = xml::decode(bytes).map_err(one)?;
        check::check(&text)?;
        xml::parse(&text).map_err(one)
    }
}

/// The events of a manifest, ready to be asked for.
#[derive(Clone, Debug, Default)]
pub struct ManifestSchemas {
    events: HashMap<(Guid, u16, u8), Arc<EventSchema>>,
    providers: HashMap<Guid, Arc<str>>,
}

impl ManifestSchemas {
    /// Adds the events of a manifest. What is known already stays.
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

    /// How many events are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether no event is known.
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
