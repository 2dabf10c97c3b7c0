//! Ranges of pages.
//!
//! A region is never unmapped. An address that a driver once had must stay invalid for as long as the driver could use
//! it, and the process lives for one driver only.

use std::io;
use std::ptr;

/// The size of a page in bytes.
pub(crate) const PAGE: u64 = 0x1000;

/// The distance that an instruction can surely bridge, and the steps in which a free range is searched.
const NEAR: u64 = 1 << 30;
const STRIDE: u64 = 16 << 20;

/// The access rights of pages.
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

/// A range of pages in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    /// The first address.
    pub(crate) base: u64,
    /// The size in bytes, a multiple of [`PAGE`].
    pub(crate) size: u64,
}

impl Region {
    /// Maps new zeroed pages. `shared` pages are shared with processes that are forked later.
    pub(crate) fn new(size: u64, protection: Protection, shared: bool) -> io::Result<Self> {
        Self::map(0, size, protection, shared)
    }

    /// Maps new zeroed pages that can be written, between `guard` inaccessible bytes on either side. `guard` is a multiple
    /// of [`PAGE`].
    pub(crate) fn guarded(size: u64, guard: u64) -> io::Result<Self> {
        let size = size.next_multiple_of(PAGE);
        let whole = Self::new(guard + size + guard, Protection::None, false)?;
        let inner = Self { base: whole.base + guard, size };
        let is_writable = protect(inner.base, inner.size, Protection::ReadWrite);
        is_writable.then_some(inner).ok_or_else(io::Error::last_os_error)
    }

    /// Maps new zeroed pages that can be written, so near to the code at `base` that instructions in either place can use
    /// addresses relative to themselves for the other.
    pub(crate) fn near(base: u64, code: u64, size: u64) -> io::Result<Self> {
        let size = size.max(PAGE);
        let places = (0..NEAR).step_by(STRIDE as usize);
        for wanted in places.flat_map(|distance| [base + code + distance, base - size - distance]) {
            let region = Self::map(wanted, size, Protection::ReadWrite, false)?;
            if region.base.abs_diff(base) < NEAR {
                return Ok(region);
            }
            // Other pages are there. The new ones stay: a region is never unmapped.
        }
        Err(io::ErrorKind::AddrNotAvailable.into())
    }

    /// Maps new pages, at an address if it is free.
    fn map(wanted: u64, size: u64, protection: Protection, shared: bool) -> io::Result<Self> {
        let size = size.next_multiple_of(PAGE);
        let length = usize::try_from(size).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let kind = if shared { libc::MAP_SHARED } else { libc::MAP_PRIVATE };
        let flags = kind | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let wanted = ptr::without_provenance_mut(wanted.next_multiple_of(PAGE) as usize);
        // SAFETY: the address is only a wish, so the new pages replace no existing ones.
        let start = unsafe { libc::mmap(wanted, length, protection.bits(), flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { base: start.expose_provenance() as u64, size })
    }

    /// Returns whether an address lies in the region.
    pub(crate) const fn contains(&self, address: u64) -> bool {
        address >= self.base && address - self.base < self.size
    }
}

/// Changes the access rights of the pages from `start`. Returns `false` if the range is not page-aligned or not mapped.
pub(crate) fn protect(start: u64, size: u64, protection: Protection) -> bool {
    if size == 0 {
        return true;
    }
    let address = ptr::with_exposed_provenance_mut(start as usize);
    // SAFETY: callers pass ranges of regions that hold driver memory, to which Rust has no references.
    let result = unsafe { libc::mprotect(address, size as usize, protection.bits()) };
    result == 0
}

/// Returns the memory of pages to the system. The pages stay mapped and read as zero when they are used again.
pub(crate) fn give_back(start: u64, size: u64) {
    advise(start, size, libc::MADV_DONTNEED);
}

/// Makes pages inaccessible by a mark on each, whatever their access rights are, and returns their memory to the system.
/// Returns `false` if the system has no such marks: Linux has them since 6.13.
pub(crate) fn guard(start: u64, size: u64) -> bool {
    /// `MADV_GUARD_INSTALL`, which libc does not define for all of its versions.
    const INSTALL: i32 = 102;
    advise(start, size, INSTALL)
}

/// Removes the marks of [`guard`].
pub(crate) fn unguard(start: u64, size: u64) -> bool {
    /// `MADV_GUARD_REMOVE`.
    const REMOVE: i32 = 103;
    advise(start, size, REMOVE)
}

fn advise(start: u64, size: u64, advice: i32) -> bool {
    let address = ptr::with_exposed_provenance_mut(start as usize);
    // SAFETY: callers pass ranges of regions that hold driver memory, to which Rust has no references.
    unsafe { libc::madvise(address, size as usize, advice) == 0 }
}
