//! A record with its bytes, owned or borrowed.

use std::sync::Arc;

use etw_manifest::built_in::BuiltIn;
use etw_types::{Channel, EventDescriptor, Guid};

use super::header::Header;
use super::kind::Kind;
use crate::format::event::{
    EVENT_HEADER_FLAG_CLASSIC_HEADER, EVENT_HEADER_FLAG_EXTENDED_INFO, EVENT_HEADER_FLAG_TRACE_MESSAGE,
};
use crate::format::extended::{ExtendedItem, ExtendedType, Items};
use crate::format::record::{self, Layout, Next, header_type, stamp};
use crate::format::stack::HOOK_BINARY_PATH;
use crate::time::Clock;

/// A record of a trace: an event, or another record that is passed on undecoded.
///
/// ```
/// # use etw_types::tracelogging::EventBuilder;
/// # use etw_types::{Channel, EventDescriptor, Guid, Keyword, Level, Opcode};
/// # fn traced(name: &str, opcode: Opcode) -> etw_etl::Event {
/// #     let (mut metadata, mut payload) = ([0; 64], [0; 64]);
/// #     let builder = EventBuilder::new(&mut metadata, &mut payload, name, 0).u32("Length", 512);
/// #     let (metadata, payload) = builder.finish().unwrap();
/// #     let items = etw_etl::ExtendedItem::trace_logging(b"\x0b\x00MyDriver\x00", metadata);
/// #     let descriptor = EventDescriptor::new(Level::Informational, Keyword::from_bits(1)).with_channel(Channel::TraceLogging);
/// #     let descriptor = EventDescriptor { opcode, ..descriptor };
/// #     let provider = Guid::from_name("MyDriver");
/// #     let data = etw_etl::EventData { provider, descriptor, items: &items, payload, ..etw_etl::EventData::default() };
/// #     let mut record = [0; 512];
/// #     let length = data.encode(&mut record).unwrap();
/// #     etw_etl::Event::from_record(&record[..length], 0, &etw_etl::WriterOptions::default().clock).unwrap()
/// # }
/// use etw_etl::decode::Kind;
/// use etw_etl::{Event, EventRef, ExtendedType, Header};
/// use etw_types::tracelogging::{Field, Value, Visitor};
///
/// let event: Event = traced("Read", Opcode::Info).with_stack(&[0x1000, 0x2000]);
/// let Header { provider, descriptor, activity, .. } = &event.header;
/// assert_eq!((*provider, descriptor.level), (Some(Guid::from_name("MyDriver")), Level::Informational));
/// assert_eq!((*activity, event.related()), (None, None));
/// assert_eq!(event.stack(), Some(vec![0x1000, 0x2000]));
/// assert_eq!(event.kind(), Kind::TraceLogging);
/// assert!(event.item(ExtendedType::PROV_TRAITS).is_some() && !event.record().is_empty());
///
/// // The same without a copy, as `Reader::next_ref` has it.
/// let borrowed: EventRef<'_> = event.as_ref();
/// assert_eq!(borrowed.class(), *provider);
/// assert_eq!(borrowed.label(), "tracelogging 0", "what an event without a schema is called");
/// assert_eq!((borrowed.kind(), borrowed.payload()), (event.kind(), event.payload()));
/// assert_eq!(borrowed.provider_binary(), None, "it does not name the binary of a provider");
/// assert_eq!((borrowed.items().count(), borrowed.related(), borrowed.stack_key()), (event.items().count(), None, None));
/// assert_eq!((borrowed.stack(), borrowed.stack_process()), (event.stack(), event.header.process_id));
/// let mut frames = Vec::new();
/// assert!(borrowed.copy_stack(&mut frames) && Some(frames) == borrowed.stack());
/// assert_eq!(borrowed.item(ExtendedType::EVENT_SCHEMA_TL), event.item(ExtendedType::EVENT_SCHEMA_TL));
/// assert_eq!(borrowed.decode().to_string(), "MyDriver/Read Length=512");
/// assert_eq!(borrowed.to_event().record(), borrowed.record());
/// assert_eq!(borrowed.parts().and_then(|parts| parts.provider_name()).as_deref(), Some("MyDriver"));
///
/// /// Takes what it is about, without building the rest.
/// #[derive(Default)]
/// struct Lengths(Vec<u64>);
/// impl<'a> Visitor<'a> for Lengths {
///     fn value(&mut self, field: &Field<'a>, value: Value<'a>) {
///         if let (b"Length", Value::Unsigned(length)) = (field.name, value) {
///             self.0.push(length);
///         }
///     }
/// }
/// let mut lengths = Lengths::default();
/// assert_eq!((borrowed.visit(&mut lengths), lengths.0), (Ok(true), vec![512]));
/// let clock = etw_etl::WriterOptions::default().clock;
/// assert!(EventRef::from_record(borrowed.record(), 0, &clock).is_some());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The header.
    pub header: Header,
    record: Vec<u8>,
    /// Offset of the extended items.
    items: usize,
    /// Offset of the data.
    data: usize,
    stack: Option<Arc<[u64]>>,
}

/// An [`Event`] that borrows its bytes, for example from a reader. Parsing one does not allocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventRef<'a> {
    /// The header.
    pub header: Header,
    record: &'a [u8],
    items: usize,
    data: usize,
    stack: Option<&'a [u64]>,
    stack_process: Option<u32>,
}

impl Event {
    /// Parses a record as it is stored in a buffer, for example one that a live session delivers. Returns `None` if the bytes do
    /// not start with a record, or if the record has no time stamp.
    #[must_use]
    pub fn from_record(bytes: &[u8], cpu: u16, clock: &Clock) -> Option<Self> {
        EventRef::from_record(bytes, cpu, clock).map(|event| event.to_event())
    }

    /// Borrows the event.
    #[must_use]
    pub fn as_ref(&self) -> EventRef<'_> {
        EventRef {
            header: self.header,
            record: &self.record,
            items: self.items,
            data: self.data,
            stack: self.stack.as_deref(),
            stack_process: None,
        }
    }

    /// Sets the stack that the event's stack key refers to, which [`EventRef::stack`] then returns. A [`Reader`](crate::Reader)
    /// does this automatically.
    #[must_use]
    pub fn with_stack(mut self, frames: &[u64]) -> Self {
        self.stack = Some(Arc::from(frames));
        self
    }

    /// Returns the whole record as it is stored in the file.
    #[must_use]
    pub fn record(&self) -> &[u8] {
        &self.record
    }

    /// Returns the event's own data, which follows the header and the extended items.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        self.as_ref().payload()
    }

    /// Returns the extended items.
    pub fn items(&self) -> impl Iterator<Item = ExtendedItem<'_>> {
        self.as_ref().items()
    }

    /// Returns the data of the first extended item of this type.
    #[must_use]
    pub fn item(&self, kind: ExtendedType) -> Option<&[u8]> {
        self.as_ref().item(kind)
    }

    /// Returns the related activity id.
    #[must_use]
    pub fn related(&self) -> Option<Guid> {
        self.as_ref().related()
    }

    /// Returns the stack; see [`EventRef::stack`].
    #[must_use]
    pub fn stack(&self) -> Option<Vec<u64>> {
        self.as_ref().stack()
    }

    /// Returns the kind of the event.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.as_ref().kind()
    }

    /// Returns whether this is a TraceLogging event.
    #[must_use]
    pub fn is_trace_logging(&self) -> bool {
        self.kind() == Kind::TraceLogging
    }
}

impl<'a> EventRef<'a> {
    /// Parses a record.
    #[inline]
    pub(crate) fn new(layout: Layout, stamp: u64, cpu: u16, clock: &Clock, record: &'a [u8]) -> Self {
        let mut header = Header {
            layout,
            is_32_bit: layout != Layout::Message && Layout::is_32_bit(header_type(record)),
            stamp,
            time: clock.time(stamp),
            cpu,
            session: 0,
            thread_id: None,
            process_id: None,
            provider: None,
            descriptor: EventDescriptor::default(),
            flags: 0,
            property: 0,
            kernel_time: 0,
            user_time: 0,
            activity: None,
            sequence: None,
        };
        let items = header.fill(record).unwrap_or(layout.header_size());
        let has_items = layout == Layout::Event && header.flags & EVENT_HEADER_FLAG_EXTENDED_INFO != 0;
        let data = if has_items { Items::new(record, items).end() } else { items };
        Self { header, record, items, data, stack: None, stack_process: None }
    }

    /// Like [`Event::from_record`], but does not copy the bytes.
    #[must_use]
    pub fn from_record(bytes: &'a [u8], cpu: u16, clock: &Clock) -> Option<Self> {
        let Next::Record(layout, size) = record::next(bytes) else {
            return None;
        };
        let record = bytes.get(..size)?;
        Some(Self::new(layout, stamp(layout, record)?, cpu, clock, record))
    }

    /// Returns whether the event has extended items.
    #[inline]
    pub(crate) const fn has_items(&self) -> bool {
        self.data > self.items
    }

    /// Sets the stack, and the process that it belongs to if the event does not say.
    #[inline]
    pub(crate) const fn set_stack(&mut self, stack: Option<&'a [u64]>, process: Option<u32>) {
        self.stack = stack;
        self.stack_process = process;
    }

    /// Copies the event and its bytes.
    #[must_use]
    pub fn to_event(&self) -> Event {
        Event {
            header: self.header,
            record: self.record.to_vec(),
            items: self.items,
            data: self.data,
            stack: self.stack.map(Arc::from),
        }
    }

    /// Returns the whole record as it is stored in the file.
    #[must_use]
    pub const fn record(&self) -> &'a [u8] {
        self.record
    }

    /// Returns the event's own data, which follows the header and the extended items.
    #[must_use]
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.record.get(self.data..).unwrap_or_default()
    }

    /// Returns the extended items.
    #[inline]
    pub fn items(&self) -> impl Iterator<Item = ExtendedItem<'a>> + use<'a> {
        // Without items, the header and the data are adjacent, and this range is empty.
        Items::new(self.record.get(..self.data).unwrap_or_default(), self.items)
    }

    /// Returns the data of the first extended item of this type.
    #[must_use]
    pub fn item(&self, kind: ExtendedType) -> Option<&'a [u8]> {
        self.items().find(|item| item.kind == kind).map(|item| item.data)
    }

    /// Returns the related activity id.
    #[must_use]
    #[inline]
    pub fn related(&self) -> Option<Guid> {
        if self.has_items() { self.items().find_map(|item| item.related_activity()) } else { None }
    }

    /// Returns the key of the event's stack, if the event has a key instead of the stack itself.
    #[must_use]
    pub fn stack_key(&self) -> Option<u64> {
        self.items().find_map(|item| item.stack_key())
    }

    /// Returns the return addresses of the event's stack, innermost first. They come from the event itself, from its stack key,
    /// or from the `StackWalk` events that belong to it.
    #[must_use]
    pub fn stack(&self) -> Option<Vec<u64>> {
        self.items().find_map(|item| item.stack()).or_else(|| self.stack.map(<[u64]>::to_vec))
    }

    /// Replaces the content of `frames` with the stack, like [`stack`](Self::stack) but without allocating for each event. Returns
    /// `false` if there is none.
    #[inline]
    pub fn copy_stack(&self, frames: &mut Vec<u64>) -> bool {
        frames.clear();
        let own = if self.has_items() { self.items().find_map(|item| item.stack()) } else { None };
        match (&own, self.stack) {
            (Some(own), _) => frames.extend_from_slice(own),
            (None, Some(stack)) => frames.extend_from_slice(stack),
            (None, None) => return false,
        }
        true
    }

    /// Returns the process that the stack belongs to: the one named by the `StackWalk` event or, if there is none, the one that
    /// wrote the event.
    #[must_use]
    pub fn stack_process(&self) -> Option<u32> {
        self.stack_process.or(self.header.process_id)
    }

    /// Returns the kind of the event.
    #[must_use]
    #[inline]
    pub fn kind(&self) -> Kind {
        let header = &self.header;
        match header.layout {
            Layout::Event if self.item(ExtendedType::EVENT_SCHEMA_TL).is_some() => Kind::TraceLogging,
            Layout::Event if header.flags & EVENT_HEADER_FLAG_TRACE_MESSAGE != 0 => Kind::Wpp,
            Layout::Event if header.flags & EVENT_HEADER_FLAG_CLASSIC_HEADER != 0 => Kind::Mof,
            Layout::Event if header.descriptor.channel == Channel::TraceLogging => Kind::TraceLogging,
            Layout::Event => Kind::Manifest,
            Layout::Full | Layout::Instance => Kind::Mof,
            Layout::Message => Kind::Wpp,
            _ => Kind::System,
        }
    }

    /// Returns the label of an event without a schema, the same in every output: its kind, and the number that tells events of
    /// this kind apart.
    #[must_use]
    pub fn label(&self) -> String {
        let descriptor = &self.header.descriptor;
        match self.kind() {
            Kind::Mof => format!("mof {}", descriptor.opcode.as_int()),
            Kind::System => format!("system {:#06x}", descriptor.id),
            kind => format!("{} {}", kind.as_str(), descriptor.id),
        }
    }

    /// Returns the provider, the class of a classic event, or the class of a kernel event's group.
    #[must_use]
    #[inline]
    pub fn class(&self) -> Option<Guid> {
        match self.header.layout {
            Layout::System | Layout::Compact | Layout::PerfInfo => BuiltIn::class_of_hook(self.header.descriptor.id),
            _ => self.header.provider,
        }
    }

    /// Returns providers and the path of their binary, if this is a record of a session that tracks the binaries of providers
    /// (`WMI_LOG_TYPE_BINARY_PATH`). The path is one of the machine where the trace was recorded; for a driver it is a file name.
    #[must_use]
    pub fn provider_binary(&self) -> Option<(Vec<Guid>, String)> {
        let descriptor = &self.header.descriptor;
        let is_record = match self.header.layout {
            Layout::System | Layout::Compact | Layout::PerfInfo => descriptor.id == HOOK_BINARY_PATH,
            _ => {
                u16::from(descriptor.opcode.as_int()) == HOOK_BINARY_PATH
                    && self.class() == BuiltIn::class_of_hook(HOOK_BINARY_PATH)
            }
        };
        let (count, rest) = self.payload().split_first_chunk::<4>().filter(|_| is_record)?;
        let size = usize::try_from(u32::from_le_bytes(*count)).ok()?.checked_mul(16)?;
        let (guids, path) = rest.split_at_checked(size)?;
        let units = path.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit));
        let path: String = char::decode_utf16(units.take_while(|unit| *unit != 0))
            .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect();
        (!path.is_empty()).then(|| (guids.as_chunks().0.iter().map(Guid::from_bytes_le).collect(), path))
    }
}
