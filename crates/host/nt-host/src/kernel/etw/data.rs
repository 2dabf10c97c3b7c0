//! An event's data in the driver's memory.
//!
//! The engine copies data straight into the buffers of sessions. A driver may announce data that is not there, and the fault
//! ends the thread: in the middle of a buffer, that would keep the session from ever writing it. So each piece is touched
//! when the engine finds it, before it has anything to finish.

use etw_engine::{Block, BlockSource, MAX_BLOCKS, MAX_DATA};
use etw_symbols::memory::RawBlocks;

use crate::cpu::fault::OrStop as _;
use crate::memory::{GuestPtr, PAGE};

/// Data that faults, where it does, before anything is copied.
pub(super) struct EventData(pub(super) RawBlocks);

impl EventData {
    /// Whether the engine will read the data: else nobody looks at it.
    fn is_within_limits(&self) -> bool {
        let count = self.0.count();
        let sizes = (0..count.min(MAX_BLOCKS)).map(|index| self.0.size(index));
        count <= MAX_BLOCKS && sizes.fold(0, usize::saturating_add) <= MAX_DATA
    }
}

impl BlockSource for EventData {
    fn count(&self) -> usize {
        self.0.count()
    }

    fn size(&self, index: usize) -> usize {
        self.0.size(index)
    }

    fn block(&self, index: usize) -> Option<Block<'_>> {
        let block = self.0.block(index)?;
        if let Some(last) = block.bytes.len().checked_sub(1).filter(|_| self.is_within_limits()) {
            let start = block.bytes.as_ptr().addr();
            for place in (0..last).step_by(PAGE as usize).chain([last]) {
                GuestPtr::<u8>::new((start + place) as u64).read().or_stop();
            }
        }
        Some(block)
    }
}
