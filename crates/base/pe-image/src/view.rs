//! Reads a file at the addresses that its sections would have in memory. Nothing is mapped.
//!
//! A [`View`] combines the file and its sections. It never returns bytes that are not in the file, and every error names the
//! field that refers to the bytes.

use object::Pod;
use object::read::ReadRef;

use crate::bytes::printable;
use crate::error::Error;
use crate::sections::Section;

/// Maximum length of the name of a module, a routine or a file. Real names are far shorter. The limit bounds the memory for a
/// file in which many entries share one name.
pub(crate) const LONGEST_NAME: usize = 1024;

/// A file as seen through its section table.
pub(crate) struct View<'a> {
    data: &'a [u8],
    size_of_headers: u32,
    section_alignment: u32,
    sections: &'a [Section],
}

impl<'a> View<'a> {
    pub(crate) fn new(data: &'a [u8], size_of_headers: u32, section_alignment: u32, sections: &'a [Section]) -> Self {
        Self { data, size_of_headers, section_alignment, sections }
    }

    /// Returns the bytes from an address to the end of its section's data in the file.
    pub(crate) fn from(&self, rva: u32, field: &'static str) -> Result<&'a [u8], Error> {
        let (offset, available) = self.locate(rva).ok_or_else(|| outside(field, rva))?;
        let start = usize::try_from(offset).map_err(|_| outside(field, rva))?;
        let bytes = self.data.get(start..).ok_or_else(|| outside(field, rva))?;
        let end = usize::try_from(available).unwrap_or(bytes.len()).min(bytes.len());
        bytes.get(..end).ok_or_else(|| outside(field, rva))
    }

    /// Returns exactly `length` bytes.
    pub(crate) fn bytes(&self, rva: u32, length: u32, field: &'static str) -> Result<&'a [u8], Error> {
        let length = usize::try_from(length).map_err(|_| outside(field, rva))?;
        self.from(rva, field)?.get(..length).ok_or_else(|| {
            Error::new(field, format!("{length} bytes at address {rva:#x} do not fit into its section in the file"))
        })
    }

    /// Returns one structure.
    pub(crate) fn structure<T: Pod>(&self, rva: u32, field: &'static str) -> Result<&'a T, Error> {
        let cut = |()| Error::new(field, format!("the structure at address {rva:#x} is cut off"));
        self.from(rva, field)?.read_at::<T>(0).map_err(cut)
    }

    /// Returns `count` consecutive structures.
    pub(crate) fn array<T: Pod>(&self, rva: u32, count: u32, field: &'static str) -> Result<&'a [T], Error> {
        let count_usize = usize::try_from(count).map_err(|_| outside(field, rva))?;
        let cut = |()| Error::new(field, format!("{count} entries at address {rva:#x} are cut off"));
        self.from(rva, field)?.read_slice_at::<T>(0, count_usize).map_err(cut)
    }

    /// Returns a NUL-terminated name.
    pub(crate) fn name(&self, rva: u32, field: &'static str) -> Result<String, Error> {
        name_in(self.from(rva, field)?, field)
    }

    /// Returns the offset in the file, and the number of bytes from there to the end of the section's data.
    fn locate(&self, rva: u32) -> Option<(u64, u64)> {
        if rva < self.size_of_headers {
            return Some((u64::from(rva), u64::from(self.size_of_headers - rva)));
        }
        // The loader maps whole pages, so the linker's padding of a section is mapped too.
        let page = u64::from(self.section_alignment.max(1));
        for section in self.sections {
            let mapped = u64::from(section.memory_size()).div_ceil(page).saturating_mul(page);
            let backed = mapped.min(u64::from(section.file_size));
            let Some(inside) = rva.checked_sub(section.rva).map(u64::from) else { continue };
            if inside < backed {
                return Some((u64::from(section.file_offset) + inside, backed - inside));
            }
        }
        None
    }
}

/// Returns the name at the start of `bytes`.
pub(crate) fn name_in(bytes: &[u8], field: &'static str) -> Result<String, Error> {
    let end = bytes.iter().take(LONGEST_NAME).position(|&byte| byte == 0);
    match end.and_then(|end| bytes.get(..end)) {
        Some(name) => Ok(printable(name)),
        None if bytes.len() < LONGEST_NAME => Err(Error::new(field, "the name has no end")),
        None => Err(Error::new(field, format!("the name is longer than {LONGEST_NAME} bytes"))),
    }
}

fn outside(field: &'static str, rva: u32) -> Error {
    Error::new(field, format!("address {rva:#x} is not backed by the file"))
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_NAME, name_in};
    use crate::bytes::printable;

    #[test]
    fn control_characters_cannot_reach_a_terminal() {
        assert_eq!(printable(b"a\x1b[31mb\xff"), "a\\u{1b}[31mb\\xff");
        assert_eq!(printable("gr\u{fc}n".as_bytes()), "gr\u{fc}n");
    }

    #[test]
    fn a_name_needs_an_end_within_reason() {
        assert_eq!(name_in(b"hal.dll\0rest", "name"), Ok("hal.dll".into()));
        assert!(name_in(b"hal.dll", "name").unwrap_err().reason().contains("no end"));
        let long = [b'a'; LONGEST_NAME + 1];
        assert!(name_in(&long, "name").unwrap_err().reason().contains("longer"));
    }
}
