//! Pages that this process and a child that is forked later both see, at the same address.

use std::io;
use std::ptr;

const PAGE: usize = 0x1000;

/// Some pages. They go away with this value; the child's view of them with the child.
#[derive(Debug)]
pub(super) struct Shared {
    start: *mut u8,
    size: usize,
}

impl Shared {
    /// New zeroed pages that may be read and written.
    pub(super) fn new(size: usize) -> io::Result<Self> {
        Self::with(size, libc::PROT_READ | libc::PROT_WRITE)
    }

    /// Addresses at which there is nothing.
    pub(super) fn nothing(size: usize) -> io::Result<Self> {
        Self::with(size, libc::PROT_NONE)
    }

    fn with(size: usize, rights: i32) -> io::Result<Self> {
        let size = size.next_multiple_of(PAGE);
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        // SAFETY: new pages at an address of the system's choice touch nothing that exists.
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

    /// Where `length` bytes at an address begin, if all of them are here.
    fn offset(&self, address: u64, length: usize) -> Option<usize> {
        let offset = usize::try_from(address.checked_sub(self.base())?).ok()?;
        let end = offset.checked_add(length)?;
        (end <= self.size).then_some(offset)
    }

    pub(super) fn read(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        let offset = self.offset(address, length)?;
        let mut bytes = vec![0; length];
        // SAFETY: `offset` lies in the pages.
        let from = unsafe { self.start.add(offset) };
        // SAFETY: all of the range lies in the pages, which are mapped as long as this value lives and can be read, but
        // for those with nothing at them, which nobody reads. The child stands still meanwhile.
        unsafe { ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), length) };
        Some(bytes)
    }

    pub(super) fn write(&self, address: u64, bytes: &[u8]) -> bool {
        let Some(offset) = self.offset(address, bytes.len()) else {
            return false;
        };
        // SAFETY: `offset` lies in the pages.
        let to = unsafe { self.start.add(offset) };
        // SAFETY: as in `read`; no reference of this process leads to the pages.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        true
    }

    /// Lets a part of the pages be executed. In this process they can still be written to only where they could be.
    pub(super) fn allow_execution(&self, offset: usize, size: usize) -> io::Result<()> {
        // SAFETY: `offset` lies in the pages.
        let start = unsafe { self.start.add(offset) };
        let size = size.next_multiple_of(PAGE);
        // SAFETY: the range is of these pages alone, to which no reference leads.
        let result = unsafe { libc::mprotect(start.cast(), size, libc::PROT_READ | libc::PROT_EXEC) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the pages are this value's own.
        unsafe { libc::munmap(self.start.cast(), self.size) };
    }
}
