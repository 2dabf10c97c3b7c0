//! Sections: where the bytes of the file go in memory, and what may be done with them there.

use object::LittleEndian as LE;
use object::pe::ImageSectionHeader;

use crate::values::SectionFlags;
use crate::view::printable;

/// One line of the section table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// At most eight characters; what cannot be printed is escaped.
    pub name: String,
    /// Address in memory, relative to the image.
    pub rva: u32,
    /// Size in memory.
    pub virtual_size: u32,
    /// Offset of its bytes in the file.
    pub file_offset: u32,
    /// How many bytes of the file there are.
    pub file_size: u32,
    /// Rights and kind.
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

    /// Size in memory as the loader takes it: where the header has none, it is that in the file.
    #[must_use]
    pub fn memory_size(&self) -> u32 {
        if self.virtual_size == 0 { self.file_size } else { self.virtual_size }
    }

    /// The first address behind the section.
    #[must_use]
    pub fn end(&self) -> u64 {
        u64::from(self.rva) + u64::from(self.memory_size())
    }

    /// Whether an address lies in the section.
    #[must_use]
    pub fn contains(&self, rva: u32) -> bool {
        rva >= self.rva && u64::from(rva) < self.end()
    }

    /// Whether any address from `start` up to `end` lies in the section.
    #[must_use]
    pub fn overlaps(&self, start: u32, end: u64) -> bool {
        u64::from(start) < self.end() && u64::from(self.rva) < end
    }

    /// Whether code can run here.
    #[must_use]
    pub fn is_executable(&self) -> bool {
        self.flags.contains(SectionFlags::MEM_EXECUTE)
    }

    /// Whether data can change here.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.flags.contains(SectionFlags::MEM_WRITE)
    }

    /// Whether the kernel frees it once the driver is initialised.
    #[must_use]
    pub fn is_discardable(&self) -> bool {
        self.flags.contains(SectionFlags::MEM_DISCARDABLE)
    }

    /// Whether it may be paged out: drivers say so with a name that begins with `PAGE`.
    #[must_use]
    pub fn is_pageable(&self) -> bool {
        self.name.starts_with("PAGE")
    }

    /// Rights as a word: `r-x` and the like.
    #[must_use]
    pub fn rights(&self) -> String {
        let read = if self.flags.contains(SectionFlags::MEM_READ) { 'r' } else { '-' };
        let write = if self.is_writable() { 'w' } else { '-' };
        let execute = if self.is_executable() { 'x' } else { '-' };
        String::from_iter([read, write, execute])
    }
}
