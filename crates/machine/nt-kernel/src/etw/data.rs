//! The data of an event in the driver's memory.
//!
//! The engine reads the data only after it knows that a session receives the event. Each block is copied first. A
//! descriptor may point to invalid memory, and a fault while the engine fills a session's buffer would prevent the
//! session from ever writing that buffer.

use std::cell::OnceCell;

use etw_engine::{Block, BlockSource, MAX_BLOCKS};
use etw_types::DataKind;
use nt_processor::layout::EVENT_DATA_DESCRIPTOR;
use nt_processor::memory::{GuestPtr, OrStop as _};

/// A driver's array of data descriptors, and copies of the blocks that the engine has read.
pub(super) struct EventData {
    descriptors: GuestPtr<EVENT_DATA_DESCRIPTOR>,
    count: u32,
    copies: Vec<OnceCell<Vec<u8>>>,
}

impl EventData {
    pub(super) fn new(descriptors: GuestPtr<EVENT_DATA_DESCRIPTOR>, count: u32) -> Self {
        Self { descriptors, count, copies: vec![OnceCell::new(); MAX_BLOCKS.min(count as usize)] }
    }

    /// Reads a descriptor. The driver may have changed it since the last read.
    fn descriptor(&self, index: usize) -> Option<EVENT_DATA_DESCRIPTOR> {
        let is_there = !self.descriptors.is_null() && index < self.count();
        is_there.then(|| self.descriptors.at(index as u64).read().or_stop())
    }
}

impl BlockSource for EventData {
    fn count(&self) -> usize {
        self.count as usize
    }

    fn size(&self, index: usize) -> usize {
        self.descriptor(index).map_or(0, |descriptor| descriptor.Size as usize)
    }

    fn block(&self, index: usize) -> Option<Block<'_>> {
        let EVENT_DATA_DESCRIPTOR { Ptr: data, Size: size, Type: kind, .. } = self.descriptor(index)?;
        if size != 0 && data.is_null() {
            return None;
        }
        let bytes = self.copies.get(index)?.get_or_init(|| data.array(size.into()).read().or_stop());
        Some(Block::with_kind(bytes, DataKind::from_int(kind)))
    }
}
