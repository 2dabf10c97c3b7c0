//! Writes templates: the fields of events, and their binary XML.

use etw_types::Guid;

use super::super::{FLAG_COUNT_FIELD, FLAG_FIXED_COUNT, FLAG_FIXED_LENGTH, FLAG_LENGTH_FIELD, FLAG_STRUCT, binary_xml};
use super::{Writer, count, place_of};
use crate::manifest::{Data, DataKind, Provider, Size, Template};

/// Template flag: its fields are `EventData`.
const EVENT_DATA: u32 = 1;

impl Writer {
    pub(super) fn template(&mut self, provider: &Provider, template: &Template, maps: &[(String, u32)]) {
        let mut items: Vec<Item<'_>> = Vec::new();
        flatten(&template.fields, &mut items);
        let start = self.blob.here();
        self.blob.0.extend(b"TEMP");
        let size = self.blob.later();
        self.blob.u32(count(&template.fields));
        self.blob.u32(count(&items));
        let offset = self.blob.later();
        self.blob.u32(EVENT_DATA);
        // The event log identifies a template by this GUID. Equal templates may share one; different templates must not.
        let id = Guid::from_name(&format!("{} {:?}", provider.guid, template.fields));
        self.blob.0.extend(id.to_bytes_le());
        binary_xml::push(&mut self.blob, &template.fields);
        self.blob.align(4);
        self.blob.fill(offset, self.blob.here());
        let names: Vec<u32> = items.iter().map(|item| self.item(item, &items, maps)).collect();
        for (item, name) in items.iter().zip(names) {
            self.blob.name(name, &item.data.name);
        }
        self.blob.fill_size(size, start);
    }

    /// Writes the description of a field. Returns where the offset of its name is stored.
    fn item(&mut self, item: &Item<'_>, items: &[Item<'_>], maps: &[(String, u32)]) -> u32 {
        let index = |name: &str| {
            let place = items.iter().position(|other| other.parent == item.parent && other.data.name == name);
            place.and_then(|place| u16::try_from(place).ok()).unwrap_or_default()
        };
        let number = |size: &Size, fixed: u32, field: u32| match size {
            Size::None => (0, 0),
            Size::Fixed(number) => (fixed, *number),
            Size::Field(name) => (field, index(name)),
        };
        let (count_flag, count) = number(&item.data.count, FLAG_FIXED_COUNT, FLAG_COUNT_FIELD);
        let (length_flag, length) = number(&item.data.length, FLAG_FIXED_LENGTH, FLAG_LENGTH_FIELD);
        let blob = &mut self.blob;
        match &item.data.kind {
            DataKind::Value { encoding, out, map } => {
                blob.u32(count_flag | length_flag);
                blob.0.push(u8::try_from(encoding.to_tdh()).unwrap_or_default());
                blob.0.push(u8::try_from(*out).unwrap_or_default());
                blob.u16(0);
                blob.u32(map.as_ref().map_or(0, |map| place_of(maps, map.as_str())));
            }
            // A manifest with such a field does not pass the checks.
            DataKind::Unknown(_) => blob.0.extend([0; 12]),
            DataKind::Struct(members) => {
                blob.u32(count_flag | length_flag | FLAG_STRUCT);
                blob.u16(item.first_member);
                blob.u16(u16::try_from(members.len()).unwrap_or(u16::MAX));
                blob.u32(0);
            }
        }
        blob.u16(count);
        blob.u16(length);
        blob.later()
    }
}

/// A field and its position: `parent` is the index of its struct.
struct Item<'a> {
    data: &'a Data,
    parent: Option<usize>,
    first_member: u16,
}

/// Appends the fields of one level, then the members of those that are structs.
fn flatten<'a>(fields: &'a [Data], items: &mut Vec<Item<'a>>) {
    items.extend(fields.iter().map(|data| Item { data, parent: None, first_member: 0 }));
    let mut at = 0;
    while let Some(item) = items.get(at) {
        if let DataKind::Struct(members) = &item.data.kind {
            let first = u16::try_from(items.len()).unwrap_or(u16::MAX);
            if let Some(item) = items.get_mut(at) {
                item.first_member = first;
            }
            items.extend(members.iter().map(|data| Item { data, parent: Some(at), first_member: 0 }));
        }
        at += 1;
    }
}
