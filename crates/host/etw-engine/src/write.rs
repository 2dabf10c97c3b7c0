//! The write path: from a handle and data blocks to the sessions that want the event.
//!
//! No lock is taken here while nothing changes: routes are a thread's own, data goes from where its writer has it straight into
//! a session's buffer, and that is lock-free. What may lock is the record of calls, until it is full or turned off, and
//! a session that captures in memory for a test.

use std::sync::atomic::AtomicU64;

use etw_types::{EventDescriptor, Guid, Keyword, Level, NtStatus};

use crate::data::{Data, Pieces};
use crate::gather::{Gathered, Unread};
use crate::log::Subject;
use crate::routes::{Route, Taker};
use crate::{Block, BlockSource, Engine, Environment, Finding, Routine};

/// `MAX_EVENT_DATA_DESCRIPTORS`: how many data blocks an event may have.
pub const MAX_BLOCKS: usize = 128;

/// How many bytes all blocks of an event may have together.
pub const MAX_DATA: usize = 0xFFF8;

/// The arguments of a write, without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventWrite {
    /// The routine that was called: [`Routine::Write`], [`Routine::WriteTransfer`] or [`Routine::WriteEx`].
    pub routine: Routine,
    /// The registration.
    pub handle: u64,
    /// Level, keyword, id and so on.
    pub descriptor: EventDescriptor,
    /// Filter argument of `EtwWriteEx`.
    pub filter: u64,
    /// Flags argument of `EtwWriteEx`.
    pub flags: u32,
    /// The activity id. The kernel writes a zero GUID where there is none.
    pub activity: Option<Guid>,
    /// The related activity id.
    pub related: Option<Guid>,
}

impl EventWrite {
    /// A write through `EtwWriteTransfer` without activity ids.
    #[must_use]
    pub const fn new(handle: u64, descriptor: EventDescriptor) -> Self {
        Self { routine: Routine::WriteTransfer, handle, descriptor, filter: 0, flags: 0, activity: None, related: None }
    }
}

/// An event on its way to a session.
pub(crate) struct Offer<'a> {
    pub(crate) event: &'a EventWrite,
    pub(crate) provider: Guid,
    pub(crate) string_only: bool,
    /// The engine's time.
    pub(crate) now: u64,
    /// The processor it is written on.
    pub(crate) processor: u16,
    pub(crate) environment: &'a dyn Environment,
    pub(crate) keys: &'a AtomicU64,
}

impl Engine {
    /// `EtwWrite`, `EtwWriteTransfer`, `EtwWriteEx`: writes an event to every session that wants it.
    ///
    /// `Success` when no session wants the event; the data is then not looked at. Else `InvalidHandle` (0, or with a
    /// [`Finding`] not registered), `InvalidParameter` (more than [`MAX_BLOCKS`] blocks, or an unreadable one),
    /// `IntegerOverflow` (more than [`MAX_DATA`] bytes), `BufferOverflow` (larger than a session's limit) or `NoMemory`
    /// (a session is full). The sessions that can take the event do so even if another one cannot.
    pub fn write(&self, event: &EventWrite, blocks: &(impl BlockSource + ?Sized)) -> NtStatus {
        self.write_as(event, false, blocks)
    }

    /// `EtwWriteString`: writes UTF-16 text, to which the terminator is added, as an event of its own kind.
    pub fn write_string(
        &self,
        handle: u64,
        level: Level,
        keyword: Keyword,
        activity: Option<Guid>,
        text: &[u16],
    ) -> NtStatus {
        let bytes: Vec<u8> = text.iter().chain(&[0]).flat_map(|unit| unit.to_le_bytes()).collect();
        let event = EventWrite {
            routine: Routine::WriteString,
            activity,
            ..EventWrite::new(handle, EventDescriptor { level, keyword, ..EventDescriptor::default() })
        };
        self.write_as(&event, true, &[Block::data(&bytes)])
    }

    fn write_as(&self, event: &EventWrite, string_only: bool, blocks: &(impl BlockSource + ?Sized)) -> NtStatus {
        let subject = Subject::Event(event.descriptor);
        self.run(event.routine, event.handle, subject, || {
            self.write_now(event, string_only, blocks).err().unwrap_or(NtStatus::Success)
        })
    }

    fn write_now(
        &self,
        event: &EventWrite,
        string_only: bool,
        blocks: &(impl BlockSource + ?Sized),
    ) -> Result<(), NtStatus> {
        self.with_routes(|routes| {
            let route =
                routes.get(event.handle).map_err(|missing| self.missing(event.routine, event.handle, missing))?;
            self.write_to(route, event, string_only, blocks)
        })
    }

    fn write_to(
        &self,
        route: &Route,
        event: &EventWrite,
        string_only: bool,
        blocks: &(impl BlockSource + ?Sized),
    ) -> Result<(), NtStatus> {
        let Some(first) = route.takers.iter().position(|taker| taker.may_want(event)) else {
            return Ok(());
        };
        let takers = route.takers.get(first..).unwrap_or_default();
        let provider = route.provider;
        let mut pieces = Pieces::default();
        let mut data = Data::default();
        if !route.captures
            && let Some(used) = data.look(blocks, route.uses_descriptor_types, &mut pieces)
        {
            data.payload = pieces.get(..used).unwrap_or_default();
            return self.offer(takers, event, provider, string_only, &data);
        }
        let mut data = Gathered::take();
        let read = data.read(blocks, route.uses_descriptor_types, route.captures);
        let result = read.map_err(|unread| self.unread(event.handle, unread)).and_then(|()| {
            let payload = [data.payload()];
            self.offer(takers, event, provider, string_only, &data.data(&payload))
        });
        data.give_back();
        result
    }

    /// Offers an event to sessions, of which the first wants it as far as its descriptor tells. Every session gets its chance,
    /// and the first failure is the answer. Requests of one session are neighbours: the first that passes counts.
    fn offer(
        &self,
        takers: &[Taker],
        event: &EventWrite,
        provider: Guid,
        string_only: bool,
        data: &Data<'_>,
    ) -> Result<(), NtStatus> {
        let environment = &*self.options().environment;
        let offer = Offer {
            event,
            provider,
            string_only,
            now: self.now(),
            processor: environment.processor(),
            environment,
            keys: &self.inner().event_keys,
        };
        let mut result = Ok(());
        let mut served = None;
        for (index, taker) in takers.iter().enumerate() {
            let id = Some(taker.session.id());
            let wants = served != id && (index == 0 || taker.may_want(event)) && taker.wants_name(event, data.metadata);
            if wants {
                served = id;
                result = result.and(taker.session.offer(&offer, data, taker).ok());
            }
        }
        result
    }

    /// Why data was not read, as a status, and as a finding where it is a mistake.
    fn unread(&self, handle: u64, unread: Unread) -> NtStatus {
        let finding = match unread {
            Unread::Limit(status) => return status,
            Unread::Unreadable(index) => Finding::UnreadableData { handle, index },
            Unread::SizeChanged(index) => Finding::SizeChanged { handle, index },
        };
        self.inner().log.find(finding);
        NtStatus::InvalidParameter
    }
}
