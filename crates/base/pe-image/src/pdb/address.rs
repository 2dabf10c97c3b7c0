//! Converts section and offset, which a PDB uses for addresses, to addresses relative to the image.

use super::msf::Msf;
use crate::bytes::{size_at, u16_at, u32_at};

/// Indices of streams in the debug header.
const OMAP_FROM_SOURCE: usize = 4;
const SECTIONS: usize = 5;
const ORIGINAL_SECTIONS: usize = 10;
/// Size of a section header, and the offsets of its size and address.
const SECTION: usize = 40;
const SECTION_SIZE: usize = 8;
const SECTION_RVA: usize = 12;

/// The addresses of sections, and how a tool rearranged the code after linking.
#[derive(Clone, Debug)]
pub(super) struct Addresses {
    /// The start addresses of the sections that symbols refer to.
    sections: Vec<u32>,
    /// The sections of the image: start address and size, ordered by address.
    mapped: Vec<(u32, u32)>,
    /// Old and new addresses in ascending order; empty if nothing was moved.
    moved: Vec<(u32, u32)>,
}

impl Addresses {
    /// Reads the streams that the debug header names.
    pub(super) fn read(msf: &Msf<'_>, header: &[u8]) -> Option<Self> {
        let stream = |position: usize| {
            let number = u16_at(header, position * 2).filter(|&number| number != u16::MAX)?;
            msf.stream(number.into())
        };
        let moved = stream(OMAP_FROM_SOURCE).unwrap_or_default();
        let moved = moved.as_chunks::<8>().0.iter();
        let moved: Vec<_> = moved.filter_map(|entry| Some((u32_at(entry, 0)?, u32_at(entry, 4)?))).collect();
        let mapped = stream(SECTIONS)?;
        let sections = if moved.is_empty() { mapped.clone() } else { stream(ORIGINAL_SECTIONS)? };
        let sections = sections.as_chunks::<SECTION>().0.iter();
        let sections = sections.filter_map(|header| u32_at(header, SECTION_RVA)).collect();
        let mapped = mapped.as_chunks::<SECTION>().0.iter();
        let place = |header: &[u8; SECTION]| Some((u32_at(header, SECTION_RVA)?, u32_at(header, SECTION_SIZE)?));
        let mut mapped: Vec<_> = mapped.filter_map(place).collect();
        mapped.sort_unstable();
        Some(Self { sections, mapped, moved })
    }

    /// Returns the start address of the section that contains an address.
    pub(super) fn section_of(&self, rva: u32) -> Option<u32> {
        let after = self.mapped.partition_point(|(start, _)| *start <= rva);
        let &(start, size) = self.mapped.get(after.checked_sub(1)?)?;
        (rva - start < size).then_some(start)
    }

    /// Returns the address of an offset in a section. Sections are counted from 1.
    pub(super) fn rva(&self, section: u16, offset: u32) -> Option<u32> {
        let start = self.sections.get(usize::from(section).checked_sub(1)?)?;
        let rva = start.checked_add(offset)?;
        if self.moved.is_empty() {
            return Some(rva);
        }
        let after = self.moved.partition_point(|(old, _)| *old <= rva);
        let &(old, new) = self.moved.get(after.checked_sub(1)?)?;
        // Zero marks code that was removed.
        if new == 0 { None } else { new.checked_add(rva - old) }
    }
}

/// The header of the debug information stream: offset and size of the parts that follow it, and the symbol stream.
pub(super) struct Header {
    pub(super) symbols: usize,
    pub(super) modules: (usize, usize),
    pub(super) debug: (usize, usize),
}

impl Header {
    const SIZE: usize = 64;

    pub(super) fn read(stream: &[u8]) -> Option<Self> {
        // Modules, section contributions, section map, files, type servers, edit and continue, debug header.
        let sizes = [24, 28, 32, 36, 40, 52, 48].map(|at| size_at(stream, at));
        let [modules, others @ .., debug] = sizes;
        let mut debug_at = Self::SIZE.checked_add(modules?)?;
        for size in others {
            debug_at = debug_at.checked_add(size?)?;
        }
        Some(Self {
            symbols: usize::from(u16_at(stream, 20)?),
            modules: (Self::SIZE, modules?),
            debug: (debug_at, debug?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Addresses;

    #[test]
    fn addresses_follow_what_was_moved() {
        let plain = Addresses { sections: vec![0x1000, 0x3000], mapped: vec![(0x1000, 0x800)], moved: Vec::new() };
        assert_eq!(
            [0xfff, 0x1000, 0x17ff, 0x1800].map(|rva| plain.section_of(rva)),
            [None, Some(0x1000), Some(0x1000), None]
        );
        assert_eq!(plain.rva(2, 0x10), Some(0x3010));
        assert_eq!(plain.rva(0, 0), None);
        assert_eq!(plain.rva(3, 0), None);
        assert_eq!(plain.rva(1, u32::MAX), None);
        let moved = Addresses { moved: vec![(0x1000, 0x5000), (0x1100, 0), (0x1200, 0x1000)], ..plain };
        assert_eq!([0x20, 0x120, 0x220].map(|offset| moved.rva(1, offset)), [Some(0x5020), None, Some(0x1020)]);
    }
}
