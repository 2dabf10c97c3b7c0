//! Writes maps and filters.

use super::{Places, Writer, count, place_of};
use crate::manifest::numbers::message;
use crate::manifest::{Map, MapItem, Provider};

/// Map flag: the values are bits.
const BITS: u32 = 1;

impl Writer {
    /// Writes a table of offsets, the maps, and their names. The table and the names are ordered by name, the maps as in the
    /// manifest, and the entries of a map by value.
    pub(super) fn maps(&mut self, provider: &Provider, places: &mut Places) {
        let mut by_name: Vec<&Map> = provider.maps.iter().collect();
        by_name.sort_by(|one, other| one.name.encode_utf16().cmp(other.name.encode_utf16()));
        self.blob.u32(count(&provider.maps));
        let offsets: Vec<(&str, u32)> = by_name.iter().map(|map| (map.name.as_str(), self.blob.later())).collect();
        let mut names = Vec::new();
        for map in &provider.maps {
            let start = self.blob.here();
            self.blob.fill(place_of(&offsets, &map.name.as_str()), start);
            places.maps.push((map.name.clone(), start));
            self.blob.0.extend(if map.is_bits { b"BMAP" } else { b"VMAP" });
            let size = self.blob.later();
            names.push((map.name.as_str(), self.blob.later()));
            self.blob.u32(if map.is_bits { BITS } else { 0 });
            self.blob.u32(count(&map.items));
            for (value, text) in self.map_items(map) {
                self.blob.u32(value);
                self.blob.u32(text);
            }
            self.blob.fill_size(size, start);
        }
        for map in by_name {
            self.blob.name(place_of(&names, &map.name.as_str()), &map.name);
        }
    }

    /// Returns the values of a map and the numbers of their messages. The messages are numbered in the order of the manifest.
    fn map_items(&mut self, map: &Map) -> Vec<(u32, u32)> {
        let mut item = |item: &MapItem| {
            let (kind, next) =
                if map.is_bits { (message::BIT_MAP, &mut self.bits) } else { (message::VALUE_MAP, &mut self.values) };
            *next += u32::from(item.message.is_some());
            let part = *next;
            (item.value, self.text(kind, part, item.message.as_ref()))
        };
        let mut items: Vec<(u32, u32)> = map.items.iter().map(&mut item).collect();
        items.sort_by_key(|(value, _)| *value);
        items
    }

    pub(super) fn filters(&mut self, provider: &Provider, places: &Places) {
        let template = |id: &str| if id.is_empty() { 0 } else { place_of(&places.templates, id) };
        self.blob.u32(count(&provider.filters));
        // Microsoft's compiler leaves the last filter's template here; readers ignore the number.
        self.blob.u32(provider.filters.last().map_or(0, |filter| template(&filter.template)));
        let mut names = Vec::new();
        for filter in &provider.filters {
            self.blob.0.extend([filter.value, filter.version, 0, 0]);
            let part = message::filter(filter.value, filter.version);
            let text = self.text(message::LEVEL, part, filter.message.as_ref());
            self.blob.u32(text);
            names.push(self.blob.later());
            self.blob.u32(template(&filter.template));
        }
        for (filter, name) in provider.filters.iter().zip(names) {
            self.blob.name(name, &filter.name);
        }
    }
}
