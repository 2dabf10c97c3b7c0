//! Finds the schemas of events, and caches what was found.

use std::collections::HashMap;
use std::sync::Arc;

use etw_manifest::{EventKey, EventSchema, Layers, PointerSize, Schema};

use super::links::Links;
use super::plan::Plan;
use super::sinks::Count;
use super::walk::walk;
use crate::event::{EventRef, Kind};
use crate::format::event::{EVENT_HEADER_FLAG_CLASSIC_HEADER, EVENT_HEADER_FLAG_STRING_ONLY};
use crate::format::record::Layout;

/// Maximum number of cached lookups. A trace has some thousand kinds of events, but a hostile one may have as many as it has
/// events.
const MAX_KNOWN: usize = 0x1_0000;
/// Number of lookups that are cached without hashing; a power of two.
const RECENT: usize = 64;
/// The same for kernel events, which are looked up by hook id instead of GUID.
const HOOKS: usize = 256;

/// Version, pointer size and hook id of a kernel event, as one number because it is compared for every event.
type Hook = u32;

/// The schemas that an event may have, in order of precedence; usually one or none.
type Found = Arc<[Resolved]>;

/// A schema, and how to walk its events.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) schema: Arc<EventSchema>,
    pub(super) plan: Plan,
    pub(super) links: Links,
}

impl Resolved {
    fn new(schema: Arc<EventSchema>, key: &EventKey) -> Self {
        Self { plan: Plan::new(&schema, key.pointer), links: Links::new(&schema, key), schema }
    }

    /// Whether the schema accounts for all bytes of a payload.
    fn is_whole(&self, pointer: PointerSize, payload: &[u8]) -> bool {
        if let Some((_, is_whole)) = self.plan.fixed(payload) {
            return is_whole;
        }
        let walked = walk(&self.schema, &self.plan, pointer, payload, &mut Count);
        walked.rest.is_empty() && walked.error.is_none()
    }
}

/// Returns the first schema that accounts for all bytes of a payload, or else the first one: a manifest of another version may know
/// an event worse than a later source.
#[inline]
fn choose<'f>(found: &'f [Resolved], pointer: PointerSize, payload: &[u8]) -> Option<&'f Resolved> {
    match found {
        [] => None,
        [only] => Some(only),
        [first, ..] => Some(found.iter().find(|known| known.is_whole(pointer, payload)).unwrap_or(first)),
    }
}

/// The sources of schemas, and the schemas of the events so far.
#[derive(Debug)]
pub(super) struct Lookup {
    pub(super) layers: Layers,
    known: HashMap<EventKey, Found>,
    recent: Vec<Option<(EventKey, Found)>>,
    hooks: Vec<Option<(Hook, Found)>>,
}

impl Lookup {
    pub(super) fn new(layers: Layers) -> Self {
        Self { layers, known: HashMap::new(), recent: vec![None; RECENT], hooks: vec![None; HOOKS] }
    }

    /// Adds a source that is searched after all others, and forgets which events are unknown.
    pub(super) fn push(&mut self, source: Arc<dyn Schema>) {
        self.layers.push(source);
        self.known.clear();
        self.recent.fill(None);
        self.hooks.fill(None);
    }

    /// Returns the pointer size and the schema of an event, if a source has one, or `None` if the event is self-describing or cannot
    /// have a schema.
    pub(super) fn find_for(&mut self, event: &EventRef<'_>) -> Option<(PointerSize, Option<&Resolved>)> {
        let header = &event.header;
        let pointer = pointer_size(event);
        if !header.layout.is_kernel() {
            return Some((pointer, choose(self.find(&key(event)?)?, pointer, event.payload())));
        }
        let [kind, group] = header.descriptor.id.to_le_bytes();
        let hook = Hook::from_le_bytes([header.descriptor.version, header.is_32_bit.into(), kind, group]);
        let place = usize::from(kind.wrapping_add(group.wrapping_mul(7))) % HOOKS;
        if self.hooks.get(place)?.as_ref().is_none_or(|(known, _)| *known != hook) {
            let found = Arc::clone(self.find(&key(event)?)?);
            *self.hooks.get_mut(place)? = Some((hook, found));
        }
        self.hooks.get(place)?.as_ref().map(|(_, found)| (pointer, choose(found, pointer, event.payload())))
    }

    fn find(&mut self, key: &EventKey) -> Option<&Found> {
        let place = usize::from(key.opcode) ^ usize::from(key.id) ^ usize::from(key.provider.data2);
        let Self { layers, known, recent, .. } = self;
        let slot = recent.get_mut(place % RECENT)?;
        if slot.as_ref().is_none_or(|(other, _)| other != key) {
            if known.len() >= MAX_KNOWN {
                known.clear();
            }
            let found = known
                .entry(*key)
                .or_insert_with(|| {
                    let candidates = layers.candidates(key).into_iter();
                    candidates.map(|schema| Resolved::new(schema, key)).collect()
                })
                .clone();
            *slot = Some((*key, found));
        }
        slot.as_ref().map(|(_, found)| found)
    }
}

/// Returns the lookup key of an event, or `None` if it is self-describing or cannot have a schema.
fn key(event: &EventRef<'_>) -> Option<EventKey> {
    let header = &event.header;
    let is_classic = match header.layout {
        Layout::Event if header.flags & EVENT_HEADER_FLAG_STRING_ONLY != 0 => return None,
        Layout::Event if header.flags & EVENT_HEADER_FLAG_CLASSIC_HEADER != 0 => true,
        Layout::Event => match event.kind() {
            Kind::Manifest | Kind::Wpp => false,
            _ => return None,
        },
        Layout::Foreign => return None,
        Layout::Message => false,
        _ => true,
    };
    let descriptor = &header.descriptor;
    Some(EventKey {
        provider: event.class()?,
        id: if is_classic { 0 } else { descriptor.id },
        version: descriptor.version,
        opcode: descriptor.opcode.as_int(),
        is_classic,
        pointer: pointer_size(event),
    })
}

const fn pointer_size(event: &EventRef<'_>) -> PointerSize {
    if event.header.is_32_bit { PointerSize::Four } else { PointerSize::Eight }
}
