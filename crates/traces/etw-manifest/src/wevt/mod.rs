//! Manifests compiled into a binary: the `WEVT_TEMPLATE` resource and its message table.
//!
//! The layout follows the description of libyal's libfwevt and resources that Microsoft's message compiler wrote. They differ about
//! maps, whose flags libfwevt takes for the number of entries; the compiler's layout is used. All offsets are relative to the
//! start of the resource. The result is the model of manifests, without the symbols and string ids, which a binary does not
//! contain.

mod binary_xml;
mod blob;
mod messages;
#[cfg(feature = "binaries")]
mod resources;
mod write;

use etw_types::Guid;

pub use messages::{Messages, message_table};
#[cfg(feature = "binaries")]
pub use resources::{Resources, resources};
pub use write::{Text, write};

use crate::bytes::{guid_at, size_at, u16_at, u32_at, u64_at, utf16};
use crate::manifest::{Channel, Data, DataKind, Event, Filter, Keyword, Level, Manifest, Map, MapItem, Message};
use crate::manifest::{Opcode, ParseError, Provider, Size, Task, Template};
use crate::types::Encoding;

/// Size of an event's definition in bytes.
const EVENT_SIZE: usize = 48;
/// Size of a field's description in bytes.
const ITEM_SIZE: usize = 20;
/// Maximum number of fields of a template.
const MAX_ITEMS: usize = 1024;
/// Maximum length of a name, in bytes.
const MAX_NAME_BYTES: usize = 2048;
/// Maximum number of elements of one list, such as events or levels.
const MAX_PARTS: usize = 0x1_0000;

const FLAG_STRUCT: u32 = 0x01;
const FLAG_FIXED_LENGTH: u32 = 0x02;
const FLAG_LENGTH_FIELD: u32 = 0x04;
const FLAG_FIXED_COUNT: u32 = 0x08;
const FLAG_COUNT_FIELD: u32 = 0x10;

/// Parses a `WEVT_TEMPLATE` resource.
///
/// # Errors
///
/// Says what is malformed.
pub fn parse(resource: &[u8], messages: &Messages) -> Result<Manifest, &'static str> {
    if resource.get(..4) != Some(b"CRIM") {
        return Err("the WEVT_TEMPLATE resource does not start with CRIM");
    }
    let count = size_at(resource, 12).ok_or("the WEVT_TEMPLATE resource is cut off")?;
    let table = resource.get(16..).unwrap_or_default().as_chunks::<20>().0;
    let table = table.get(..count).ok_or("the WEVT_TEMPLATE resource has fewer providers than its header says")?;
    let mut manifest = Manifest::default();
    for entry in table {
        let (Some(guid), Some(offset)) = (guid_at(entry, 0), size_at(entry, 16)) else { continue };
        let reader = Reader { resource, messages };
        manifest.providers.push(reader.provider(guid, offset).ok_or("a provider of the resource is malformed")?);
    }
    for provider in &manifest.providers {
        for template in &provider.templates {
            notes(&provider.name, &template.fields, &mut manifest.notes);
        }
    }
    Ok(manifest)
}

/// Adds a note for each field whose type is unknown.
fn notes(provider: &str, fields: &[Data], notes: &mut Vec<ParseError>) {
    for field in fields {
        match &field.kind {
            DataKind::Value { .. } => {}
            DataKind::Struct(members) => self::notes(provider, members, notes),
            DataKind::Unknown(kind) => notes.push(ParseError::without_place(format!(
                "unknown in-type {kind} in the resource of {provider}: from the field '{}' on, the payload is shown as bytes",
                field.name
            ))),
        }
    }
}

struct Reader<'a> {
    resource: &'a [u8],
    messages: &'a Messages,
}

impl Reader<'_> {
    fn provider(&self, guid: Guid, offset: usize) -> Option<Provider> {
        let header = self.resource.get(offset..)?;
        (header.get(..4)? == b"WEVT").then_some(())?;
        let mut provider = Provider { guid, message: self.message(u32_at(header, 8)?), ..Provider::default() };
        let mut filters = None;
        let lists = header.get(20..)?.as_chunks::<8>().0.get(..size_at(header, 12)?)?;
        for list in lists {
            let list = size_at(list, 0)?;
            let count = size_at(self.resource, list + 8)?.min(MAX_PARTS);
            let parts = self.resource.get(list + 12..)?;
            match self.resource.get(list..list + 4)? {
                b"CHAN" => provider.channels = all(parts, count, |part: &[u8; 16]| self.channel(part))?,
                b"LEVL" => provider.levels = all(parts, count, |part: &[u8; 12]| self.level(part))?,
                b"OPCO" => provider.opcodes = all(parts, count, |part: &[u8; 12]| self.opcode(part))?,
                b"TASK" => provider.tasks = all(parts, count, |part: &[u8; 28]| self.task(part))?,
                b"KEYW" => provider.keywords = all(parts, count, |part: &[u8; 16]| self.keyword(part))?,
                b"PRVA" => provider.name = self.name_attribute(parts, count).unwrap_or_default(),
                b"EVNT" => self.events(&mut provider, parts, count)?,
                b"FLTR" => filters = Some((parts, count)),
                // Templates and maps are read when an event, a filter or a field refers to them.
                _ => {}
            }
        }
        if let Some((parts, count)) = filters {
            self.filters(&mut provider, parts, count)?;
        }
        if provider.name.is_empty() {
            // Resources of older compilers do not contain the name, but the names of channels start with it.
            let channel = provider.channels.iter().find_map(|channel| channel.name.split_once('/'));
            provider.name = channel.map_or_else(|| guid.to_string(), |(name, _)| name.to_owned());
        }
        for opcode in &mut provider.opcodes {
            let task = opcode.task.take().and_then(|number| number.parse::<u16>().ok()).filter(|number| *number != 0);
            opcode.task = task
                .and_then(|number| provider.tasks.iter().find(|task| task.value == number))
                .map(|task| task.name.clone());
        }
        Some(provider)
    }

    /// Reads a text that is preceded by its size.
    fn name(&self, offset: usize) -> Option<String> {
        let size = size_at(self.resource, offset)?.checked_sub(4)?;
        let text = self.resource.get(offset + 4..)?.get(..size)?;
        // Many parts can refer to one name.
        Some(utf16(text.get(..MAX_NAME_BYTES).unwrap_or(text)))
    }

    /// Reads the name whose offset is stored at `place` in an element; empty if the offset is 0.
    fn named(&self, part: &[u8], place: usize) -> Option<String> {
        match size_at(part, place)? {
            0 => Some(String::new()),
            offset => self.name(offset),
        }
    }

    fn message(&self, id: u32) -> Option<Message> {
        let text = self.messages.get(id)?;
        Some(Message { id: String::new(), text: text.to_owned() })
    }

    /// Attribute number 1 is the provider's name, which has no size before it.
    fn name_attribute(&self, parts: &[u8], count: usize) -> Option<String> {
        let attributes = parts.as_chunks::<8>().0.iter().take(count);
        let name = attributes.into_iter().find(|attribute| u16_at(&attribute[..], 0) == Some(1))?;
        Some(utf16(self.resource.get(size_at(name, 4)?..)?))
    }

    fn channel(&self, part: &[u8; 16]) -> Option<Channel> {
        let name = self.named(part, 4)?;
        let value = u8::try_from(u32_at(part, 8)?).ok();
        let message = self.message(u32_at(part, 12)?);
        Some(Channel { id: name.clone(), name, value, message, ..Channel::default() })
    }

    fn level(&self, part: &[u8; 12]) -> Option<Level> {
        let value = u8::try_from(u32_at(part, 0)?).unwrap_or(u8::MAX);
        Some(Level {
            name: self.named(part, 8)?,
            value,
            symbol: String::new(),
            message: self.message(u32_at(part, 4)?),
        })
    }

    /// The lower half of an opcode's number is the number of its task. It is kept as text until the tasks are known.
    fn opcode(&self, part: &[u8; 12]) -> Option<Opcode> {
        let task = u16_at(part, 0)?;
        let value = u8::try_from(u16_at(part, 2)?).unwrap_or(u8::MAX);
        let message = self.message(u32_at(part, 4)?);
        Some(Opcode { name: self.named(part, 8)?, value, symbol: String::new(), message, task: Some(task.to_string()) })
    }

    fn task(&self, part: &[u8; 28]) -> Option<Task> {
        let value = u16::try_from(u32_at(part, 0)?).unwrap_or(u16::MAX);
        let guid = guid_at(part, 8).filter(|guid| !guid.is_zero());
        let message = self.message(u32_at(part, 4)?);
        Some(Task { name: self.named(part, 24)?, value, symbol: String::new(), message, guid })
    }

    fn keyword(&self, part: &[u8; 16]) -> Option<Keyword> {
        let message = self.message(u32_at(part, 8)?);
        Some(Keyword { name: self.named(part, 12)?, value: u64_at(part, 0)?, symbol: String::new(), message })
    }

    fn filters(&self, provider: &mut Provider, parts: &[u8], count: usize) -> Option<()> {
        for part in parts.get(4..)?.as_chunks::<16>().0.get(..count)? {
            let filter = Filter {
                name: self.named(part, 8)?,
                value: *part.first()?,
                version: *part.get(1)?,
                symbol: String::new(),
                template: self.template_id(size_at(part, 12)?, provider)?,
                message: self.message(u32_at(part, 4)?),
            };
            provider.filters.push(filter);
        }
        Some(())
    }

    /// Returns the id of the template at an offset; empty if there is none. Adds the template to the provider when it is new.
    fn template_id(&self, offset: usize, provider: &mut Provider) -> Option<String> {
        if offset == 0 {
            return Some(String::new());
        }
        let id = format!("{offset:#x}");
        if !provider.templates.iter().any(|template| template.id == id) {
            let fields = self.template(offset, &mut provider.maps)?;
            provider.templates.push(Template { id: id.clone(), fields, user_data: None });
        }
        Some(id)
    }

    fn events(&self, provider: &mut Provider, parts: &[u8], count: usize) -> Option<()> {
        for part in parts.get(4..)?.as_chunks::<EVENT_SIZE>().0.get(..count)? {
            let template = self.template_id(size_at(part, 20)?, provider)?;
            // An event refers to the definition of a part by offset. `place` is where the event stores that offset; `name` is
            // where the definition stores the offset of its name.
            let part_name = |place: usize, name: usize| match size_at(part, place) {
                None | Some(0) => Some(String::new()),
                Some(offset) => self.named(self.resource.get(offset..)?, name),
            };
            provider.events.push(Event {
                id: u16_at(part, 0)?,
                version: *part.get(2)?,
                symbol: String::new(),
                channel: part_name(44, 4)?,
                level: part_name(28, 8)?,
                opcode: part_name(24, 8)?,
                task: part_name(32, 24)?,
                keywords: self.event_keywords(size_at(part, 36)?, size_at(part, 40)?)?,
                template,
                message: self.message(u32_at(part, 16)?),
            });
        }
        Some(())
    }

    fn event_keywords(&self, count: usize, offset: usize) -> Option<Vec<String>> {
        if count == 0 {
            return Some(Vec::new());
        }
        let offsets = self.resource.get(offset..)?.as_chunks::<4>().0.get(..count.min(64))?;
        offsets.iter().map(|place| self.named(self.resource.get(size_at(place, 0)?..)?, 12)).collect()
    }

    fn template(&self, offset: usize, maps: &mut Vec<Map>) -> Option<Vec<Data>> {
        let header = self.resource.get(offset..)?;
        (header.get(..4)? == b"TEMP").then_some(())?;
        let top = size_at(header, 8)?;
        let all = size_at(header, 12)?;
        if all == 0 {
            return Some(Vec::new());
        }
        (top <= all && all <= MAX_ITEMS).then_some(())?;
        let items = self.resource.get(size_at(header, 16)?..)?.as_chunks::<ITEM_SIZE>().0.get(..all)?;
        let mut left = all;
        self.fields(items, (0, top), maps, &mut left)
    }

    /// Parses `count` items from `first` on. Each item belongs to one struct at most, so there cannot be more fields than
    /// items; `left` is the number of fields that can still follow. This also stops cycles.
    fn fields(
        &self,
        items: &[[u8; ITEM_SIZE]],
        (first, count): (usize, usize),
        maps: &mut Vec<Map>,
        left: &mut usize,
    ) -> Option<Vec<Data>> {
        let mut fields = Vec::new();
        for item in items.get(first..)?.get(..count)? {
            *left = left.checked_sub(1)?;
            let flags = u32_at(item, 0)?;
            let size = |fixed: u32, field: u32, place: usize| {
                let number = u16_at(item, place)?;
                Some(if flags & field != 0 {
                    Size::Field(self.named(items.get(usize::from(number))?, 16)?)
                } else if flags & fixed != 0 {
                    Size::Fixed(number)
                } else {
                    Size::None
                })
            };
            let kind = if flags & FLAG_STRUCT != 0 {
                let start = usize::from(u16_at(item, 4)?);
                let members = usize::from(u16_at(item, 6)?);
                DataKind::Struct(self.fields(items, (start, members), maps, left)?)
            } else if let Some(encoding) = Encoding::from_tdh(u16::from(*item.get(4)?)) {
                let out = u16::from(*item.get(5)?);
                let map = match size_at(item, 8)? {
                    0 => None,
                    offset => Some(self.map(offset, maps)?),
                };
                DataKind::Value { encoding, out, map }
            } else {
                DataKind::Unknown(item.get(4)?.to_string())
            };
            fields.push(Data {
                name: self.named(item, 16)?,
                kind,
                count: size(FLAG_FIXED_COUNT, FLAG_COUNT_FIELD, 12)?,
                length: size(FLAG_FIXED_LENGTH, FLAG_LENGTH_FIELD, 14)?,
            });
        }
        Some(fields)
    }

    /// Parses a map unless it is already known, and returns its name.
    fn map(&self, offset: usize, maps: &mut Vec<Map>) -> Option<String> {
        let header = self.resource.get(offset..)?;
        let is_bits = match header.get(..4)? {
            b"VMAP" => false,
            b"BMAP" => true,
            _ => return None,
        };
        let name = self.named(header, 8)?;
        if !maps.iter().any(|map| map.name == name) {
            let count = size_at(header, 16)?.min(MAX_PARTS);
            let items = all(header.get(20..)?, count, |item: &[u8; 8]| {
                Some(MapItem {
                    value: u32_at(item, 0)?,
                    symbol: String::new(),
                    message: self.message(u32_at(item, 4)?),
                })
            })?;
            maps.push(Map { name: name.clone(), is_bits, symbol: String::new(), items });
        }
        Some(name)
    }
}

/// Parses `count` elements of a list.
fn all<const N: usize, T>(parts: &[u8], count: usize, read: impl Fn(&[u8; N]) -> Option<T>) -> Option<Vec<T>> {
    parts.as_chunks::<N>().0.get(..count)?.iter().map(read).collect()
}
