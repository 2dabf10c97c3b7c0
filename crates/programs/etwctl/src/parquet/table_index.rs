//! Finds the table of an event without comparing names and fields.

use std::sync::Arc;

use etw_etl::{Header, Kind, NumberPlace};
use etw_manifest::EventSchema;
use etw_types::Guid;

use super::flat::ValueNames;

/// Number of kinds of events in the index; a power of two.
const SLOTS: usize = 1024;
/// Number of slots that a kind of event may have among these.
const PROBES: usize = 4;
/// Number of kernel events that are found by their hook id. Its last eight bits are the type of the event.
const RECENT: usize = 1024;

/// What the header of an event says about its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Heading {
    pub(super) class: Option<Guid>,
    pub(super) kind: Kind,
    pub(super) id: u16,
    pub(super) version: u8,
    /// The day of a partition.
    pub(super) day: Option<i64>,
}

/// The table of events with a heading and a schema.
#[derive(Clone, Debug)]
pub(super) struct IndexedTable {
    pub(super) heading: Heading,
    pub(super) schema: Arc<EventSchema>,
    pub(super) table: usize,
    /// Whether a 32-bit system wrote the events: the encodings of pointers depend on it.
    pub(super) is_32_bit: bool,
    pub(super) fields: Fields,
    pub(super) names: ValueNames,
}

/// What is known about the fields of the events of a table.
#[derive(Clone, Debug)]
pub(super) enum Fields {
    /// The types of the columns can depend on values.
    Uncertain,
    /// The types follow from the encodings.
    Certain,
    /// The same, and all fields are integers at these places, except that the last one may be an array of integers.
    Fixed(Arc<[NumberPlace]>),
}

/// A kernel event that was found before: its kind and its class follow from its hook id.
#[derive(Clone, Copy, Debug)]
struct Recent {
    /// The address of the schema, which the kind at `slot` keeps.
    schema: usize,
    id: u16,
    version: u8,
    is_32_bit: bool,
    /// The day of its partition, from its first time to its last one.
    day: (i64, i64),
    slot: usize,
}

/// The tables of kinds of events, in slots.
#[derive(Debug)]
pub(super) struct TableIndex {
    slots: Vec<Option<IndexedTable>>,
    /// The kernel events that were found last, by hook id.
    recent: Vec<Option<Recent>>,
}

impl Default for TableIndex {
    fn default() -> Self {
        Self { slots: vec![None; SLOTS], recent: vec![None; RECENT] }
    }
}

impl TableIndex {
    /// Returns the slot of the kind of a kernel event that [`remember`](Self::remember) was told about.
    #[inline]
    pub(super) fn find_recent(&self, header: &Header, schema: &Arc<EventSchema>) -> Option<usize> {
        let descriptor = &header.descriptor;
        let recent = self.recent.get(usize::from(descriptor.id) % RECENT)?.as_ref()?;
        let is_same = is_kernel(header)
            && recent.schema == Arc::as_ptr(schema).addr()
            && (recent.id, recent.version, recent.is_32_bit) == (descriptor.id, descriptor.version, header.is_32_bit)
            && recent.day.0 <= header.time.0
            && header.time.0 <= recent.day.1;
        is_same.then_some(recent.slot)
    }

    /// Remembers the slot of a kind of event, if it is a kernel event. `day` is the first and the last time of its partition.
    pub(super) fn remember(&mut self, header: &Header, schema: &Arc<EventSchema>, day: (i64, i64), slot: usize) {
        let id = header.descriptor.id;
        let version = header.descriptor.version;
        if let Some(recent) = self.recent.get_mut(usize::from(id) % RECENT).filter(|_| is_kernel(header)) {
            let schema = Arc::as_ptr(schema).addr();
            *recent = Some(Recent { schema, id, version, is_32_bit: header.is_32_bit, day, slot });
        }
    }

    /// Returns the slot of a kind of event.
    pub(super) fn find(&self, heading: &Heading, is_32_bit: bool, schema: &Arc<EventSchema>) -> Option<usize> {
        let is_same = |table: &IndexedTable| {
            table.is_32_bit == is_32_bit && Arc::ptr_eq(&table.schema, schema) && table.heading == *heading
        };
        slots(heading, schema).find(|slot| self.slots.get(*slot).is_some_and(|slot| slot.as_ref().is_some_and(is_same)))
    }

    pub(super) fn get_mut(&mut self, slot: usize) -> Option<&mut IndexedTable> {
        self.slots.get_mut(slot)?.as_mut()
    }

    /// Adds a kind of event. If all of its slots are taken, it replaces another kind.
    pub(super) fn insert(&mut self, table: IndexedTable) {
        let candidates = || slots(&table.heading, &table.schema);
        let free = candidates().find(|slot| self.slots.get(*slot).is_some_and(Option::is_none));
        let slot = free.or_else(|| candidates().next()).and_then(|slot| self.slots.get_mut(slot));
        if slot.is_some_and(|slot| slot.replace(table).is_some()) {
            // Another schema may get the address of the one that was dropped.
            self.recent.fill(None);
        }
    }
}

const fn is_kernel(header: &Header) -> bool {
    header.layout.is_kernel()
}

/// The slots for a kind of event, in the order of preference.
fn slots(heading: &Heading, schema: &Arc<EventSchema>) -> impl Iterator<Item = usize> + use<> {
    let class = heading.class.map_or(0, |class| class.data1.into());
    let day = heading.day.unwrap_or_default().unsigned_abs();
    let address = u64::try_from(Arc::as_ptr(schema).addr()).unwrap_or_default();
    let mixed = address ^ u64::from(heading.id) << 32 ^ u64::from(heading.version) << 48 ^ class << 16 ^ day;
    let first = usize::try_from(mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48).unwrap_or_default();
    (first..first + PROBES).map(|slot| slot % SLOTS)
}
