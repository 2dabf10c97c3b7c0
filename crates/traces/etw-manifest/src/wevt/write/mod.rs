//! Writes a `WEVT_TEMPLATE` resource: the inverse of [`parse`](super::parse).
//!
//! Order, sizes and numbers are those of a resource that Microsoft's message compiler wrote: for its manifest, the result is
//! identical byte for byte except for the GUIDs of templates, whose rule is unknown. Maps, filters and lists without elements
//! follow resources that the same compiler wrote for the tests of another project (gix/event-trace-kit). A resource written by
//! this module has not been tested on Windows yet.

mod maps;
mod template;

use etw_types::Guid;

use super::blob::Blob;
use crate::manifest::numbers::{KEYWORDS, LEVELS, OPCODES, Standard, message};
use crate::manifest::{Event, Manifest, Message, Provider};

/// The message number of a part without a message.
const NO_MESSAGE: u32 = u32::MAX;
/// Channel flag: another provider declares the channel.
const IMPORTED: u32 = 1;
/// The attribute that holds the provider's name.
const PROVIDER_NAME: u32 = 0x1000_0001;

/// Size of a list without elements: signature, size, number of elements.
const EMPTY_LIST: u32 = 12;

/// A list of a provider: its signature and its number in the table of lists.
type List = ([u8; 4], u32);
const LEVL: List = (*b"LEVL", 0);
const TASK: List = (*b"TASK", 1);
const OPCO: List = (*b"OPCO", 2);
const KEYW: List = (*b"KEYW", 3);
const EVNT: List = (*b"EVNT", 4);
const CHAN: List = (*b"CHAN", 5);
const MAPS: List = (*b"MAPS", 6);
const TTBL: List = (*b"TTBL", 7);
const FLTR: List = (*b"FLTR", 9);
const PRVA: List = (*b"PRVA", 13);

/// A text of the message table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The number of the message.
    pub id: u32,
    /// The text, and its id in the string tables of other languages.
    pub message: Message,
}

/// Returns the resource of a manifest, and the texts that it refers to.
#[must_use]
pub fn write(manifest: &Manifest) -> (Vec<u8>, Vec<Text>) {
    let mut writer = Writer::default();
    let blob = &mut writer.blob;
    blob.0.extend(b"CRIM");
    let size = blob.later();
    blob.u16(5);
    blob.u16(1);
    blob.u32(count(&manifest.providers));
    let offsets: Vec<u32> = manifest
        .providers
        .iter()
        .map(|provider| {
            blob.0.extend(provider.guid.to_bytes_le());
            blob.later()
        })
        .collect();
    for ((place, provider), offset) in (0..).zip(&manifest.providers).zip(offsets) {
        writer.blob.fill(offset, writer.blob.here());
        (writer.place, writer.named, writer.values, writer.bits) = (place, 0, 0, 0);
        writer.provider(provider);
    }
    writer.blob.fill_size(size, 0);
    (writer.blob.0, writer.texts)
}

fn count<T>(parts: &[T]) -> u32 {
    u32::try_from(parts.len()).unwrap_or(u32::MAX)
}

/// A part with a name: one of the provider, or one of Windows that an event uses.
struct Named<T> {
    name: String,
    value: T,
    message: Option<Message>,
}

/// Returns the provider's own parts and those of Windows that its events use, ordered by value.
fn with_standard<T: Copy + Ord>(
    own: impl Iterator<Item = Named<T>>,
    standard: &[Standard<T>],
    is_used: impl Fn(&str) -> bool,
) -> Vec<Named<T>> {
    let mut parts: Vec<Named<T>> = own.collect();
    for (name, value, text) in standard {
        if is_used(name) && !parts.iter().any(|part| part.name == *name) {
            let message = Message { id: String::new(), text: (*text).to_owned() };
            parts.push(Named { name: (*name).to_owned(), value: *value, message: Some(message) });
        }
    }
    parts.sort_by_key(|part| part.value);
    parts
}

/// Offsets of the definitions of a provider's parts, by name.
#[derive(Default)]
struct Places {
    channels: Vec<(String, u32)>,
    maps: Vec<(String, u32)>,
    templates: Vec<(String, u32)>,
    opcodes: Vec<((String, u16), u32)>,
    levels: Vec<(String, u32)>,
    tasks: Vec<(String, u32)>,
    keywords: Vec<(String, u32)>,
}

fn place_of<K: PartialEq<Q>, Q: ?Sized>(places: &[(K, u32)], name: &Q) -> u32 {
    places.iter().find(|(known, _)| known == name).map_or(0, |(_, place)| *place)
}

#[derive(Default)]
struct Writer {
    blob: Blob,
    texts: Vec<Text>,
    /// The place of the provider in the file.
    place: u32,
    /// Number of messages of the provider and its channels so far, of its value maps, and of its bit maps.
    named: u32,
    values: u32,
    bits: u32,
}

impl Writer {
    /// Adds a message to the table and returns its number, or [`NO_MESSAGE`] if there is no message.
    fn text(&mut self, kind: u32, part: u32, message: Option<&Message>) -> u32 {
        let Some(message) = message else { return NO_MESSAGE };
        let id = message::number(kind, self.place, part);
        if !self.texts.iter().any(|text| text.id == id) {
            self.texts.push(Text { id, message: message.clone() });
        }
        id
    }

    /// Adds a message of a provider or a channel. These are numbered consecutively.
    fn counted(&mut self, message: Option<&Message>) -> u32 {
        self.named += u32::from(message.is_some());
        self.text(message::PROVIDER, self.named, message)
    }

    fn provider(&mut self, provider: &Provider) {
        let start = self.blob.here();
        self.blob.0.extend(b"WEVT");
        let size = self.blob.later();
        let own = self.counted(provider.message.as_ref());
        self.blob.u32(own);
        let lists = [
            (CHAN, !provider.channels.is_empty()),
            (MAPS, !provider.maps.is_empty()),
            (TTBL, !provider.templates.is_empty()),
            (PRVA, true),
            (OPCO, true),
            (LEVL, true),
            (TASK, true),
            (KEYW, true),
            (EVNT, !provider.events.is_empty()),
            (FLTR, !provider.filters.is_empty()),
        ];
        let lists: Vec<List> = lists.into_iter().filter(|(_, is_there)| *is_there).map(|(list, _)| list).collect();
        self.blob.u32(count(&lists));
        let offsets: Vec<u32> = lists
            .iter()
            .map(|(_, kind)| {
                self.blob.u32(*kind);
                self.blob.later()
            })
            .collect();
        let mut places = Places::default();
        for (list, offset) in lists.into_iter().zip(offsets) {
            if list == EVNT {
                self.blob.align(8);
            }
            let start = self.blob.here();
            self.blob.fill(offset, start);
            self.blob.0.extend(list.0);
            let size = self.blob.later();
            self.list(list, provider, &mut places);
            // The size of a list without elements is 0.
            if self.blob.here() - start > EMPTY_LIST {
                self.blob.fill_size(size, start);
            }
        }
        self.blob.fill_size(size, start);
    }

    fn list(&mut self, list: List, provider: &Provider, places: &mut Places) {
        match list {
            CHAN => self.channels(provider, places),
            MAPS => self.maps(provider, places),
            TTBL => {
                self.blob.u32(count(&provider.templates));
                for template in &provider.templates {
                    places.templates.push((template.id.clone(), self.blob.here()));
                    self.template(provider, template, &places.maps);
                }
            }
            PRVA => {
                self.blob.u32(1);
                self.blob.u32(PROVIDER_NAME);
                let name = self.blob.later();
                self.blob.fill(name, self.blob.here());
                self.blob.utf16(&provider.name);
                self.blob.u16(0);
                self.blob.align(4);
            }
            OPCO => self.opcodes(provider, places),
            LEVL => {
                let is_used = |name: &str| provider.events.iter().any(|event| event.level == name);
                let own = provider.levels.iter();
                let own =
                    own.map(|own| Named { name: own.name.clone(), value: own.value, message: own.message.clone() });
                let levels = with_standard(own, &LEVELS, is_used);
                places.levels = self.parts(&levels, |writer, level| {
                    writer.blob.u32(level.value.into());
                    let text = writer.text(message::LEVEL, level.value.into(), level.message.as_ref());
                    writer.blob.u32(text);
                });
            }
            TASK => {
                let tasks: Vec<_> = provider
                    .tasks
                    .iter()
                    .map(|task| Named { name: task.name.clone(), value: task, message: task.message.clone() })
                    .collect();
                places.tasks = self.parts(&tasks, |writer, task| {
                    writer.blob.u32(task.value.value.into());
                    let text = writer.text(message::TASK, task.value.value.into(), task.message.as_ref());
                    writer.blob.u32(text);
                    writer.blob.0.extend(task.value.guid.unwrap_or(Guid::ZERO).to_bytes_le());
                });
            }
            KEYW => {
                let is_used =
                    |name: &str| provider.events.iter().any(|event| event.keywords.iter().any(|key| key == name));
                let own = provider.keywords.iter();
                let own =
                    own.map(|own| Named { name: own.name.clone(), value: own.value, message: own.message.clone() });
                let keywords = with_standard(own, &KEYWORDS, is_used);
                places.keywords = self.parts(&keywords, |writer, keyword| {
                    writer.blob.0.extend(keyword.value.to_le_bytes());
                    let text = writer.text(message::KEYWORD, message::keyword(keyword.value), keyword.message.as_ref());
                    writer.blob.u32(text);
                });
            }
            FLTR => self.filters(provider, places),
            _ => self.events(provider, places),
        }
    }

    /// Writes a count, parts that end with the offset of their name, and the names. Returns the offset of each part.
    fn parts<T>(&mut self, parts: &[Named<T>], put: impl Fn(&mut Self, &Named<T>)) -> Vec<(String, u32)> {
        self.blob.u32(count(parts));
        let mut places = Vec::new();
        let mut offsets = Vec::new();
        for part in parts {
            places.push((part.name.clone(), self.blob.here()));
            put(self, part);
            offsets.push(self.blob.later());
        }
        for (part, offset) in parts.iter().zip(offsets) {
            self.blob.name(offset, &part.name);
        }
        places
    }

    fn channels(&mut self, provider: &Provider, places: &mut Places) {
        self.blob.u32(count(&provider.channels));
        let mut offsets = Vec::new();
        for (channel, value) in provider.channels.iter().zip(provider.channel_values()) {
            places.channels.push((channel.id.clone(), self.blob.here()));
            self.blob.u32(if channel.kind.is_empty() { IMPORTED } else { 0 });
            offsets.push(self.blob.later());
            self.blob.u32(value.into());
            let text = self.counted(channel.message.as_ref());
            self.blob.u32(text);
        }
        for (channel, offset) in provider.channels.iter().zip(offsets) {
            self.blob.name(offset, &channel.name);
        }
    }

    /// Writes the opcodes. The lower half of an opcode's number is the number of its task.
    fn opcodes(&mut self, provider: &Provider, places: &mut Places) {
        let is_used = |name: &str| provider.events.iter().any(|event| event.opcode == name);
        let own = provider.opcodes.iter().map(|opcode| Named {
            name: opcode.name.clone(),
            value: (opcode.value, opcode.task.as_ref().and_then(|task| provider.task_value(task)).unwrap_or_default()),
            message: opcode.message.clone(),
        });
        let standard = OPCODES.map(|(name, value, text)| (name, (value, 0), text));
        let opcodes = with_standard(own, &standard, is_used);
        let found = self.parts(&opcodes, |writer, opcode| {
            let (value, task) = opcode.value;
            writer.blob.u16(task);
            writer.blob.u16(value.into());
            let text = writer.text(message::OPCODE, message::opcode(task, value), opcode.message.as_ref());
            writer.blob.u32(text);
        });
        places.opcodes =
            found.into_iter().zip(&opcodes).map(|((name, place), opcode)| ((name, opcode.value.1), place)).collect();
    }

    fn events(&mut self, provider: &Provider, places: &Places) {
        self.blob.u32(count(&provider.events));
        self.blob.u32(0);
        let lists: Vec<u32> = provider.events.iter().map(|event| self.event(provider, event, places)).collect();
        for (event, list) in provider.events.iter().zip(lists) {
            if event.keywords.is_empty() {
                continue;
            }
            self.blob.fill(list, self.blob.here());
            // In the order of their definitions.
            for (_, place) in places.keywords.iter().filter(|(name, _)| event.keywords.contains(name)) {
                self.blob.u32(*place);
            }
        }
    }

    /// Writes the definition of an event. Returns where the offset of its keywords is stored.
    fn event(&mut self, provider: &Provider, event: &Event, places: &Places) -> u32 {
        let numbers = provider.numbers(event);
        let text = self.text(message::EVENT, message::event(event.id, event.version), event.message.as_ref());
        let blob = &mut self.blob;
        blob.u16(event.id);
        blob.0.extend([event.version, numbers.channel, numbers.level, numbers.opcode]);
        blob.u16(numbers.task);
        blob.0.extend(numbers.keyword.to_le_bytes());
        blob.u32(text);
        blob.u32(place_of(&places.templates, event.template.as_str()));
        let opcode = |task: u16| place_of(&places.opcodes, &(event.opcode.clone(), task));
        blob.u32(Some(opcode(numbers.task)).filter(|place| *place != 0).unwrap_or_else(|| opcode(0)));
        blob.u32(place_of(&places.levels, event.level.as_str()));
        blob.u32(place_of(&places.tasks, event.task.as_str()));
        let keywords = places.keywords.iter().filter(|(name, _)| event.keywords.contains(name)).count();
        blob.u32(u32::try_from(keywords).unwrap_or_default());
        let list = blob.later();
        blob.u32(place_of(&places.channels, event.channel.as_str()));
        list
    }
}
