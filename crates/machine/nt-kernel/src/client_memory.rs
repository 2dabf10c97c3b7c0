//! Memory of the client's process at addresses that the client chose, for requests whose data contains addresses.
//!
//! A driver's addresses are addresses of this process, so the pages are really there, as those of a program are for a driver that
//! runs in its context.

use std::ops::Range;

use etw_types::NtStatus;
use nt_processor::memory::{GuestPtr, PAGE, Protection, Region, USER_END, give_back, pages, protect};
use nt_processor::sorted::SortedMap;

use super::{kernel, lock};

/// The addresses that a program can allocate.
const ADDRESSES: Range<u64> = 0x1_0000..USER_END;

/// The size of the largest piece of memory.
const LARGEST: u64 = 16 << 20;

/// The pages that a client has had, by their addresses, and whether it still has them.
#[derive(Debug, Default)]
pub struct ClientMemory {
    pages: SortedMap<u64, bool>,
}

impl ClientMemory {
    /// Allocates the pages of a range that the client does not have.
    fn allocate(&mut self, start: u64, length: u64) -> Result<(), NtStatus> {
        let last = start.checked_add(length.saturating_sub(1)).ok_or(NtStatus::InvalidParameter)?;
        if length == 0 || !ADDRESSES.contains(&start) || !ADDRESSES.contains(&last) {
            return Err(NtStatus::InvalidParameter);
        }
        if length > LARGEST {
            return Err(NtStatus::NoMemory);
        }
        for page in pages(start, length) {
            match self.pages.get(&page) {
                Some(true) => continue,
                Some(false) => {
                    give_back(page, PAGE);
                    if !protect(page, PAGE, Protection::ReadWrite) {
                        return Err(NtStatus::NoMemory);
                    }
                }
                None => drop(Region::at(page, PAGE, Protection::ReadWrite).ok_or(NtStatus::ConflictingAddresses)?),
            }
            self.pages.insert(page, true);
        }
        Ok(())
    }

    /// Returns whether a range is the client's.
    fn has(&self, start: u64, length: u64) -> bool {
        length != 0
            && start.checked_add(length).is_some()
            && pages(start, length).all(|page| self.pages.get(&page) == Some(&true))
    }
}

/// Returns whether a range is memory that a client has allocated.
pub fn contains(start: u64, length: u64) -> bool {
    lock(&kernel().client_memory).has(start, length)
}

/// Writes to memory of the client, which is allocated where there is none.
pub fn write(address: u64, data: &[u8]) -> Result<(), NtStatus> {
    lock(&kernel().client_memory).allocate(address, data.len() as u64)?;
    GuestPtr::new(address).write_all(data).map_err(|_| NtStatus::AccessViolation)
}

/// Reads memory of the client.
pub fn read(address: u64, length: u64) -> Result<Vec<u8>, NtStatus> {
    if !contains(address, length) {
        return Err(NtStatus::MemoryNotAllocated);
    }
    GuestPtr::new(address).array(length).read().map_err(|_| NtStatus::AccessViolation)
}

/// Frees the pages of a range of the client's memory. Later accesses to them fail.
pub fn free(address: u64, length: u64) -> Result<(), NtStatus> {
    let memory = &mut lock(&kernel().client_memory);
    if !memory.has(address, length) {
        return Err(NtStatus::MemoryNotAllocated);
    }
    for page in pages(address, length) {
        protect(page, PAGE, Protection::None);
        memory.pages.insert(page, false);
    }
    Ok(())
}
