//! Stacks for driver code: as small as in the kernel, with inaccessible guard pages around them.

use std::io;

use crate::memory::{PAGE, Protection, Region, protect};

/// The size of a kernel stack on x64 Windows, in bytes.
pub(crate) const SIZE: u64 = 24 * 1024;
/// The size of the inaccessible area on either side. No frame is large enough to step over it without `__chkstk`.
const GUARD: u64 = 16 * PAGE;

/// A kernel stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stack {
    region: Region,
}

impl Stack {
    pub(crate) fn new() -> io::Result<Self> {
        let region = Region::new(GUARD + SIZE + GUARD, Protection::None, false)?;
        let stack = Self { region };
        protect(stack.low(), SIZE, Protection::ReadWrite);
        Ok(stack)
    }

    /// Returns the lowest usable address.
    pub(crate) const fn low(&self) -> u64 {
        self.region.base + GUARD
    }

    /// Returns the first address above the stack.
    pub(crate) const fn high(&self) -> u64 {
        self.region.base + GUARD + SIZE
    }

    /// Returns whether an address is on the stack.
    pub(crate) const fn contains(&self, address: u64) -> bool {
        address >= self.low() && address < self.high()
    }

    /// Returns whether an address is in the guard pages that catch an overflow.
    pub(crate) const fn is_guard(&self, address: u64) -> bool {
        self.region.contains(address) && address < self.low()
    }
}
