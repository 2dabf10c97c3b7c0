//! The linker's map beside an image: names of symbols that the image itself does not export.
//!
//! Only what finds the entry point is read. A map of another build is noticed by its entry point, which the linker
//! writes as section and offset.

use crate::image::Image;

/// Text of a map file as link.exe and lld-link write it.
#[derive(Clone, Copy, Debug)]
pub struct LinkerMap<'a> {
    text: &'a str,
}

impl<'a> LinkerMap<'a> {
    /// Takes any text; one that is no map knows no name.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self { text }
    }

    /// The name of the image's entry point, when the map is the image's.
    #[must_use]
    pub fn entry_symbol(&self, image: &Image) -> Option<&'a str> {
        let (number, offset) = self.entry_point()?;
        let section = image.sections.get(number.checked_sub(1)?)?;
        if section.rva.checked_add(offset)? != image.entry.rva {
            return None;
        }
        let address = image.header.image_base.checked_add(image.entry.rva.into())?;
        self.text.lines().find_map(|line| {
            // 0001:00000000   name   0000000140001000 f   object
            let mut words = line.split_whitespace();
            place(words.next()?)?;
            let name = words.next()?;
            let at = u64::from_str_radix(words.next()?, 16).ok()?;
            (at == address).then_some(name)
        })
    }

    fn entry_point(&self) -> Option<(usize, u32)> {
        let line = self.text.lines().find_map(|line| line.trim_start().strip_prefix("entry point at"))?;
        place(line.trim())
    }
}

/// `section:offset`, sections counted from one.
fn place(word: &str) -> Option<(usize, u32)> {
    let (section, offset) = word.split_once(':')?;
    Some((usize::from_str_radix(section, 16).ok()?, u32::from_str_radix(offset, 16).ok()?))
}
