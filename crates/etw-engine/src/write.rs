//! The write path: from a handle and data blocks to the sessions that want the event.

use std::sync::Arc;

use etw_types::{EventDescriptor, Guid, Keyword, Level, NtStatus};

use crate::log::Subject;
use crate::session::SessionCore;
use crate::sync::read;
use crate::{Block, BlockSource, CapturedBlock, CapturedEvent, Engine, Finding, Routine};

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

/// A registration as the write path sees it, and who listens.
struct Route {
    provider: Guid,
    uses_descriptor_types: bool,
    takers: Vec<Arc<SessionCore>>,
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
        let route = self.route(event)?;
        if route.takers.is_empty() {
            return Ok(());
        }
        let data = self.read_blocks(event.handle, blocks)?;
        let mut captured = CapturedEvent {
            provider: route.provider,
            descriptor: event.descriptor,
            activity: event.activity.unwrap_or(Guid::ZERO),
            related: event.related,
            traits: None,
            metadata: None,
            payload: Vec::new(),
            filter: event.filter,
            flags: event.flags,
            string_only,
            descriptors: 0,
            blocks: Vec::new(),
            timestamp: self.now(),
            timestamp_override: None,
            sequence: 0,
        };
        captured.place(data, route.uses_descriptor_types);
        // Every taker gets its chance; the first failure is the answer.
        let mut result = Ok(());
        for taker in &route.takers {
            result = result.and(taker.capture(&captured).ok());
        }
        result
    }

    fn route(&self, event: &EventWrite) -> Result<Route, NtStatus> {
        let state = read(&self.inner().state);
        let route = state.get(event.handle).map(|registration| Route {
            provider: registration.provider,
            uses_descriptor_types: registration.uses_descriptor_types,
            takers: state.takers(registration, event.descriptor.level, event.descriptor.keyword),
        });
        drop(state);
        route.map_err(|missing| self.missing(event.routine, event.handle, missing))
    }

    /// Copies the blocks: counts, adds up the sizes, then reads, as the kernel does.
    fn read_blocks(&self, handle: u64, blocks: &(impl BlockSource + ?Sized)) -> Result<Vec<CapturedBlock>, NtStatus> {
        let count = blocks.count();
        if count > MAX_BLOCKS {
            return Err(NtStatus::InvalidParameter);
        }
        let sizes: Vec<usize> = (0..count).map(|index| blocks.size(index)).collect();
        let total = sizes.iter().try_fold(0_usize, |total, &size| total.checked_add(size));
        if total.is_none_or(|total| total > MAX_DATA) {
            return Err(NtStatus::IntegerOverflow);
        }
        let log = &self.inner().log;
        let mut data = Vec::with_capacity(count);
        for (index, size) in sizes.into_iter().enumerate() {
            let Some(block) = blocks.block(index) else {
                log.find(Finding::UnreadableData { handle, index });
                return Err(NtStatus::InvalidParameter);
            };
            if block.bytes.len() != size {
                log.find(Finding::SizeChanged { handle, index });
                return Err(NtStatus::InvalidParameter);
            }
            data.push(CapturedBlock { kind: block.kind, bytes: block.bytes.to_vec() });
        }
        Ok(data)
    }
}
