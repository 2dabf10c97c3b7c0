//! The write path: from a handle and data blocks to the sessions that accept the event.
//!
//! This takes no lock while nothing changes: each thread has its own routes, data is copied directly from the writer's
//! memory into a session's buffer, and that buffer is lock-free. The exceptions are the record of calls, until it is
//! full or turned off, and a session that captures events in memory for a test.

use etw_types::{EventDescriptor, Guid, Keyword, Level, NtStatus};

use crate::data::{Data, Pieces};
use crate::event::{EventWrite, Offer};
use crate::gather::{Gathered, Unread};
use crate::log::Subject;
use crate::routes::{Route, Taker, Takers};
use crate::{Block, BlockSource, Engine, Finding, Routine};

impl Engine {
    /// `EtwWrite`, `EtwWriteTransfer`, `EtwWriteEx`: writes an event to every session that accepts it.
    ///
    /// Returns `InvalidHandle` for handle 0, and for a handle that is not registered, which is also recorded as a
    /// [`Finding`]. Returns `Success` if no session accepts the event; the data is then not read. Otherwise the
    /// failures are `InvalidParameter` (more than [`MAX_BLOCKS`](crate::MAX_BLOCKS) blocks, or an unreadable block),
    /// `IntegerOverflow` (more than [`MAX_DATA`](crate::MAX_DATA) bytes), `BufferOverflow` (larger than the limit of a
    /// session) and `NoMemory` (a session is full). If one session cannot record the event, the others still do.
    pub fn write(&self, event: &EventWrite, blocks: &(impl BlockSource + ?Sized)) -> NtStatus {
        self.run(event.routine, event.handle, Subject::Event(event.descriptor), || {
            let written = self.with_routes(|routes| match routes.get(event.handle) {
                Ok(route) => self.deliver(route, event, blocks),
                Err(missing) => Err(self.missing(event.routine, event.handle, missing)),
            });
            written.err().unwrap_or(NtStatus::Success)
        })
    }

    /// `EtwWriteString`: writes UTF-16 text as a string event. The terminator is added.
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
        self.write(&event, &[Block::data(&bytes)])
    }

    /// Reads the data after it is clear that a session may accept the event: directly from the writer's memory if
    /// nothing about the data is unusual, otherwise through a copy.
    fn deliver(&self, route: &Route, event: &EventWrite, blocks: &(impl BlockSource + ?Sized)) -> Result<(), NtStatus> {
        let mut takers = route.takers_of(event);
        let Some(first) = takers.next(event) else {
            return Ok(());
        };
        let mut pieces = Pieces::default();
        let mut data = Data::default();
        if !route.captures
            && let Some(used) = data.look(blocks, route.uses_descriptor_types, &mut pieces)
        {
            data.payload = pieces.get(..used).unwrap_or_default();
            return self.offer(first, takers, event, route.provider, &data);
        }
        let mut data = Gathered::take();
        let read = data.read(blocks, route.uses_descriptor_types, route.captures);
        let result = read.map_err(|unread| self.unread(event.handle, unread)).and_then(|()| {
            let payload = [data.payload()];
            self.offer(first, takers, event, route.provider, &data.data(&payload))
        });
        data.give_back();
        result
    }

    /// Offers an event to the takers that accept it by its descriptor. Every session gets the event even if another one
    /// fails; the first failure is returned. Requests of one session are adjacent: the first that passes counts.
    fn offer(
        &self,
        first: &Taker,
        others: Takers<'_>,
        event: &EventWrite,
        provider: Guid,
        data: &Data<'_>,
    ) -> Result<(), NtStatus> {
        let environment = &*self.options().environment;
        let offer = Offer {
            event,
            provider,
            now: self.now(),
            processor: environment.processor(),
            environment,
            keys: &self.inner().event_keys,
        };
        let status = first.record(&offer, data);
        let result = status.map_or(Ok(()), NtStatus::ok);
        if others.is_empty() {
            return result;
        }
        let served = status.map(|_| first.session.id());
        result.and(Self::offer_others(others, &offer, data, served))
    }

    /// Offers an event to the takers after the first one. `served` is the session that already has it.
    #[inline(never)]
    fn offer_others(
        mut takers: Takers<'_>,
        offer: &Offer<'_>,
        data: &Data<'_>,
        mut served: Option<u64>,
    ) -> Result<(), NtStatus> {
        let mut result = Ok(());
        while let Some(taker) = takers.next(offer.event) {
            let id = taker.session.id();
            if served != Some(id)
                && let Some(status) = taker.record(offer, data)
            {
                served = Some(id);
                result = result.and(status.ok());
            }
        }
        result
    }

    /// Converts the reason why data was not read into a status, and records a finding if it is a mistake of the caller.
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
