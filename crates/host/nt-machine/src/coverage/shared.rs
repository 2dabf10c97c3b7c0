//! Words in memory that the driver's process shares with its parent.

use std::sync::atomic::AtomicU64;
use std::{io, ptr};

use crate::memory::{Protection, Region};

/// Words that are zero at first. Nothing here allocates or locks, so a signal handler can use them.
#[derive(Debug)]
pub(super) struct SharedWords {
    region: Region,
}

impl SharedWords {
    /// Allocates words for this process and for those that it forks later.
    pub(super) fn new(count: usize) -> io::Result<Self> {
        Region::new(count as u64 * 8, Protection::ReadWrite, true).map(|region| Self { region })
    }

    pub(super) fn get(&self) -> &[AtomicU64] {
        let start = ptr::with_exposed_provenance(self.region.base as usize);
        // SAFETY: the region is zeroed, aligned and mapped for as long as this value exists, and is only used as atomics.
        unsafe { std::slice::from_raw_parts(start, (self.region.size / 8) as usize) }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        let start = ptr::with_exposed_provenance_mut(self.region.base as usize);
        // SAFETY: this is the whole region that `new` mapped, and references to it do not outlive this value.
        unsafe { libc::munmap(start, self.region.size as usize) };
    }
}
