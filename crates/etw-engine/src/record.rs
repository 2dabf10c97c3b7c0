//! From an event to the bytes of its record: header, extended items, payload.

use etw_etl::format::event::FLAG_STRING_ONLY;
use etw_etl::{EventData, ExtendedItem, ExtendedType};
use etw_types::Guid;
use etw_types::session::enable;

use crate::gather::Gathered;
use crate::write::Offer;

/// Most return addresses of a stack. Our choice: as many as kernel and user part of a stack walk have together.
const MAX_FRAMES: usize = 192;
/// Most items of an event.
const MAX_ITEMS: usize = 10;
/// `EVENT_HEADER_EXT_TYPE_EVENT_KEY`.
const EVENT_KEY: ExtendedType = ExtendedType(0x000A);

/// What a session adds to an event.
pub(crate) struct Extras {
    /// `EVENT_ENABLE_PROPERTY_*` of its request.
    pub(crate) property: u32,
    /// Whether the event gets a stack.
    pub(crate) stack: bool,
    /// The key of the stack, where the session writes keys in place of stacks.
    pub(crate) stack_key: Option<u64>,
    /// The time stamp in the session's clock.
    pub(crate) stamp: u64,
    /// A number of the event.
    pub(crate) event_key: u64,
}

/// Items in the order in which they are written.
struct Items<'a> {
    items: [ExtendedItem<'a>; MAX_ITEMS],
    count: usize,
}

impl<'a> Items<'a> {
    fn push(&mut self, kind: ExtendedType, data: &'a [u8]) {
        if let Some(place) = self.items.get_mut(self.count) {
            *place = ExtendedItem { kind, data };
            self.count += 1;
        }
    }
}

/// Fetches the stack of the calling thread into the event's own memory.
pub(crate) fn fetch_stack(offer: &Offer<'_>, data: &mut Gathered) {
    data.frames.clear();
    offer.environment.stack(&mut data.frames);
    data.frames.truncate(MAX_FRAMES);
    data.stack.clear();
    // The match id, which joins the kernel's and the user's part of a stack: there is one part only.
    data.stack.extend_from_slice(&0_u64.to_le_bytes());
    data.stack.extend(data.frames.iter().flat_map(|frame| frame.to_le_bytes()));
}

/// Puts the record into the event's own memory. `None` where it has more than 65535 bytes.
///
/// The order of the items is our choice but for the last two, which genuine files have in this order.
pub(crate) fn encode(offer: &Offer<'_>, data: &mut Gathered, extras: &Extras) -> Option<()> {
    let mut record = std::mem::take(&mut data.record);
    let length = encode_into(offer, data, extras, &mut record);
    data.record = record;
    length.map(|length| data.record.truncate(length))
}

fn encode_into(offer: &Offer<'_>, data: &Gathered, extras: &Extras, record: &mut Vec<u8>) -> Option<usize> {
    let wants = |bit: u32| extras.property & bit != 0;
    let environment = offer.environment;
    let related = offer.event.related.map(|id| id.to_bytes_le());
    let sid = if wants(enable::SID) { environment.sid() } else { None };
    let terminal = if wants(enable::TS_ID) { environment.terminal_session() } else { None }.map(u32::to_le_bytes);
    let start_key = if wants(enable::PROCESS_START_KEY) { environment.process_start_key() } else { None };
    let start_key = start_key.map(u64::to_le_bytes);
    let event_key = wants(enable::EVENT_KEY).then(|| extras.event_key.to_le_bytes());
    // A key stands behind the same match id as a stack.
    let stack_key = extras.stack_key.map(|key| (u128::from(key) << 64).to_le_bytes());

    let mut items = Items { items: [ExtendedItem { kind: ExtendedType(0), data: &[] }; MAX_ITEMS], count: 0 };
    if let Some(related) = &related {
        items.push(ExtendedType::RELATED_ACTIVITY_ID, related);
    }
    if let Some(sid) = &sid {
        items.push(ExtendedType::SID, sid);
    }
    if let Some(terminal) = &terminal {
        items.push(ExtendedType::TS_ID, terminal);
    }
    if let Some(key) = &stack_key {
        items.push(ExtendedType::STACK_KEY64, key);
    } else if extras.stack && !data.frames.is_empty() {
        items.push(ExtendedType::STACK_TRACE64, &data.stack);
    }
    if let Some(key) = &event_key {
        items.push(EVENT_KEY, key);
    }
    if let Some(key) = &start_key {
        items.push(ExtendedType::PROCESS_START_KEY, key);
    }
    if let Some(traits) = data.traits() {
        items.push(ExtendedType::PROV_TRAITS, traits);
    }
    if let Some(metadata) = data.metadata() {
        items.push(ExtendedType::EVENT_SCHEMA_TL, metadata);
    }
    let event = EventData {
        provider: offer.provider,
        descriptor: offer.event.descriptor,
        flags: if offer.string_only { FLAG_STRING_ONLY } else { 0 },
        thread_id: environment.thread_id(),
        process_id: environment.process_id(),
        timestamp: extras.stamp,
        activity: offer.event.activity.unwrap_or(Guid::ZERO),
        items: items.items.get(..items.count)?,
        payload: data.payload(),
        ..EventData::default()
    };
    let length = event.encoded_len();
    if record.len() < length {
        record.resize(length, 0);
    }
    event.encode(record)
}
