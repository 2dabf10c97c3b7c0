//! The linker's map file next to an image: names of symbols that the image does not export.
//!
//! A map of another build is detected by its entry point, which the linker writes as section and offset.

use crate::sections::Section;

/// The text of a map file as written by link.exe or lld-link.
#[derive(Clone, Copy, Debug)]
pub struct LinkerMap<'a> {
    text: &'a str,
}

impl<'a> LinkerMap<'a> {
    /// Accepts any text. Text that is not a map contains no names.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self { text }
    }

    /// Returns the symbols and their addresses in the order of the map, if the map belongs to an image with these sections and
    /// this entry point. Symbols outside their section are skipped: the linker lists its own symbols that way.
    pub(crate) fn symbols(&self, sections: &[Section], entry: u32) -> Option<impl Iterator<Item = (u32, &'a str)>> {
        let rva = |(number, offset): (usize, u32)| {
            let section = sections.get(number.checked_sub(1)?)?;
            section.rva.checked_add(offset).filter(|rva| section.contains(*rva))
        };
        let is_its_own = self.entry_point().and_then(rva) == Some(entry);
        let lines = self.text.lines().filter_map(move |line| {
            // 0001:00000000   name   0000000140001000 f   object
            let mut words = line.split_whitespace();
            let rva = rva(place(words.next()?)?)?;
            let name = words.next()?;
            u64::from_str_radix(words.next()?, 16).ok()?;
            Some((rva, name))
        });
        is_its_own.then_some(lines)
    }

    fn entry_point(&self) -> Option<(usize, u32)> {
        let line = self.text.lines().find_map(|line| line.trim_start().strip_prefix("entry point at"))?;
        place(line.trim())
    }
}

/// Parses `section:offset`. Sections are counted from 1.
fn place(word: &str) -> Option<(usize, u32)> {
    let (section, offset) = word.split_once(':')?;
    Some((usize::from_str_radix(section, 16).ok()?, u32::from_str_radix(offset, 16).ok()?))
}
