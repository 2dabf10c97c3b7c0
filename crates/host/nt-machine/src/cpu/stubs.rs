//! The addresses that a driver gets for the routines it imports.
//!
//! Each is a few bytes of code that load the routine's number and go on to the common entry. They lie in pages of their
//! own, so that an address says which routine it is.

use std::io;

use super::switch::import_entry;
use crate::memory::{GuestPtr, OrStop as _, Protection, Region, protect};

/// Bytes of a stub.
const SIZE: u64 = 32;

/// Stubs for the routines of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stubs {
    region: Region,
    count: u32,
}

impl Stubs {
    /// Writes the stubs of `count` routines.
    pub(crate) fn new(count: u32) -> io::Result<Self> {
        let region = Region::new(u64::from(count) * SIZE, Protection::ReadWrite, false)?;
        let entry = (import_entry as *const ()).expose_provenance() as u64;
        for index in 0..count {
            let mut code = [0xCC_u8; SIZE as usize];
            // mov r11d, index; mov r10, entry; jmp r10
            code[..2].copy_from_slice(&[0x41, 0xBB]);
            code[2..6].copy_from_slice(&index.to_le_bytes());
            code[6..8].copy_from_slice(&[0x49, 0xBA]);
            code[8..16].copy_from_slice(&entry.to_le_bytes());
            code[16..19].copy_from_slice(&[0x41, 0xFF, 0xE2]);
            GuestPtr::<[u8; SIZE as usize]>::new(region.base).at(index.into()).write(code).or_stop();
        }
        protect(region.base, region.size, Protection::ReadExecute);
        Ok(Self { region, count })
    }

    /// The address for a routine.
    pub(crate) fn address(&self, index: u32) -> u64 {
        debug_assert!(index < self.count, "a routine of the table");
        self.region.base + u64::from(index) * SIZE
    }
}
