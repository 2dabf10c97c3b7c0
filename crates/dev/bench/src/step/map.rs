//! An image in memory, and addresses that represent the kernel's routines.

use std::io;

use pe_image::Layout;

use super::memory::Shared;

/// Distance between two routines in bytes.
const STEP: u64 = 16;

/// Inaccessible addresses: one for each import, and one to which calls return.
#[derive(Debug)]
pub(super) struct Gate {
    pages: Shared,
    count: usize,
}

impl Gate {
    pub(super) fn new(count: usize) -> io::Result<Self> {
        let size = (count + 1) * 16;
        Ok(Self { pages: Shared::nothing(size)?, count })
    }

    pub(super) fn address(&self, index: usize) -> u64 {
        self.pages.base() + STEP * index as u64
    }

    /// Returns the address to which calls return.
    pub(super) fn exit(&self) -> u64 {
        self.address(self.count)
    }

    /// Returns the import that an address represents.
    pub(super) fn index(&self, address: u64) -> Option<usize> {
        let offset = address.checked_sub(self.pages.base())?;
        let index = usize::try_from(offset / STEP).ok()?;
        (offset % STEP == 0 && index < self.count).then_some(index)
    }
}

/// An image that has been laid out, relocated and bound to a gate.
#[derive(Debug)]
pub(super) struct Mapped {
    pages: Shared,
}

impl Mapped {
    pub(super) fn new(layout: &Layout, gate: &Gate) -> io::Result<Self> {
        let pages = Shared::new(layout.bytes.len())?;
        let base = pages.base();
        let mut bytes = layout.bytes.clone();
        let damaged = || io::Error::other("a relocation or an import is outside of the image");
        for &rva in &layout.relocations {
            let place =
                bytes.get_mut(rva as usize..).and_then(|rest| rest.first_chunk_mut::<8>()).ok_or_else(damaged)?;
            *place = u64::from_le_bytes(*place).wrapping_add(base.wrapping_sub(layout.base)).to_le_bytes();
        }
        for (index, import) in layout.imports.iter().enumerate() {
            let slot = import.slot as usize;
            let place = bytes.get_mut(slot..).and_then(|rest| rest.first_chunk_mut::<8>()).ok_or_else(damaged)?;
            *place = gate.address(index).to_le_bytes();
        }
        pages.write(base, &bytes);
        for section in layout.sections.iter().filter(|section| section.is_executable()) {
            pages.allow_execution(section.rva as usize, section.memory_size() as usize)?;
        }
        Ok(Self { pages })
    }

    pub(super) fn base(&self) -> u64 {
        self.pages.base()
    }

    pub(super) fn contains(&self, address: u64) -> bool {
        self.pages.contains(address)
    }

    pub(super) const fn memory(&self) -> &Shared {
        &self.pages
    }
}

#[cfg(test)]
mod tests {
    use super::Gate;

    #[test]
    fn routines_and_the_exit_have_addresses_of_their_own() {
        let gate = Gate::new(300).unwrap();
        assert_eq!(gate.index(gate.address(0)), Some(0));
        assert_eq!(gate.index(gate.address(299)), Some(299));
        assert_eq!(gate.index(gate.exit()), None);
        assert_eq!(gate.index(gate.address(1) + 1), None);
        assert_eq!(gate.index(0), None);
    }
}
