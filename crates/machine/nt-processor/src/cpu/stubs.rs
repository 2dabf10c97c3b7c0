//! The addresses that a driver gets for the routines it imports.
//!
//! Each stub is a few bytes of code that load the routine's number and jump to the common entry. The stubs lie in pages
//! of their own, so an address identifies its routine.

use super::switch::{check_stack, import_entry};
use crate::memory::{GuestPtr, OrStop as _, Protection, Region, protect};

/// The size of a stub in bytes.
const SIZE: u64 = 32;

/// The stubs for the routines of a table.
#[derive(Clone, Copy, Debug)]
pub struct Stubs {
    region: Region,
    count: u32,
}

impl Stubs {
    /// Returns the number of bytes for the stubs of `count` routines and of `__chkstk`.
    pub const fn size(count: u32) -> u64 {
        (count as u64 + 1) * SIZE
    }

    /// Writes the stubs of `count` routines into a region that has room for them.
    pub fn new(region: Region, count: u32) -> Self {
        let stubs = Self { region, count };
        let entry = (import_entry as *const ()).expose_provenance() as u64;
        for index in 0..count {
            let mut code = [0xCC_u8; SIZE as usize];
            // mov r11d, index; mov r10, entry; jmp r10
            code[..2].copy_from_slice(&[0x41, 0xBB]);
            code[2..6].copy_from_slice(&index.to_le_bytes());
            code[6..8].copy_from_slice(&[0x49, 0xBA]);
            code[8..16].copy_from_slice(&entry.to_le_bytes());
            code[16..19].copy_from_slice(&[0x41, 0xFF, 0xE2]);
            stubs.place(index).write(code).or_stop();
        }
        let mut code = [0xCC_u8; SIZE as usize];
        // jmp [rip], because all registers must be preserved
        code[..6].copy_from_slice(&[0xFF, 0x25, 0, 0, 0, 0]);
        code[6..14].copy_from_slice(&((check_stack as *const ()).expose_provenance() as u64).to_le_bytes());
        stubs.place(count).write(code).or_stop();
        protect(region.base, region.size, Protection::ReadExecute);
        stubs
    }

    const fn place(&self, index: u32) -> GuestPtr<[u8; SIZE as usize]> {
        GuestPtr::new(self.region.base).at(index as u64)
    }

    /// Returns the address of a routine's stub.
    pub fn address(&self, index: u32) -> u64 {
        debug_assert!(index < self.count, "a routine of the table");
        self.place(index).address()
    }

    /// Returns the address of `__chkstk`, which has its own calling convention.
    pub const fn check_stack(&self) -> u64 {
        self.place(self.count).address()
    }
}
