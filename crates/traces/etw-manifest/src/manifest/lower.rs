//! Converts an event of a manifest to an event schema.

use std::collections::HashMap;
use std::sync::Arc;

use etw_types::OutType;

use super::{Data, DataKind, Event, Message, Provider, Size, Template};
use crate::schema::{EventSchema, Extent, Field, MapEntry, Named, Source, ValueMap, limited};
use crate::types::{Encoding, out_from_tdh};

/// Maximum number of fields of an event, including members of structs.
const MAX_FIELDS: usize = 1024;

/// The fields of a template, which its events share, and how many of them are not members of structs.
type Lowered = (Arc<[Field]>, usize);

/// The parts of a provider, by name.
pub(super) struct Lower<'a> {
    provider: &'a Provider,
    name: Arc<str>,
    source: Source,
    templates: HashMap<&'a str, Lowered>,
}

impl<'a> Lower<'a> {
    pub(super) fn new(provider: &'a Provider, source: Source) -> Self {
        let text = |message: &Option<Message>, symbol: &str| match message {
            Some(message) if !message.text.is_empty() => message.text.trim_end().into(),
            _ => symbol.into(),
        };
        let map = |map: &'a super::Map| {
            let entry = |item: &super::MapItem| MapEntry { value: item.value, name: text(&item.message, &item.symbol) };
            let entries = map.items.iter().map(entry).filter(|entry| !entry.name.is_empty()).collect();
            (map.name.as_str(), Arc::new(ValueMap::new(&map.name, map.is_bits, entries)))
        };
        let maps = provider.maps.iter().map(map).collect();
        let template = |template: &'a Template| {
            let mut fields = Fields { maps: &maps, fields: Vec::new() };
            let top_level = fields.add(&template.fields);
            (template.id.as_str(), (fields.fields.into(), top_level))
        };
        let templates = provider.templates.iter().map(template).collect();
        Self { provider, name: limited(&provider.name).into(), source, templates }
    }

    pub(super) fn event(&self, event: &Event) -> EventSchema {
        let (fields, top_level) = self.templates.get(event.template.as_str()).cloned().unwrap_or_default();
        let channel = self.provider.channels.iter().find(|channel| channel.id == event.channel);
        let word = |text: &str| (!text.is_empty()).then(|| text.strip_prefix("win:").unwrap_or(text).into());
        EventSchema {
            provider: Arc::clone(&self.name),
            name: limited(&self.event_name(event)).into(),
            level: word(&event.level),
            channel: channel.map(|channel| channel.name.as_str().into()).or_else(|| word(&event.channel)),
            keywords: event.keywords.iter().filter_map(|keyword| word(keyword)).collect(),
            message: event.message.as_ref().map(|message| message.text.as_str().into()),
            fields,
            top_level,
            source: self.source,
        }
    }

    /// Returns the name of an event. The messages of its task and its opcode are meant for people; without a message, their names
    /// are used.
    fn event_name(&self, event: &Event) -> String {
        let shown = |message: &'a Option<Message>| {
            message.as_ref().map(|message| message.text.trim()).filter(|text| !text.is_empty())
        };
        let task = self.provider.tasks.iter().find(|task| task.name == event.task && !event.task.is_empty());
        let opcodes = self.provider.opcodes.iter().filter(|opcode| opcode.name == event.opcode);
        let is_of_task = |opcode: &&super::Opcode| opcode.task.as_ref().is_none_or(|task| *task == event.task);
        let opcode = opcodes.filter(is_of_task).max_by_key(|opcode| opcode.task.is_some());
        Named {
            task: task.and_then(|task| shown(&task.message)).unwrap_or(&event.task),
            opcode: opcode.and_then(|opcode| shown(&opcode.message)).unwrap_or(&event.opcode),
            symbol: &event.symbol,
            message: event.message.as_ref().map_or("", |message| &message.text),
            keyword: event.keywords.first().map_or("", |keyword| keyword.strip_prefix("win:").unwrap_or(keyword)),
            id: event.id,
        }
        .name()
    }
}

struct Fields<'a> {
    maps: &'a HashMap<&'a str, Arc<ValueMap>>,
    fields: Vec<Field>,
}

impl Fields<'_> {
    /// Adds the fields of one level, then the members of those that are structs. Returns the number of fields of this level.
    fn add(&mut self, data: &[Data]) -> usize {
        let first = self.fields.len();
        // Nothing is known about the bytes after a field of an unknown type.
        let known = data.iter().position(contains_unknown).map_or(data.len(), |place| place + 1);
        let data: Vec<&Data> = data.iter().take(known.min(MAX_FIELDS.saturating_sub(first))).collect();
        for item in &data {
            let extent = |size: &Size| match size {
                Size::None => Extent::None,
                Size::Fixed(number) => Extent::Fixed(*number),
                Size::Field(name) => {
                    let place = data.iter().position(|other| other.name == *name);
                    let place = place.and_then(|place| u16::try_from(first + place).ok());
                    place.map_or(Extent::None, Extent::Field)
                }
            };
            let (encoding, out, map) = match &item.kind {
                DataKind::Value { encoding, out, map } => {
                    let map = map.as_ref().and_then(|name| self.maps.get(name.as_str()).cloned());
                    (*encoding, out_from_tdh(*out), map)
                }
                DataKind::Struct(_) if contains_unknown(item) => (Encoding::RestBytes, OutType::Default, None),
                DataKind::Struct(_) => (Encoding::Struct { first: 0, members: 0 }, OutType::Default, None),
                DataKind::Unknown(_) => (Encoding::RestBytes, OutType::Default, None),
            };
            let (count, length) = match encoding {
                Encoding::RestBytes => (Extent::None, Extent::None),
                _ => (extent(&item.count), extent(&item.length)),
            };
            self.fields.push(Field { name: limited(&item.name).into(), encoding, out, count, length, map });
        }
        for (place, item) in data.iter().enumerate() {
            if let DataKind::Struct(members) = &item.kind
                && !contains_unknown(item)
            {
                let start = self.fields.len();
                let added = self.add(members);
                if let (Some(field), Ok(first), Ok(members)) =
                    (self.fields.get_mut(first + place), u16::try_from(start), u16::try_from(added))
                {
                    field.encoding = Encoding::Struct { first, members };
                }
            }
        }
        data.len()
    }
}

/// Returns whether the size of a field is unknown.
fn contains_unknown(data: &Data) -> bool {
    match &data.kind {
        DataKind::Value { .. } => false,
        DataKind::Struct(members) => members.iter().any(contains_unknown),
        DataKind::Unknown(_) => true,
    }
}
