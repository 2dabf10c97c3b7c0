//! Builds the record of an event: header, extended items, payload.

use std::cell::Cell;

use etw_etl::format::event::{
    EVENT_HEADER_FLAG_EXTENDED_INFO, EVENT_HEADER_FLAG_STRING_ONLY, EventHeader, SIZE, TYPE_64,
};
use etw_etl::{ExtendedItem, ExtendedType};
use etw_types::Guid;
use etw_types::session::enable;

use crate::buffers::{Record, Words};
use crate::data::Data;
use crate::event::Offer;

/// Maximum number of return addresses of a stack. Our choice: as many as the kernel part and the user part of a stack
/// walk have together.
const MAX_FRAMES: usize = 192;
/// Maximum number of extended items that a session adds to an event.
const MAX_ITEMS: usize = 10;
/// The enable properties that may add an item.
const ADDING: u32 = enable::SID | enable::TS_ID | enable::STACK_TRACE | enable::PROCESS_START_KEY | enable::EVENT_KEY;
/// `EVENT_HEADER_EXT_TYPE_EVENT_KEY`.
const EVENT_KEY: ExtendedType = ExtendedType(0x000A);

/// What a session adds to an event.
pub(crate) struct Extras {
    /// `EVENT_ENABLE_PROPERTY_*` of the request.
    pub(crate) property: u32,
    /// Whether the event gets a stack.
    pub(crate) stack: bool,
    /// The key of the stack, if the session writes keys instead of stacks.
    pub(crate) stack_key: Option<u64>,
    /// The number that identifies the event.
    pub(crate) event_key: u64,
    /// The event's sequence number, and the type of its extended item.
    pub(crate) sequence: Option<(ExtendedType, u64)>,
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

/// Memory of a thread for the data that sessions add to events.
#[derive(Default)]
pub(crate) struct Scratch {
    /// The encoded extended items.
    pub(crate) items: Vec<u8>,
    /// Return addresses.
    pub(crate) frames: Vec<u64>,
    /// The return addresses, encoded as the data of an item.
    stack: Vec<u8>,
}

thread_local! {
    static SPARE: Cell<Option<Scratch>> = const { Cell::new(None) };
}

impl Scratch {
    /// Takes the thread's instance, or a new one if a write happens within a write.
    pub(crate) fn take() -> Self {
        SPARE.try_with(Cell::take).ok().flatten().unwrap_or_default()
    }

    /// Keeps the instance for the next event of this thread.
    pub(crate) fn give_back(self) {
        let _ = SPARE.try_with(|spare| spare.set(Some(self)));
    }

    /// Captures the stack of the calling thread.
    pub(crate) fn fetch_stack(&mut self, offer: &Offer<'_>) {
        self.frames.clear();
        offer.environment.stack(&mut self.frames);
        self.frames.truncate(MAX_FRAMES);
        self.stack.clear();
        // The match id, which joins the kernel and user parts of a stack. It is 0 because there is only one part.
        self.stack.extend_from_slice(&0_u64.to_le_bytes());
        self.stack.extend(self.frames.iter().flat_map(|frame| frame.to_le_bytes()));
    }
}

/// The record of an event.
pub(crate) struct EventRecord<'a> {
    header: EventHeader,
    /// The encoded items that the session adds.
    more_items: &'a [u8],
    traits: Option<Item<'a>>,
    metadata: Option<Item<'a>>,
    payload: &'a [&'a [u8]],
    len: usize,
}

/// An extended item of the event itself: its header and its data.
type Item<'a> = (u64, &'a [u8]);

impl<'a> EventRecord<'a> {
    /// Creates the record of an event for a session. `more_items` are the items that the session adds. Returns `None`
    /// if the record has more than 65535 bytes.
    #[inline]
    pub(crate) fn new(offer: &Offer<'_>, data: &Data<'a>, stamp: u64, more_items: &'a [u8]) -> Option<Self> {
        let (traits, traits_len) = item(ExtendedType::PROV_TRAITS, data.traits, data.metadata.is_some())?;
        let (metadata, metadata_len) = item(ExtendedType::EVENT_SCHEMA_TL, data.metadata, false)?;
        let items_len = more_items.len() + traits_len + metadata_len;
        let len = SIZE + items_len + data.payload_len;
        let environment = offer.environment;
        let header = EventHeader {
            size: u16::try_from(len).ok()?,
            header_type: TYPE_64,
            flags: if offer.event.is_string() { EVENT_HEADER_FLAG_STRING_ONLY } else { 0 }
                | if items_len == 0 { 0 } else { EVENT_HEADER_FLAG_EXTENDED_INFO },
            property: 0,
            thread_id: environment.thread_id(),
            process_id: environment.process_id(),
            timestamp: stamp,
            provider: offer.provider,
            descriptor: offer.event.descriptor,
            kernel_time: 0,
            user_time: 0,
            activity: offer.event.activity.unwrap_or(Guid::ZERO),
        };
        Some(Self { header, more_items, traits, metadata, payload: data.payload, len })
    }
}

impl Record for EventRecord<'_> {
    #[inline]
    fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn store(&self, mut words: Words<'_>) {
        words.words(self.header.to_words());
        if !self.more_items.is_empty() {
            words.bytes(self.more_items);
        }
        if let Some((header, data)) = self.traits {
            words.words([header]);
            words.bytes(data);
        }
        if let Some((header, data)) = self.metadata {
            words.words([header]);
            words.bytes(data);
        }
        words.end(self.payload);
    }
}

/// Creates an item of the event itself, if the event has one, and returns its length in the record. Returns `None` if the
/// data exceeds the maximum size of an item.
#[inline]
fn item(kind: ExtendedType, data: Option<&[u8]>, more: bool) -> Option<(Option<Item<'_>>, usize)> {
    match data {
        Some(data) => {
            let item = ExtendedItem { kind, data };
            Some((Some((item.header(more)?, data)), item.encoded_len()))
        }
        None => Some((None, 0)),
    }
}

/// Whether a session may add items to an event.
pub(crate) fn adds_items(offer: &Offer<'_>, property: u32) -> bool {
    offer.event.related.is_some() || property & ADDING != 0
}

/// Encodes the items that a session adds to an event. Returns `None` if the data exceeds the maximum size of an item.
///
/// Their order is our choice. Traits and metadata follow them, in that order, as in genuine files.
pub(crate) fn add_items(offer: &Offer<'_>, data: &Data<'_>, extras: &Extras, scratch: &mut Scratch) -> Option<()> {
    let wants = |bit: u32| extras.property & bit != 0;
    let Scratch { items: out, frames, stack } = scratch;
    out.clear();
    let environment = offer.environment;
    let related = offer.event.related.map(|id| id.to_bytes_le());
    let sid = if wants(enable::SID) { environment.sid() } else { None };
    let terminal = if wants(enable::TS_ID) { environment.terminal_session() } else { None }.map(u32::to_le_bytes);
    let start_key = if wants(enable::PROCESS_START_KEY) { environment.process_start_key() } else { None };
    let start_key = start_key.map(u64::to_le_bytes);
    let event_key = wants(enable::EVENT_KEY).then(|| extras.event_key.to_le_bytes());
    // A key follows the match id, as a stack does.
    let stack_key = extras.stack_key.map(|key| (u128::from(key) << 64).to_le_bytes());
    let sequence = extras.sequence.map(|(kind, number)| (kind, number.to_le_bytes()));

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
    } else if extras.stack && !frames.is_empty() {
        items.push(ExtendedType::STACK_TRACE64, stack);
    }
    if let Some(key) = &event_key {
        items.push(EVENT_KEY, key);
    }
    if let Some(key) = &start_key {
        items.push(ExtendedType::PROCESS_START_KEY, key);
    }
    if let Some((kind, number)) = &sequence {
        items.push(*kind, number);
    }
    let more = data.traits.is_some() || data.metadata.is_some();
    let items = items.items.get(..items.count)?;
    for (index, item) in items.iter().enumerate() {
        let start = out.len();
        out.extend_from_slice(&item.header(more || index + 1 < items.len())?.to_le_bytes());
        out.extend_from_slice(item.data);
        out.resize(start + item.encoded_len(), 0);
    }
    Some(())
}
