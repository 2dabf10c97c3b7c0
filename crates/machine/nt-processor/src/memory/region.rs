//! Ranges of pages.
//!
//! A region is never unmapped. An address that a driver once had must stay invalid for as long as the driver could use
//! it, and the process lives for one driver only.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::ptr;

/// The size of a page in bytes.
pub const PAGE: u64 = 0x1000;

/// The end of the addresses that programs can have on x64, `MmUserProbeAddress`.
pub const USER_END: u64 = 0x7FFF_FFFF_0000;

/// The distance that an instruction can surely bridge, and the steps in which a free range is searched.
const NEAR: u64 = 1 << 30;
const STRIDE: u64 = 16 << 20;

/// The access rights of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// No access.
    None,
    /// Reads.
    Read,
    /// Reads and writes.
    ReadWrite,
    /// Reads and execution.
    ReadExecute,
    /// Reads, writes and execution.
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
pub struct Region {
    /// The first address.
    pub base: u64,
    /// The size in bytes, a multiple of [`PAGE`].
    pub size: u64,
}

impl Region {
    /// Maps new zeroed pages. `shared` pages are shared with processes that are forked later.
    pub fn new(size: u64, protection: Protection, shared: bool) -> io::Result<Self> {
        Self::map(0, size, protection, shared)
    }

    /// Maps new zeroed pages that can be written, between `guard` inaccessible bytes on either side. `guard` is a multiple
    /// of [`PAGE`].
    pub fn guarded(size: u64, guard: u64) -> io::Result<Self> {
        let size = size.next_multiple_of(PAGE);
        let whole = Self::new(guard + size + guard, Protection::None, false)?;
        let inner = Self { base: whole.base + guard, size };
        let is_writable = protect(inner.base, inner.size, Protection::ReadWrite);
        is_writable.then_some(inner).ok_or_else(io::Error::last_os_error)
    }

    /// Maps new zeroed pages that can be written, so near to the code at `base` that instructions in either place can use
    /// addresses relative to themselves for the other.
    pub fn near(base: u64, code: u64, size: u64) -> io::Result<Self> {
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

    /// Maps new zeroed pages at an address. Returns `None` if other pages are there.
    pub fn at(base: u64, size: u64, protection: Protection) -> Option<Self> {
        let private = libc::MAP_PRIVATE | libc::MAP_FIXED_NOREPLACE;
        let region = Self::map_with(base, size, protection, private).ok()?;
        // A system that does not know the flag takes the address as a wish.
        (region.base == base).then_some(region)
    }

    /// Maps new pages, at an address if it is free.
    fn map(wanted: u64, size: u64, protection: Protection, shared: bool) -> io::Result<Self> {
        Self::map_with(wanted, size, protection, if shared { libc::MAP_SHARED } else { libc::MAP_PRIVATE })
    }

    fn map_with(wanted: u64, size: u64, protection: Protection, kind: i32) -> io::Result<Self> {
        let size = size.next_multiple_of(PAGE);
        let length = usize::try_from(size).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let flags = kind | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let wanted = ptr::without_provenance_mut(wanted.next_multiple_of(PAGE) as usize);
        // SAFETY: no kind of mapping replaces existing pages.
        let start = unsafe { libc::mmap(wanted, length, protection.bits(), flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { base: start.expose_provenance() as u64, size })
    }

    /// Returns whether an address lies in the region.
    pub const fn contains(&self, address: u64) -> bool {
        address >= self.base && address - self.base < self.size
    }
}

/// Returns the addresses of the pages of a range.
pub fn pages(start: u64, length: u64) -> impl Iterator<Item = u64> {
    let end = if length == 0 { 0 } else { start.saturating_add(length) };
    (start & !(PAGE - 1)..end).step_by(PAGE as usize)
}

/// Changes the access rights of the pages from `start`. Returns `false` if the range is not page-aligned or not mapped.
pub fn protect(start: u64, size: u64, protection: Protection) -> bool {
    if size == 0 {
        return true;
    }
    let address = ptr::with_exposed_provenance_mut(start as usize);
    // SAFETY: callers pass ranges of regions that hold driver memory, to which Rust has no references.
    let result = unsafe { libc::mprotect(address, size as usize, protection.bits()) };
    result == 0
}

/// Returns the memory of pages to the system. The pages stay mapped and read as zero when they are used again.
pub fn give_back(start: u64, size: u64) {
    advise(start, size, libc::MADV_DONTNEED);
}

/// Makes pages inaccessible and returns their memory and what describes them to the system. The range stays reserved.
pub fn release(start: u64, size: u64) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    let address = ptr::with_exposed_provenance_mut(start as usize);
    // SAFETY: callers pass ranges of regions that hold driver memory, to which Rust has no references. Inaccessible pages replace
    // them, at the same addresses.
    let result = unsafe { libc::mmap(address, size as usize, libc::PROT_NONE, flags, -1, 0) };
    result != libc::MAP_FAILED
}

/// Creates a file in memory, without a name.
pub fn memory_file() -> io::Result<File> {
    // SAFETY: the name is a constant that ends with a zero.
    let file = unsafe { libc::memfd_create(c"pool".as_ptr(), libc::MFD_CLOEXEC) };
    if file == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, and nothing else has it.
    Ok(unsafe { File::from_raw_fd(file) })
}

/// Replaces pages by a part of a file that can be written. The file becomes long enough.
pub fn map_file(file: &File, offset: u64, start: u64, size: u64) -> bool {
    let is_long = file.metadata().is_ok_and(|file| file.len() >= offset + size);
    if !is_long && file.set_len(offset + size).is_err() {
        return false;
    }
    let address = ptr::with_exposed_provenance_mut(start as usize);
    let rights = Protection::ReadWrite.bits();
    let flags = libc::MAP_SHARED | libc::MAP_NORESERVE | libc::MAP_FIXED;
    // SAFETY: callers pass ranges of regions that hold driver memory, to which Rust has no references.
    let result = unsafe { libc::mmap(address, size as usize, rights, flags, file.as_raw_fd(), offset.cast_signed()) };
    result != libc::MAP_FAILED
}

/// Makes pages inaccessible by a mark on each, whatever their access rights are, and returns their memory to the system.
/// Returns `false` if the system has no such marks: Linux has them since 6.13.
pub fn guard(start: u64, size: u64) -> bool {
    advise(start, size, INSTALL)
}

/// Like [`guard`], for ranges: their starts and sizes.
pub fn guard_all(ranges: impl Iterator<Item = (u64, u64)>) -> bool {
    advise_all(ranges, INSTALL)
}

/// Gives the pages of ranges their memory, so that their first use is not a page fault.
pub fn populate_all(ranges: impl Iterator<Item = (u64, u64)>) -> bool {
    advise_all(ranges, libc::MADV_POPULATE_READ)
}

/// Removes the marks of [`guard`].
pub fn unguard(start: u64, size: u64) -> bool {
    /// `MADV_GUARD_REMOVE`.
    const REMOVE: i32 = 103;
    advise(start, size, REMOVE)
}

/// `MADV_GUARD_INSTALL`, which libc does not define for all of its versions.
const INSTALL: i32 = 102;

/// Gives an advice for ranges. Some systems accept many ranges in one call; others get a call for each.
fn advise_all(ranges: impl Iterator<Item = (u64, u64)>, advice: i32) -> bool {
    /// `PIDFD_SELF_THREAD_GROUP`.
    const THIS_PROCESS: i32 = -10_001;
    let range = |(start, size): (u64, u64)| libc::iovec {
        iov_base: ptr::with_exposed_provenance_mut(start as usize),
        iov_len: size as usize,
    };
    let ranges: Vec<libc::iovec> = ranges.map(range).collect();
    let size: usize = ranges.iter().map(|range| range.iov_len).sum();
    let first = ranges.as_ptr();
    let count = ranges.len();
    // SAFETY: passes the ranges, as the count says. They are ranges of regions that hold driver memory, to which Rust has no
    // references.
    let advised = unsafe { libc::syscall(libc::SYS_process_madvise, THIS_PROCESS, first, count, advice, 0) };
    usize::try_from(advised) == Ok(size)
        || ranges.iter().all(|range| advise(range.iov_base.expose_provenance() as u64, range.iov_len as u64, advice))
}

fn advise(start: u64, size: u64, advice: i32) -> bool {
    let address = ptr::with_exposed_provenance_mut(start as usize);
    // SAFETY: callers pass ranges of regions that hold driver memory, to which Rust has no references.
    unsafe { libc::madvise(address, size as usize, advice) == 0 }
}
