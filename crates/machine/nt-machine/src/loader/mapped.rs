//! An image in memory, with the access rights of its sections.

use std::io;

use nt_processor::memory::{GuestPtr, OrStop as _, PAGE, Protection, Region, protect};
use pe_image::{Layout, Section};

/// The size of the inaccessible area on either side of an image. An index that is a little too large for a table of the
/// driver must not depend on what the system happens to map next to the image.
const GUARD: u64 = 1 << 20;

/// An image that is mapped, relocated and bound.
#[derive(Clone, Debug)]
pub(crate) struct Mapped {
    region: Region,
    sections: Vec<Section>,
    headers: u32,
    entry: u32,
    /// Whether sections share pages. If so, all pages have all rights.
    shares_pages: bool,
}

impl Mapped {
    /// Maps an image at an address that the system chooses. `resolve` returns the address of each import. `check` and
    /// `dispatch` are the targets of the pointers of Control Flow Guard.
    pub(crate) fn new(
        layout: &Layout,
        cookie: u64,
        check: u64,
        dispatch: u64,
        mut resolve: impl FnMut(usize) -> u64,
    ) -> io::Result<Self> {
        let region = Region::guarded(layout.bytes.len() as u64, GUARD)?;
        let base = region.base;
        let image = GuestPtr::<u8>::new(base);
        let word = |rva: u32| image.at(rva.into()).cast::<u64>();
        image.write_all(&layout.bytes).or_stop();
        for constant in super::constants::find(layout) {
            word(constant.rva).write(constant.new).or_stop();
        }
        let moved = base.wrapping_sub(layout.base);
        for &rva in &layout.relocations {
            word(rva).change(|address| address.wrapping_add(moved)).or_stop();
        }
        for (index, import) in layout.imports.iter().enumerate() {
            word(import.slot).write(resolve(index)).or_stop();
        }
        for (place, value) in
            [(layout.guard.cookie, cookie), (layout.guard.check, check), (layout.guard.dispatch, dispatch)]
        {
            if let Some(rva) = place {
                word(rva).write(value).or_stop();
            }
        }
        let mapped = Self {
            region,
            sections: layout.sections.clone(),
            headers: layout.headers,
            entry: layout.entry,
            shares_pages: layout.shares_pages,
        };
        mapped.protect_all();
        Ok(mapped)
    }

    fn protect_all(&self) {
        if self.shares_pages {
            protect(self.region.base, self.region.size, Protection::All);
            return;
        }
        protect(self.region.base, self.region.size, Protection::None);
        protect(self.region.base, u64::from(self.headers).next_multiple_of(PAGE), Protection::Read);
        for section in &self.sections {
            let (start, size) = self.range(section);
            protect(start, size, Self::rights(section));
        }
    }

    /// Returns the access rights of a section.
    fn rights(section: &Section) -> Protection {
        match (section.is_writable(), section.is_executable()) {
            (true, true) => Protection::All,
            (true, false) => Protection::ReadWrite,
            (false, true) => Protection::ReadExecute,
            (false, false) => Protection::Read,
        }
    }

    fn range(&self, section: &Section) -> (u64, u64) {
        (self.region.base + u64::from(section.rva), u64::from(section.memory_size()).next_multiple_of(PAGE))
    }

    /// Removes access to the sections that are for initialisation only.
    pub(crate) fn discard(&self) {
        // If sections share pages, nothing is discarded.
        let discarded = |section: &&Section| section.is_discardable() && !self.shares_pages;
        for section in self.sections.iter().filter(discarded) {
            let (start, size) = self.range(section);
            protect(start, size, Protection::None);
        }
    }

    /// Removes access to the whole image. Its addresses stay reserved, so that late calls are noticed.
    pub(crate) fn withdraw(&self) {
        protect(self.region.base, self.region.size, Protection::None);
    }

    /// Returns the first address, the size and the rights of each pageable section.
    pub(crate) fn pageable(&self) -> Vec<(u64, u64, Protection)> {
        let pageable = |section: &&Section| section.is_pageable() && !section.is_discardable() && !self.shares_pages;
        let sections = self.sections.iter().filter(pageable);
        sections
            .map(|section| {
                let (start, size) = self.range(section);
                (start, size, Self::rights(section))
            })
            .collect()
    }

    pub(crate) const fn region(&self) -> Region {
        self.region
    }

    pub(crate) const fn entry(&self) -> u64 {
        self.region.base + self.entry as u64
    }
}
