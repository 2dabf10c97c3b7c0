//! An event to be written.

use etw_types::{EventDescriptor, Guid};

use crate::format::event::{EVENT_HEADER_FLAG_EXTENDED_INFO, EventHeader, SIZE, TYPE_32, TYPE_64};
use crate::format::extended::ExtendedItem;

/// Maximum size of a record in bytes: its size field is a `u16`.
pub(crate) const MAX_RECORD: usize = 0xFFFF;

/// An event to write to a trace.
///
/// ```
/// use etw_etl::{Event, EventData, WriterOptions};
///
/// let data = EventData { process_id: 4, payload: b"abc", ..EventData::default() };
/// let mut record = vec![0; data.encoded_len()];
/// let length = data.encode(&mut record).ok_or("no room")?;
/// let event = Event::from_record(&record[..length], 0, &WriterOptions::default().clock).ok_or("no event")?;
/// assert_eq!((event.header.process_id, event.payload()), (Some(4), &b"abc"[..]));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventData<'a> {
    /// GUID of the provider.
    pub provider: Guid,
    /// Id, version, channel, level, opcode, task, keyword.
    pub descriptor: EventDescriptor,
    /// `EVENT_HEADER_FLAG_*`. The flag for extended items is added automatically.
    pub flags: u16,
    /// `EVENT_HEADER_PROPERTY_*`.
    pub property: u16,
    /// Whether a 32-bit system wrote the event.
    pub is_32_bit: bool,
    /// The thread that wrote the event.
    pub thread_id: u32,
    /// The process that wrote the event.
    pub process_id: u32,
    /// Time stamp in the session's clock.
    pub timestamp: u64,
    /// Kernel-mode time of the thread.
    pub kernel_time: u32,
    /// User-mode time of the thread.
    pub user_time: u32,
    /// The activity id; all zeros if there is none.
    pub activity: Guid,
    /// Extended items, in order. For TraceLogging: [`ExtendedItem::trace_logging`].
    pub items: &'a [ExtendedItem<'a>],
    /// The event's own data.
    pub payload: &'a [u8],
}

impl EventData<'_> {
    /// Returns the size of the event in a trace, in bytes, without the padding that follows it.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        let items: usize = self.items.iter().map(ExtendedItem::encoded_len).sum();
        SIZE + items + self.payload.len()
    }

    /// Writes the event to the start of `out` and returns its size in bytes. Returns `None` if it does not fit or has more than
    /// 65535 bytes.
    pub fn encode(&self, out: &mut [u8]) -> Option<usize> {
        let length = self.encoded_len();
        let out = out.get_mut(..length)?;
        let flags = if self.items.is_empty() { self.flags } else { self.flags | EVENT_HEADER_FLAG_EXTENDED_INFO };
        let header = EventHeader {
            size: u16::try_from(length).ok()?,
            header_type: if self.is_32_bit { TYPE_32 } else { TYPE_64 },
            flags,
            property: self.property,
            thread_id: self.thread_id,
            process_id: self.process_id,
            timestamp: self.timestamp,
            provider: self.provider,
            descriptor: self.descriptor,
            kernel_time: self.kernel_time,
            user_time: self.user_time,
            activity: self.activity,
        };
        let (place, mut rest) = out.split_at_mut_checked(SIZE)?;
        place.copy_from_slice(&header.to_bytes());
        for (index, item) in self.items.iter().enumerate() {
            let used = item.encode(index + 1 < self.items.len(), rest)?;
            rest = rest.split_at_mut_checked(used)?.1;
        }
        rest.get_mut(..self.payload.len())?.copy_from_slice(self.payload);
        Some(length)
    }
}
