//! Schemas that a trace contains about its own events: `TRACE_EVENT_INFO` and `EVENT_MAP_INFO`, as documented for `tdh.h`.
//!
//! Tools that merge traces write them as classic events of the class [`METADATA_CLASS`]. [`TraceSchemas`] keeps their bytes and
//! parses a schema when it is first needed.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use etw_types::{Guid, OutType};
use windows_constants::tracing::{
    DecodingSourceWbem, EVENTMAP_INFO_FLAG_MANIFEST_BITMAP, EVENTMAP_INFO_FLAG_MANIFEST_PATTERNMAP,
    EVENTMAP_INFO_FLAG_WBEM_BITMAP, PropertyParamCount, PropertyParamFixedCount, PropertyParamLength, PropertyStruct,
};

use crate::bytes::{guid_at, size_at, u16_at, u32_at, utf16};
use crate::envelope::{self, Assembler};
use crate::manifest::{Manifest, ManifestSchemas};
use crate::schema::{EventKey, EventSchema, Extent, Field, MapEntry, Named, Schema, Source, ValueMap, limited};
use crate::types::{Encoding, out_from_tdh};

/// The class of events that describe other events.
pub const METADATA_CLASS: Guid = Guid::from_u128(0xbbcc_f6c1_6cd1_48c4_80ff_8394_82e3_7671);
/// Type of an event with a `TRACE_EVENT_INFO`.
pub const TYPE_EVENT_INFO: u8 = 32;
/// Type of an event with a provider's GUID and an `EVENT_MAP_INFO`.
pub const TYPE_MAP_INFO: u8 = 33;

/// Approximate maximum memory for the schemas of a trace, in bytes.
const MAX_MEMORY: usize = 256 * 1024 * 1024;
/// Number of fields in cached schemas at which the cache is emptied.
const MAX_CACHED_FIELDS: usize = 1 << 18;
/// Memory cost of a schema in addition to its bytes.
const COST: usize = 128;

const PROPERTIES: usize = 112;
const PROPERTY_SIZE: usize = 24;

/// What a `TRACE_EVENT_INFO` describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct EventId {
    guid: Guid,
    id: u16,
    version: u8,
    opcode: u8,
    is_classic: bool,
}

impl EventId {
    fn from_info(info: &[u8]) -> Option<Self> {
        let id = u16_at(info, 32)?;
        let [version, _channel, _level, opcode] = *info.get(34..)?.first_chunk()?;
        if u32_at(info, 48)? == DecodingSourceWbem {
            Some(Self { guid: guid_at(info, 16)?, id: 0, version, opcode, is_classic: true })
        } else {
            Some(Self { guid: guid_at(info, 0)?, id, version, opcode: 0, is_classic: false })
        }
    }

    fn from_key(key: &EventKey) -> Self {
        let EventKey { provider: guid, id, version, opcode, is_classic, .. } = *key;
        if is_classic {
            Self { guid, id: 0, version, opcode, is_classic }
        } else {
            Self { guid, id, version, opcode: 0, is_classic }
        }
    }
}

/// The schemas that a trace contains.
#[derive(Debug, Default)]
pub struct TraceSchemas {
    events: HashMap<EventId, Box<[u8]>>,
    maps: HashMap<(Guid, Box<str>), Arc<ValueMap>>,
    providers: HashMap<Guid, Arc<str>>,
    manifests: ManifestSchemas,
    chunks: Assembler,
    held: usize,
    dropped: u64,
    bad: u64,
    /// Cache of parsed schemas, and the number of their fields.
    read: RwLock<(HashMap<EventId, Arc<EventSchema>>, usize)>,
}

impl TraceSchemas {
    /// Adds the payload of an event of [`METADATA_CLASS`]. Descriptions that are already known are not replaced.
    pub fn add(&mut self, event_type: u8, payload: &[u8]) {
        let is_taken = match event_type {
            TYPE_EVENT_INFO => self.add_event(payload),
            TYPE_MAP_INFO => self.add_map(payload),
            _ => Some(()),
        };
        self.bad += u64::from(is_taken.is_none());
    }

    /// Adds a chunk of an `EventSource` manifest: the payload of an event with the id 0xFFFE.
    pub fn add_chunk(&mut self, provider: Guid, process: u32, payload: &[u8]) {
        if let Some(manifest) = self.chunks.add(provider, process, payload) {
            match Manifest::parse(&manifest) {
                Ok(manifest) => self.manifests.add(&manifest, Source::Trace),
                Err(_) => self.bad += 1,
            }
        }
    }

    fn add_event(&mut self, info: &[u8]) -> Option<()> {
        let known = EventId::from_info(info)?;
        if self.events.contains_key(&known) || !self.fits(info.len()) {
            return Some(());
        }
        if let Some(name) = text(info, 52) {
            self.providers.entry(known.guid).or_insert_with(|| limited(&name).into());
        }
        self.events.insert(known, info.into());
        Some(())
    }

    fn add_map(&mut self, payload: &[u8]) -> Option<()> {
        let provider = guid_at(payload, 0)?;
        let map = map(payload.get(16..)?)?;
        if self.fits(payload.len()) {
            self.maps.entry((provider, map.name.clone())).or_insert_with(|| Arc::new(map));
        }
        Some(())
    }

    fn fits(&mut self, bytes: usize) -> bool {
        let fits = self.held + bytes + COST <= MAX_MEMORY;
        if fits {
            self.held += bytes + COST;
        } else {
            self.dropped += 1;
        }
        fits
    }

    /// Returns how many events the trace describes, including those of `EventSource` manifests.
    #[must_use]
    pub fn len(&self) -> usize {
        self.events.len() + self.manifests.len()
    }

    /// Returns whether the trace describes no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many descriptions, including chunks of manifests, were dropped because of the memory limits.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped + self.chunks.dropped()
    }

    /// Returns how many descriptions could not be parsed.
    #[must_use]
    pub fn malformed(&self) -> u64 {
        self.bad
    }

    fn read(&self, known: &EventId) -> Option<Arc<EventSchema>> {
        let schema = self.read.read().ok().and_then(|read| read.0.get(known).cloned());
        if schema.is_some() {
            return schema;
        }
        let info = self.events.get(known)?;
        let schema = Arc::new(event(info, |name| self.maps.get(&(guid_at(info, 0)?, name.into())).cloned())?);
        if let Ok(mut read) = self.read.write() {
            let (known_schemas, fields) = &mut *read;
            if *fields > MAX_CACHED_FIELDS {
                known_schemas.clear();
                *fields = 0;
            }
            *fields += schema.fields.len();
            known_schemas.insert(*known, Arc::clone(&schema));
        }
        Some(schema)
    }
}

impl Schema for TraceSchemas {
    fn event(&self, key: &EventKey) -> Option<Arc<EventSchema>> {
        let known = self.read(&EventId::from_key(key)).or_else(|| self.manifests.event(key));
        // A manifest does not describe the events that contain it.
        known.or_else(|| {
            let is_manifest = !key.is_classic && key.id == envelope::EVENT_ID;
            is_manifest.then(|| self.manifests.provider_name(&key.provider).map(envelope::schema))?
        })
    }

    fn provider_name(&self, provider: &Guid) -> Option<Arc<str>> {
        self.providers.get(provider).cloned().or_else(|| self.manifests.provider_name(provider))
    }
}

/// Reads the text whose offset is stored at `place`.
fn text(info: &[u8], place: usize) -> Option<String> {
    let offset = size_at(info, place).filter(|offset| *offset != 0)?;
    let text = utf16(info.get(offset..)?);
    let text = text.trim_end();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Reads consecutive texts; the offset of the first one is stored at `place`.
fn texts(info: &[u8], place: usize) -> Vec<Box<str>> {
    let mut texts = Vec::new();
    let Some(mut offset) = size_at(info, place).filter(|offset| *offset != 0) else { return texts };
    while let Some(bytes) = info.get(offset..) {
        let text = utf16(bytes);
        if text.is_empty() {
            break;
        }
        offset += 2 * (text.encode_utf16().count() + 1);
        texts.push(text.trim_end().into());
    }
    texts
}

/// Parses a `TRACE_EVENT_INFO`. `map` looks up a map of the same provider by name.
///
/// Returns `None` if the structure is malformed.
#[must_use]
pub fn event(info: &[u8], map: impl Fn(&str) -> Option<Arc<ValueMap>>) -> Option<EventSchema> {
    let count = size_at(info, 100)?;
    let top_level = size_at(info, 104)?.min(count);
    let properties = info.get(PROPERTIES..)?.get(..count.checked_mul(PROPERTY_SIZE)?)?;
    let mut fields = Vec::with_capacity(count);
    for property in properties.as_chunks::<PROPERTY_SIZE>().0 {
        fields.push(field(info, property, &map)?);
    }
    let keywords = texts(info, 64);
    let [task, opcode, message] = [68, 72, 76].map(|place| text(info, place).unwrap_or_default());
    let name = Named {
        task: &task,
        opcode: &opcode,
        symbol: "",
        message: &message,
        keyword: keywords.first().map_or("", |keyword| keyword),
        id: u16_at(info, 32)?,
    };
    Some(EventSchema {
        provider: limited(&text(info, 52).unwrap_or_default()).into(),
        name: limited(&name.name()).into(),
        level: text(info, 56).map(Into::into),
        channel: text(info, 60).map(Into::into),
        message: (!message.is_empty()).then(|| message.into()),
        keywords,
        fields: fields.into(),
        top_level,
        source: Source::Trace,
    })
}

fn field(info: &[u8], property: &[u8], map: &impl Fn(&str) -> Option<Arc<ValueMap>>) -> Option<Field> {
    let flags = u32_at(property, 0)?;
    let first = u16_at(property, 8)?;
    let second = u16_at(property, 10)?;
    let count = u16_at(property, 16)?;
    let length = u16_at(property, 18)?;
    let count = match count {
        place if flags & PropertyParamCount != 0 => Extent::Field(place),
        count if count > 1 || flags & PropertyParamFixedCount != 0 => Extent::Fixed(count),
        _ => Extent::None,
    };
    let length = match length {
        place if flags & PropertyParamLength != 0 => Extent::Field(place),
        0 => Extent::None,
        length => Extent::Fixed(length),
    };
    let (encoding, out, map) = if flags & PropertyStruct != 0 {
        (Encoding::Struct { first, members: second }, OutType::Default, None)
    } else {
        (Encoding::from_tdh(first)?, out_from_tdh(second), named_map(info, property, map))
    };
    let name = size_at(property, 4).filter(|offset| *offset != 0).and_then(|offset| info.get(offset..)).map(utf16);
    Some(Field { name: limited(&name.unwrap_or_default()).into(), encoding, out, count, length, map })
}

fn named_map(info: &[u8], property: &[u8], map: &impl Fn(&str) -> Option<Arc<ValueMap>>) -> Option<Arc<ValueMap>> {
    let offset = size_at(property, 12).filter(|offset| *offset != 0)?;
    map(&utf16(info.get(offset..)?))
}

/// Parses an `EVENT_MAP_INFO` of a manifest: values or bits with names. Returns `None` if the structure is malformed or a pattern
/// map.
#[must_use]
pub fn map(info: &[u8]) -> Option<ValueMap> {
    const BITS: u32 = EVENTMAP_INFO_FLAG_MANIFEST_BITMAP | EVENTMAP_INFO_FLAG_WBEM_BITMAP;
    let name = utf16(info.get(size_at(info, 0)?..)?);
    let flags = u32_at(info, 4)?;
    if flags & EVENTMAP_INFO_FLAG_MANIFEST_PATTERNMAP != 0 {
        return None;
    }
    let entries = info.get(16..)?.get(..size_at(info, 8)?.checked_mul(8)?)?;
    let mut named = Vec::with_capacity(entries.len() / 8);
    for entry in entries.as_chunks::<8>().0 {
        let text = utf16(info.get(size_at(entry, 0)?..)?);
        named.push(MapEntry { value: u32_at(entry, 4)?, name: text.trim_end().into() });
    }
    Some(ValueMap::new(&name, flags & BITS != 0, named))
}
