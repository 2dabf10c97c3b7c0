//! The header of a record, in one form for all layouts.

use etw_types::{Channel, EventDescriptor, Guid, Keyword, Level, Opcode};

use crate::format::classic::{ClassicHeader, SystemHeader};
use crate::format::event::EventHeader;
use crate::format::message::{MessageHeader, TRACE_MESSAGE_POINTER32};
use crate::format::record::Layout;
use crate::time::FileTime;

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
    /// The id of the session that wrote the event. Call stacks are defined by session: a merged file has several.
    pub session: u16,
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

/// Returns an id, unless it is -1, which Windows writes if there is no process or thread.
const fn present(id: u32) -> Option<u32> {
    if id == u32::MAX { None } else { Some(id) }
}

impl Header {
    /// Fills in the members that the layout has. Returns the offset of the items or of the data.
    #[inline]
    pub(super) fn fill(&mut self, record: &[u8]) -> Option<usize> {
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
                self.is_32_bit = u32::from(header.options) & TRACE_MESSAGE_POINTER32 != 0;
                return Some(header.size);
            }
            Layout::Foreign => {}
        }
        Some(self.layout.header_size())
    }

    #[inline]
    fn fill_event(&mut self, header: &EventHeader) {
        self.thread_id = present(header.thread_id);
        self.process_id = present(header.process_id);
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
        self.thread_id = header.thread_id.and_then(present);
        self.process_id = header.process_id.and_then(present);
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

    #[inline]
    fn fill_classic(&mut self, header: &ClassicHeader) {
        self.thread_id = present(header.thread_id);
        self.process_id = present(header.process_id);
        self.provider = Some(header.class);
        self.kernel_time = header.kernel_time;
        self.user_time = header.user_time;
        self.descriptor.version = u8::try_from(header.version).unwrap_or(u8::MAX);
        self.descriptor.level = Level::from_int(header.level);
        self.descriptor.opcode = Opcode::from_int(header.event_type);
    }
}
