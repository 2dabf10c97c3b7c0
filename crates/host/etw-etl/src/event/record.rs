//! One record of a file.

use std::sync::Arc;

use etw_types::tracelogging::{self, DecodeError, Metadata, Visitor};
use etw_types::{Channel, EventDescriptor, Guid, Keyword, Level, Opcode};

use crate::decode::{Decoded, Kind, Parts, decode};
use crate::format::classic::{ClassicHeader, SystemHeader};
use crate::format::event::{EventHeader, FLAG_EXTENDED_INFO};
use crate::format::extended::{ExtendedItem, ExtendedType, Items};
use crate::format::message::{MessageHeader, OPTION_POINTER32};
use crate::format::record::{self, Layout, Next, header_type};
use crate::read::records::stamp;
use crate::read::stacks::{Reference, Stacks};
use crate::time::{Clock, FileTime};

/// What all headers have in common. Members that a layout does not have are `None` or zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The layout of the header in the file.
    pub layout: Layout,
    /// Whether a 32-bit system wrote the event.
    pub is_32_bit: bool,
    /// Time stamp in the session's clock.
    pub stamp: u64,
    /// Time of the event.
    pub time: FileTime,
    /// The processor whose buffer held the event.
    pub cpu: u16,
    /// The thread that wrote the event. If a kernel event's header has none, a [`Reader`](crate::Reader) takes it from the payload:
    /// the thread of a sample, the new thread of a context switch, the thread that issued a disk request.
    pub thread_id: Option<u32>,
    /// The process that wrote the event. If a kernel event's header has none, a [`Reader`](crate::Reader) takes it from the payload,
    /// or it is the process of the thread at that time according to the thread events of the trace.
    pub process_id: Option<u32>,
    /// The provider, the class of a classic event, or the message GUID of a WPP message.
    pub provider: Option<Guid>,
    /// Id, version, channel, level, opcode, task, keyword. The id of a kernel event is its hook id, that of a WPP message its
    /// number.
    pub descriptor: EventDescriptor,
    /// Flags of the `EVENT_HEADER`.
    pub flags: u16,
    /// Property of the `EVENT_HEADER`.
    pub property: u16,
    /// Kernel-mode time of the thread.
    pub kernel_time: u32,
    /// User-mode time of the thread.
    pub user_time: u32,
    /// The activity id.
    pub activity: Option<Guid>,
    /// The sequence number of a WPP message.
    pub sequence: Option<u32>,
}

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
/// assert_eq!((borrowed.kind(), borrowed.payload()), (event.kind(), event.payload()));
/// assert_eq!(borrowed.provider_binary(), None, "it does not name the binary of a provider");
/// assert_eq!((borrowed.items().count(), borrowed.related(), borrowed.stack_key()), (event.items().count(), None, None));
/// assert_eq!((borrowed.stack(), borrowed.stack_process()), (event.stack(), event.header.process_id));
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

    /// Decodes the event as far as it is self-describing.
    #[must_use]
    pub fn decode(&self) -> Decoded {
        self.as_ref().decode()
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
        let has_items = layout == Layout::Event && header.flags & FLAG_EXTENDED_INFO != 0;
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

    /// Sets the stack that the event's key refers to, or the one that the kernel wrote after the event. Returns whether the event
    /// has a key without a definition.
    #[inline]
    pub(crate) fn resolve(&mut self, stacks: &'a Stacks, session: u16) -> bool {
        let mut is_undefined = false;
        if self.data > self.items
            && let Some(key) = self.stack_key()
        {
            let stamp = self.header.stamp;
            self.stack = stacks.keys.get(Reference { key, session, stamp, is_kernel: None });
            is_undefined = self.stack.is_none();
        }
        if self.stack.is_none()
            && let Some((process, frames)) = stacks.of_event(&self.header, self.payload())
        {
            self.stack = Some(frames);
            self.stack_process = Some(process);
        }
        is_undefined
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
    pub fn payload(&self) -> &'a [u8] {
        self.record.get(self.data..).unwrap_or_default()
    }

    /// Returns the extended items.
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
    pub fn related(&self) -> Option<Guid> {
        self.items().find_map(|item| item.related_activity())
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

    /// Returns the process that the stack belongs to: the one named by the `StackWalk` event or, if there is none, the one that
    /// wrote the event.
    #[must_use]
    pub fn stack_process(&self) -> Option<u32> {
        self.stack_process.or(self.header.process_id)
    }

    /// Returns the kind of the event.
    #[must_use]
    pub fn kind(&self) -> Kind {
        Kind::of(self)
    }

    /// Returns the traits, the metadata and the values of a TraceLogging event.
    #[must_use]
    pub fn parts(&self) -> Option<Parts<'a>> {
        Parts::of_ref(self)
    }

    /// Passes the values of a TraceLogging event to a visitor one by one, without keeping any. Use this to read only a few
    /// values, or very many events. Returns `true` if this is a TraceLogging event and its metadata covers the whole payload.
    ///
    /// # Errors
    ///
    /// Fails if the metadata or the payload does not decode. The values before the error have been visited.
    pub fn visit(&self, visitor: &mut impl Visitor<'a>) -> Result<bool, DecodeError> {
        let Some(parts) = self.parts() else {
            return Ok(false);
        };
        let (metadata, _) = Metadata::parse(parts.metadata)?;
        tracelogging::decode(&metadata, parts.payload, visitor).map(<[u8]>::is_empty)
    }

    /// Decodes the event as far as it is self-describing.
    #[must_use]
    pub fn decode(&self) -> Decoded {
        decode(self)
    }
}

/// Returns an id, unless it is -1, which Windows writes if there is no process or thread.
const fn known(id: u32) -> Option<u32> {
    if id == u32::MAX { None } else { Some(id) }
}

impl Header {
    /// Fills in the members that the layout has. Returns the offset of the items or of the data.
    #[inline]
    fn fill(&mut self, record: &[u8]) -> Option<usize> {
        match self.layout {
            Layout::Event => self.fill_event(&EventHeader::parse(record)?),
            Layout::System => self.fill_system(&SystemHeader::parse(record, false)?),
            Layout::Compact => self.fill_system(&SystemHeader::parse(record, true)?),
            Layout::PerfInfo => self.fill_system(&SystemHeader::parse_perfinfo(record)?),
            Layout::Full | Layout::Instance => self.fill_classic(&ClassicHeader::parse(record)?),
            Layout::Message => {
                let header = MessageHeader::parse(record)?;
                self.provider = header.guid;
                self.thread_id = header.thread_id;
                self.process_id = header.process_id;
                self.descriptor.id = header.number;
                self.sequence = header.sequence;
                self.is_32_bit = header.options & OPTION_POINTER32 != 0;
                return Some(header.size);
            }
            Layout::Foreign => {}
        }
        Some(self.layout.header_size())
    }

    fn fill_event(&mut self, header: &EventHeader) {
        self.thread_id = known(header.thread_id);
        self.process_id = known(header.process_id);
        self.provider = Some(header.provider);
        self.descriptor = header.descriptor;
        self.flags = header.flags;
        self.property = header.property;
        self.kernel_time = header.kernel_time;
        self.user_time = header.user_time;
        self.activity = (!header.activity.is_zero()).then_some(header.activity);
    }

    #[inline]
    fn fill_system(&mut self, header: &SystemHeader) {
        let [kind, _group] = header.hook_id.to_le_bytes();
        self.thread_id = header.thread_id.and_then(known);
        self.process_id = header.process_id.and_then(known);
        self.kernel_time = header.kernel_time;
        self.user_time = header.user_time;
        self.descriptor = EventDescriptor {
            id: header.hook_id,
            version: u8::try_from(header.version).unwrap_or(u8::MAX),
            channel: Channel::TraceClassic,
            level: Level::LogAlways,
            opcode: Opcode::from_int(kind),
            task: 0,
            keyword: Keyword::NONE,
        };
    }

    fn fill_classic(&mut self, header: &ClassicHeader) {
        self.thread_id = known(header.thread_id);
        self.process_id = known(header.process_id);
        self.provider = Some(header.class);
        self.kernel_time = header.kernel_time;
        self.user_time = header.user_time;
        self.descriptor.version = u8::try_from(header.version).unwrap_or(u8::MAX);
        self.descriptor.level = Level::from_int(header.level);
        self.descriptor.opcode = Opcode::from_int(header.event_type);
    }
}
