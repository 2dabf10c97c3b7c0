//! Sections: where the bytes of the file are mapped in memory, and with which protection.

use object::LittleEndian as LE;
use object::pe::ImageSectionHeader;

use crate::bytes::printable;
use crate::values::SectionFlags;

/// One entry of the section table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The name, at most eight bytes; unprintable characters are escaped.
    pub name: String,
    /// Address in memory, relative to the image.
    pub rva: u32,
    /// Size in memory.
    pub virtual_size: u32,
    /// Offset of its bytes in the file.
    pub file_offset: u32,
    /// Size of its bytes in the file.
    pub file_size: u32,
    /// Protection and kind.
    pub flags: SectionFlags,
}

impl Section {
    pub(crate) fn read(header: &ImageSectionHeader) -> Self {
        Self {
            name: printable(header.raw_name()),
            rva: header.virtual_address.get(LE),
            virtual_size: header.virtual_size.get(LE),
            file_offset: header.pointer_to_raw_data.get(LE),
            file_size: header.size_of_raw_data.get(LE),
            flags: SectionFlags(header.characteristics.get(LE)),
        }
    }

    /// Returns the size in memory as the loader uses it: the size in the file if the header has none.
    #[must_use]
    pub fn memory_size(&self) -> u32 {
        if self.virtual_size == 0 { self.file_size } else { self.virtual_size }
    }

    /// Returns the first address after the section.
    #[must_use]
    pub fn end(&self) -> u64 {
        u64::from(self.rva) + u64::from(self.memory_size())
    }

    /// Returns whether an address is in the section.
    #[must_use]
    pub fn contains(&self, rva: u32) -> bool {
        rva >= self.rva && u64::from(rva) < self.end()
    }

    /// Returns whether any address from `start` up to, but not including, `end` is in the section.
    #[must_use]
    pub fn overlaps(&self, start: u32, end: u64) -> bool {
        u64::from(start) < self.end() && u64::from(self.rva) < end
    }

    /// Returns whether code can be executed.
    #[must_use]
    pub fn is_executable(&self) -> bool {
        self.flags.contains(SectionFlags::MEM_EXECUTE)
    }

    /// Returns whether data can be written.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.flags.contains(SectionFlags::MEM_WRITE)
    }

    /// Returns whether the kernel frees the section after the driver is initialised.
    #[must_use]
    pub fn is_discardable(&self) -> bool {
        self.flags.contains(SectionFlags::MEM_DISCARDABLE)
    }

    /// Returns whether the section is pageable. Drivers mark this with a name that starts with `PAGE`.
    #[must_use]
    pub fn is_pageable(&self) -> bool {
        self.name.starts_with("PAGE")
    }

    /// Returns the protection as text, such as `r-x`.
    #[must_use]
    pub fn rights(&self) -> String {
        let read = if self.flags.contains(SectionFlags::MEM_READ) { 'r' } else { '-' };
        let write = if self.is_writable() { 'w' } else { '-' };
        let execute = if self.is_executable() { 'x' } else { '-' };
        String::from_iter([read, write, execute])
    }
}
