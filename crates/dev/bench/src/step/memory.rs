//! Memory that this process and a child that is forked later share, at the same address.

use std::io;
use std::ptr;

const PAGE: usize = 0x1000;

/// Shared pages. They are unmapped when this value is dropped; the child has its own mapping.
#[derive(Debug)]
pub(super) struct Shared {
    start: *mut u8,
    size: usize,
}

impl Shared {
    /// Maps new zeroed pages that can be read and written.
    pub(super) fn new(size: usize) -> io::Result<Self> {
        Self::with(size, libc::PROT_READ | libc::PROT_WRITE)
    }

    /// Reserves inaccessible addresses.
    pub(super) fn nothing(size: usize) -> io::Result<Self> {
        Self::with(size, libc::PROT_NONE)
    }

    fn with(size: usize, rights: i32) -> io::Result<Self> {
        let size = size.next_multiple_of(PAGE);
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        // SAFETY: the system chooses the address of the new pages, so existing memory is not affected.
        let start = unsafe { libc::mmap(ptr::null_mut(), size, rights, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { start: start.cast(), size })
    }

    pub(super) fn base(&self) -> u64 {
        self.start.expose_provenance() as u64
    }

    pub(super) fn contains(&self, address: u64) -> bool {
        self.offset(address, 1).is_some()
    }

    /// Returns the offset of `length` bytes at an address, if all of them are in these pages.
    fn offset(&self, address: u64, length: usize) -> Option<usize> {
        let offset = usize::try_from(address.checked_sub(self.base())?).ok()?;
        let end = offset.checked_add(length)?;
        (end <= self.size).then_some(offset)
    }

    pub(super) fn read(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        let offset = self.offset(address, length)?;
        let mut bytes = vec![0; length];
        // SAFETY: `offset` is within the pages.
        let from = unsafe { self.start.add(offset) };
        // SAFETY: the whole range is within the pages, which stay mapped as long as this value lives. They are
        // readable, except for inaccessible ones, which are never read. The child is stopped during this time.
        unsafe { ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), length) };
        Some(bytes)
    }

    pub(super) fn write(&self, address: u64, bytes: &[u8]) -> bool {
        let Some(offset) = self.offset(address, bytes.len()) else {
            return false;
        };
        // SAFETY: `offset` is within the pages.
        let to = unsafe { self.start.add(offset) };
        // SAFETY: as in `read`; this process has no references to the pages.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        true
    }

    /// Makes a part of the pages executable and read-only.
    pub(super) fn allow_execution(&self, offset: usize, size: usize) -> io::Result<()> {
        // SAFETY: `offset` is within the pages.
        let start = unsafe { self.start.add(offset) };
        let size = size.next_multiple_of(PAGE);
        // SAFETY: the range is within these pages, to which there are no references.
        let result = unsafe { libc::mprotect(start.cast(), size, libc::PROT_READ | libc::PROT_EXEC) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: this value owns the pages.
        unsafe { libc::munmap(self.start.cast(), self.size) };
    }
}
