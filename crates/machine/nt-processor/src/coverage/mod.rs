//! Which code of the driver has run, without a build that is made for it.
//!
//! The code is disassembled from the addresses that are known to be code: the entry point, exports, the exception
//! directory, the lines of the PDB, and what these lead to. Each block of instructions, which only runs from its start,
//! gets a breakpoint on its first byte (`int3`). When a thread hits it, the signal handler sets the block's bit, restores
//! the byte and repeats the instruction. So each block costs one signal in a process, and nothing afterwards. A block also
//! ends at a call, and at each line of the PDB. Without `Config::coverage` nothing here runs.
//!
//! What a driver can notice, and what is not measured:
//!
//! - A driver that reads its own code, for a checksum or to copy it, reads breakpoints. A copy that it executes stops the
//!   run at the first one.
//! - A driver's own breakpoints stay what they are: no block begins with one.
//! - A block whose first instruction was reached counts, also if an instruction in it faults.
//! - Code that nothing leads to, such as the cases of a `switch` whose table was not understood, has no blocks unless a PDB
//!   names its lines.
//! - Bytes that code reads as data, as far as that can be seen in the code, have no breakpoints, whatever leads to them.

mod bitmap;
pub mod callbacks;
mod code;
mod constants;
mod descent;
mod flow;
mod record;
mod tables;
#[cfg(test)]
mod tests;
mod values;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pe_image::Layout;
use pe_image::unwind::Functions;

use crate::layer_state::LayerState;
use crate::memory::poke;
use bitmap::Bitmap;
pub use callbacks::Callbacks;
use code::{disassemble, put_breakpoints};
pub use record::{Order, RecordedCall, RecordedPrint};

/// The code of a driver, and which of it has run: in memory that the process that creates it shares with the processes
/// that it forks later.
#[derive(Clone, Debug)]
pub struct Coverage {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    blocks: Vec<u32>,
    /// The first byte of each block.
    bytes: Vec<u8>,
    functions: Vec<u32>,
    /// The constants that values are compared with, after the addresses of the instructions.
    comparisons: Vec<(u32, u64)>,
    /// The blocks that were reached.
    hits: Bitmap,
    /// Those of them that [`Coverage::take_new`] has counted. Only the others have a breakpoint in a new process: what a
    /// process reached before it stopped is new for the next one.
    counted: Bitmap,
    /// The blocks that this process has reached since then.
    recent: Bitmap,
    /// The address of the image in this process; 0 before it is loaded.
    base: AtomicU64,
}

static COVERAGE: LayerState<Coverage> = LayerState::new();

/// Makes this the coverage of this process. Later calls have no effect.
pub fn attach(coverage: &'static Coverage) {
    COVERAGE.attach(coverage);
}

/// Handles a breakpoint of the driver's code. Returns whether it was one of ours: then the instruction can be repeated.
/// The fault handler calls this, on any number of threads at the same time.
pub fn reached(address: u64) -> bool {
    COVERAGE.find().is_some_and(|coverage| coverage.reached(address))
}

/// Records that the code at an address runs, whose breakpoint stays because [`callbacks`] uses it.
pub fn hit(address: u64) {
    COVERAGE.find().and_then(|coverage| coverage.hit(address));
}

impl Coverage {
    /// Finds the blocks of an image. `lines` are the addresses at which lines of its source begin, if they are known.
    ///
    /// # Errors
    ///
    /// Fails if there is not enough memory.
    pub fn new(layout: &Layout, lines: &[u32]) -> io::Result<Self> {
        let descent = disassemble(layout, lines);
        let blocks = descent.blocks();
        let bytes = blocks.iter().map(|rva| layout.bytes.get(*rva as usize).copied().unwrap_or_default()).collect();
        let is_block = |rva: &u32| blocks.binary_search(rva).is_ok();
        let functions = Functions::from_layout(layout).iter().map(|function| function.begin).filter(is_block).collect();
        let comparisons = constants::compared(descent.instructions());
        let [hits, counted, recent] = [true, true, false].map(|shared| Bitmap::new(blocks.len(), shared));
        let hits = hits?;
        let counted = counted?;
        let recent = recent?;
        let base = AtomicU64::new(0);
        Ok(Self { inner: Arc::new(Inner { blocks, bytes, functions, comparisons, hits, counted, recent, base }) })
    }

    /// Returns the addresses of the blocks relative to the image, in ascending order.
    #[must_use]
    pub fn blocks(&self) -> &[u32] {
        &self.inner.blocks
    }

    /// Returns the addresses of the functions of the exception directory relative to the image. Each is also a block.
    #[must_use]
    pub fn functions(&self) -> &[u32] {
        &self.inner.functions
    }

    /// Returns the constants that the code compares values with, in ascending order: candidates for control codes, lengths
    /// and magic values.
    #[must_use]
    pub fn constants(&self) -> Vec<u64> {
        let constants: BTreeSet<u64> = self.inner.comparisons.iter().map(|(_, constant)| *constant).collect();
        constants.into_iter().collect()
    }

    /// Returns the constants that the functions of these blocks compare values with, at most `most`. Those that are compared
    /// soon after one of the blocks come first: an input that has just reached the blocks may need them to get further.
    #[must_use]
    pub fn constants_near(&self, blocks: &[u32], most: usize) -> Vec<u64> {
        let Inner { functions, comparisons, .. } = &*self.inner;
        let mut near: BTreeMap<u64, u32> = BTreeMap::new();
        for block in blocks {
            // A function without unwind information counts as a part of the one before it.
            let next = functions.partition_point(|begin| begin <= block);
            let begin = next.checked_sub(1).and_then(|index| functions.get(index)).copied().unwrap_or_default();
            let end = functions.get(next).copied().unwrap_or(u32::MAX);
            let from = comparisons.partition_point(|(rva, _)| *rva < begin);
            for (rva, constant) in comparisons.iter().skip(from).take_while(|(rva, _)| *rva < end) {
                // Code that has run already is worth less than code that comes next.
                let distance = rva.checked_sub(*block).unwrap_or_else(|| (block - rva).saturating_mul(4));
                near.entry(*constant).and_modify(|known| *known = distance.min(*known)).or_insert(distance);
            }
        }
        let mut near: Vec<(u32, u64)> = near.into_iter().map(|(constant, distance)| (distance, constant)).collect();
        near.sort_unstable();
        near.into_iter().map(|(_, constant)| constant).take(most).collect()
    }

    /// Returns whether a block was reached, by its position in [`Coverage::blocks`].
    #[must_use]
    pub fn is_hit(&self, block: usize) -> bool {
        self.inner.hits.get(block)
    }

    /// Returns whether the block at an address relative to the image was reached.
    #[must_use]
    pub fn is_hit_at(&self, rva: u32) -> bool {
        self.blocks().binary_search(&rva).is_ok_and(|block| self.is_hit(block))
    }

    /// Returns how many blocks were reached.
    #[must_use]
    pub fn hits(&self) -> usize {
        self.inner.hits.count()
    }

    /// Returns the blocks that this process has reached since the last call and that no process had counted before, by
    /// their addresses relative to the image.
    #[must_use]
    pub fn take_new(&self) -> Vec<u32> {
        let recent = self.inner.recent.take().into_iter().filter(|block| self.inner.counted.set(*block));
        recent.filter_map(|block| self.inner.blocks.get(block).copied()).collect()
    }

    /// Puts breakpoints on the blocks that are not known yet, and that this process has not reached, in an image that was
    /// mapped at `base`. No thread may run its code yet.
    pub fn install(&self, base: u64) {
        let inner = &*self.inner;
        inner.base.store(base, Ordering::SeqCst);
        let is_reached = |block: usize| inner.counted.get(block) || inner.recent.get(block);
        let wanted = (0..).zip(&inner.blocks).filter(|(block, _)| !is_reached(*block));
        put_breakpoints(base, wanted.map(|(_, rva)| *rva));
    }

    fn reached(&self, address: u64) -> bool {
        let byte = self.hit(address).and_then(|block| self.inner.bytes.get(block));
        // Another thread may have restored the byte already, which does no harm.
        byte.is_some_and(|byte| poke(address, &[*byte]))
    }

    /// Records that the block at an address was reached. Returns its position.
    fn hit(&self, address: u64) -> Option<usize> {
        let inner = &*self.inner;
        let rva = address.checked_sub(inner.base.load(Ordering::SeqCst)).and_then(|rva| u32::try_from(rva).ok())?;
        let block = inner.blocks.binary_search(&rva).ok()?;
        inner.hits.set(block);
        inner.recent.set(block);
        Some(block)
    }
}
