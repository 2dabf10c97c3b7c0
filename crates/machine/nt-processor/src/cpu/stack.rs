//! Stacks for driver code: as small as in the kernel, with inaccessible guard pages around them.

use std::io;

use crate::memory::{PAGE, Region};

/// The size of a kernel stack on x64 Windows, in bytes.
pub const SIZE: u64 = 24 * 1024;
/// The size of the inaccessible area on either side. No frame is large enough to step over it without `__chkstk`.
const GUARD: u64 = 16 * PAGE;

/// A kernel stack.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    region: Region,
}

impl Stack {
    /// Reserves a stack between inaccessible pages.
    pub fn new() -> io::Result<Self> {
        Region::guarded(SIZE, GUARD).map(|region| Self { region })
    }

    /// Returns the lowest usable address.
    pub const fn low(&self) -> u64 {
        self.region.base
    }

    /// Returns the first address above the stack.
    pub const fn high(&self) -> u64 {
        self.region.base + SIZE
    }

    /// Returns whether an address is on the stack.
    pub const fn contains(&self, address: u64) -> bool {
        self.region.contains(address)
    }

    /// Returns whether an address is in the guard pages that catch an overflow.
    pub const fn is_guard(&self, address: u64) -> bool {
        address < self.low() && self.low() - address <= GUARD
    }
}
