//! Ranges of pages.
//!
//! A region is never unmapped: addresses that a driver once had must stay invalid for as long as the driver could use
//! them, and the process that holds them lives for one driver only.

use std::io;
use std::ptr;

/// Bytes of a page.
pub(crate) const PAGE: u64 = 0x1000;

/// What may be done with pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protection {
    None,
    Read,
    ReadWrite,
    ReadExecute,
    All,
}

impl Protection {
    const fn bits(self) -> i32 {
        match self {
            Self::None => libc::PROT_NONE,
            Self::Read => libc::PROT_READ,
            Self::ReadWrite => libc::PROT_READ | libc::PROT_WRITE,
            Self::ReadExecute => libc::PROT_READ | libc::PROT_EXEC,
            Self::All => libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC,
        }
    }
}

/// Some pages of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    /// First address.
    pub(crate) base: u64,
    /// Bytes, a multiple of [`PAGE`].
    pub(crate) size: u64,
}

impl Region {
    /// New zeroed pages. `shared` ones stay the same in a process that is forked later.
    pub(crate) fn new(size: u64, protection: Protection, shared: bool) -> io::Result<Self> {
        let size = size.next_multiple_of(PAGE);
        let length = usize::try_from(size).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let kind = if shared { libc::MAP_SHARED } else { libc::MAP_PRIVATE };
        let flags = kind | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: new pages at an address of the system's choice touch nothing that exists.
        let start = unsafe { libc::mmap(ptr::null_mut(), length, protection.bits(), flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { base: start.expose_provenance() as u64, size })
    }

    /// Whether an address lies in the region.
    pub(crate) const fn contains(&self, address: u64) -> bool {
        address >= self.base && address - self.base < self.size
    }
}

/// Changes the rights of the pages from `start` on. A range that is not page-aligned or not mapped is left as it is.
pub(crate) fn protect(start: u64, size: u64, protection: Protection) -> bool {
    if size == 0 {
        return true;
    }
    let address = ptr::with_exposed_provenance_mut(start as usize);
    // SAFETY: callers pass ranges of regions that hold driver memory, to which Rust keeps no reference.
    let result = unsafe { libc::mprotect(address, size as usize, protection.bits()) };
    result == 0
}

/// Gives the memory of pages back to the system. They stay where they are, and are zero if they are used again.
pub(crate) fn give_back(start: u64, size: u64) {
    let address = ptr::with_exposed_provenance_mut(start as usize);
    // SAFETY: callers pass ranges of regions that hold driver memory that was freed.
    unsafe { libc::madvise(address, size as usize, libc::MADV_DONTNEED) };
}
