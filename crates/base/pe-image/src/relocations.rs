//! Base relocations: the addresses to adjust if the image is not at its preferred address, as is always the case for a driver.

use object::LittleEndian as LE;
use object::pe::{IMAGE_REL_BASED_ABSOLUTE, IMAGE_REL_BASED_DIR64, IMAGE_REL_BASED_HIGHLOW, ImageBaseRelocation};
use object::read::ReadRef;

use crate::error::Error;
use crate::header::Header;
use crate::view::View;

/// An address that the loader adjusts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixup {
    /// Where the address is stored, relative to the image.
    pub rva: u32,
    /// Size of the address in bytes: 8, or 4 in a 32-bit image.
    pub width: u8,
}

/// The relocation directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Relocations {
    /// Number of relocation blocks, one per page.
    pub blocks: usize,
    /// Addresses to adjust, without padding entries.
    pub fixups: Vec<Fixup>,
    /// Description of the first entry that the loader cannot process.
    pub problem: Option<String>,
}

impl Relocations {
    pub(crate) fn read(view: &View<'_>, header: &Header, (rva, size): (u32, u32)) -> Result<Self, Error> {
        let mut rest = view.bytes(rva, size, "relocation directory")?;
        let mut result = Self::default();
        while !rest.is_empty() {
            let cut = |()| Error::new("relocation block", "its header is cut off");
            let block: &ImageBaseRelocation = rest.read_at(0).map_err(cut)?;
            let page = block.virtual_address.get(LE);
            let length = block.size_of_block.get(LE);
            let bad = || Error::new("relocation block", format!("the block for {page:#x} has a wrong size, {length}"));
            let length = usize::try_from(length).map_err(|_| bad())?;
            let entries = rest.get(8..length).ok_or_else(bad)?;
            result.blocks += 1;
            for entry in entries.chunks_exact(2) {
                let entry = entry.iter().rev().fold(0_u16, |value, &byte| value << 8 | u16::from(byte));
                result.add(header, page, entry);
            }
            rest = rest.get(length..).ok_or_else(bad)?;
        }
        Ok(result)
    }

    fn add(&mut self, header: &Header, page: u32, entry: u16) {
        let kind = entry >> 12;
        let offset = entry & 0x0fff;
        let width = match kind {
            IMAGE_REL_BASED_ABSOLUTE => return,
            IMAGE_REL_BASED_DIR64 => 8,
            IMAGE_REL_BASED_HIGHLOW => 4,
            _ => 0,
        };
        let end = u64::from(page) + u64::from(offset) + u64::from(width);
        let problem = match page.checked_add(offset.into()) {
            _ if width == 0 => format!("type {kind} at {page:#x}+{offset:#x} is unknown"),
            Some(rva) if end <= u64::from(header.size_of_image) => return self.fixups.push(Fixup { rva, width }),
            _ => format!("{page:#x}+{offset:#x} is outside of the image"),
        };
        self.problem.get_or_insert(problem);
    }
}
