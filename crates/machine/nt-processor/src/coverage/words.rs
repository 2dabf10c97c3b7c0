//! Words in memory that the driver's process can share with its parent.

use std::sync::atomic::AtomicU64;
use std::{io, ptr};

use crate::memory::{Protection, Region};

/// Words that are zero at first. Nothing here allocates or locks, so a signal handler can use them.
#[derive(Debug)]
pub(super) struct Words {
    region: Region,
}

impl Words {
    /// Allocates words. `shared` words are shared with processes that are forked later.
    pub(super) fn new(count: usize, shared: bool) -> io::Result<Self> {
        Region::new(count as u64 * 8, Protection::ReadWrite, shared).map(|region| Self { region })
    }

    pub(super) fn get(&self) -> &[AtomicU64] {
        let start = ptr::with_exposed_provenance(self.region.base as usize);
        // SAFETY: the region is zeroed, aligned and mapped for as long as this value exists, and is only used as atomics.
        unsafe { std::slice::from_raw_parts(start, (self.region.size / 8) as usize) }
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        let start = ptr::with_exposed_provenance_mut(self.region.base as usize);
        // SAFETY: this is the whole region that `new` mapped, and references to it do not outlive this value.
        unsafe { libc::munmap(start, self.region.size as usize) };
    }
}
