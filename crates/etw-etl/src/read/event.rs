//! One record of a file.

use etw_types::{Channel, EventDescriptor, Guid, Keyword, Level, Opcode};

use crate::decode::{Decoded, Kind, decode};
use crate::format::classic::{ClassicHeader, SystemHeader};
use crate::format::event::{EventHeader, FLAG_EXTENDED_INFO};
use crate::format::extended::{ExtendedItem, ExtendedType, Place, places};
use crate::format::message::MessageHeader;
use crate::format::record::{self, Layout, Next, header_type};
use crate::read::records::stamp;
use crate::time::{Clock, FileTime};

/// What all headers have in common. A member that a layout does not have is `None` or zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The layout in the file.
    pub layout: Layout,
    /// Whether a 32-bit system wrote it.
    pub is_32_bit: bool,
    /// When, in the clock of the session.
    pub stamp: u64,
    /// When.
    pub time: FileTime,
    /// The processor whose buffer it was in.
    pub cpu: u16,
    /// The writing thread.
    pub thread_id: Option<u32>,
    /// The writing process.
    pub process_id: Option<u32>,
    /// The provider; the class of a classic event, the message GUID of WPP.
    pub provider: Option<Guid>,
    /// Id, version, channel, level, opcode, task, keyword. A kernel event's id is its hook id, a message's its number.
    pub descriptor: EventDescriptor,
    /// Flags of an `EVENT_HEADER`.
    pub flags: u16,
    /// Property of an `EVENT_HEADER`.
    pub property: u16,
    /// Time of the thread in kernel mode.
    pub kernel_time: u32,
    /// Time of the thread in user mode.
    pub user_time: u32,
    /// The activity.
    pub activity: Option<Guid>,
}

/// A record of a trace: an event, or something that a reader of events passes on undecoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its header.
    pub header: Header,
    record: Vec<u8>,
    items: Vec<Place>,
    data: usize,
}

impl Event {
    /// Takes a record apart.
    pub(crate) fn new(layout: Layout, stamp: u64, cpu: u16, clock: &Clock, record: &[u8]) -> Self {
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
        };
        let data = header.fill(record).unwrap_or(layout.header_size());
        let (items, data) = if layout == Layout::Event && header.flags & FLAG_EXTENDED_INFO != 0 {
            places(record, data)
        } else {
            (Vec::new(), data)
        };
        Self { header, record: record.to_vec(), items, data }
    }

    /// The event of a record as it stands in a buffer, such as one that a session delivers while it runs. `None` where the
    /// bytes do not start with a record, and for a record without a time of its own.
    #[must_use]
    pub fn from_record(bytes: &[u8], cpu: u16, clock: &Clock) -> Option<Self> {
        let Next::Record(layout, size) = record::next(bytes) else {
            return None;
        };
        let record = bytes.get(..size)?;
        Some(Self::new(layout, stamp(layout, record)?, cpu, clock, record))
    }

    /// The whole record as it stands in the file.
    #[must_use]
    pub fn record(&self) -> &[u8] {
        &self.record
    }

    /// The event's own data: what follows header and extended items.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        self.record.get(self.data..).unwrap_or_default()
    }

    /// The extended items.
    pub fn items(&self) -> impl Iterator<Item = ExtendedItem<'_>> {
        self.items.iter().map(|place| {
            let data = self.record.get(place.data.clone()).unwrap_or_default();
            ExtendedItem { kind: place.kind, data }
        })
    }

    /// The data of the first extended item of this type.
    #[must_use]
    pub fn item(&self, kind: ExtendedType) -> Option<&[u8]> {
        self.items().find(|item| item.kind == kind).map(|item| item.data)
    }

    /// The related activity.
    #[must_use]
    pub fn related(&self) -> Option<Guid> {
        self.items().find_map(|item| item.related_activity())
    }

    /// What kind of event it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        Kind::of(self)
    }

    /// Whether the event carries TraceLogging metadata.
    #[must_use]
    pub fn is_trace_logging(&self) -> bool {
        self.kind() == Kind::TraceLogging
    }

    /// Decodes the event as far as it describes itself.
    #[must_use]
    pub fn decode(&self) -> Decoded {
        decode(self)
    }
}

impl Header {
    /// Fills in what the layout has; answers where the items or the data start.
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
                return Some(header.size);
            }
            Layout::Foreign => {}
        }
        Some(self.layout.header_size())
    }

    fn fill_event(&mut self, header: &EventHeader) {
        self.thread_id = Some(header.thread_id);
        self.process_id = Some(header.process_id);
        self.provider = Some(header.provider);
        self.descriptor = header.descriptor;
        self.flags = header.flags;
        self.property = header.property;
        self.kernel_time = header.kernel_time;
        self.user_time = header.user_time;
        self.activity = (!header.activity.is_zero()).then_some(header.activity);
    }

    fn fill_system(&mut self, header: &SystemHeader) {
        let [kind, _group] = header.hook_id.to_le_bytes();
        self.thread_id = header.thread_id;
        self.process_id = header.process_id;
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
        self.thread_id = Some(header.thread_id);
        self.process_id = Some(header.process_id);
        self.provider = Some(header.class);
        self.kernel_time = header.kernel_time;
        self.user_time = header.user_time;
        self.descriptor.version = u8::try_from(header.version).unwrap_or(u8::MAX);
        self.descriptor.level = Level::from_int(header.level);
        self.descriptor.opcode = Opcode::from_int(header.event_type);
    }
}
