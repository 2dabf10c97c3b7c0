//! Stacks for driver code: as small as in the kernel, with pages around them that nobody may touch.

use std::{io, ptr};

use crate::memory::{PAGE, Protection, Region, protect};

/// Bytes of a kernel stack on x64 Windows.
pub(crate) const SIZE: u64 = 24 * 1024;
/// No access on either side. Wide enough that no frame steps over it without `__chkstk`.
const GUARD: u64 = 16 * PAGE;

/// Stack of signal handlers. Findings are formatted on it.
const HANDLER_STACK: u64 = 64 * 1024;

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

    /// The lowest address that can be used.
    pub(crate) const fn low(&self) -> u64 {
        self.region.base + GUARD
    }

    /// The first address above.
    pub(crate) const fn high(&self) -> u64 {
        self.region.base + GUARD + SIZE
    }

    /// Whether an address is in the pages that catch an overflow.
    pub(crate) const fn is_guard(&self, address: u64) -> bool {
        self.region.contains(address) && address < self.low()
    }
}

/// Gives the calling thread a stack for its handlers: its own one may be what overflowed.
pub(crate) fn use_handler_stack() -> io::Result<()> {
    let region = Region::new(HANDLER_STACK, Protection::ReadWrite, false)?;
    let stack = libc::stack_t {
        ss_sp: ptr::with_exposed_provenance_mut(region.base as usize),
        ss_flags: 0,
        ss_size: region.size as usize,
    };
    // SAFETY: the pages stay for ever, and nobody else uses them.
    let result = unsafe { libc::sigaltstack(&raw const stack, ptr::null_mut()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
