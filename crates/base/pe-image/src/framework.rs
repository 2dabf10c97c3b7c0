//! The framework version that an image requires: `WDF_BIND_INFO`, which its entry point passes to the framework loader.
//!
//! No header points to this structure. It is found through its component name, `KmdfLibrary`, and the pointer to that
//! name.

use memchr::memmem;

use crate::bytes::u32_at;
use crate::header::Header;
use crate::sections::Section;
use crate::view::View;

const COMPONENT: &str = "KmdfLibrary\0";
/// Sizes of `WDF_BIND_INFO` and of `WDF_BIND_INFO2`, which also has the minimum version that the driver requires.
const SIZES: [u32; 2] = [0x30, 0x58];
/// Maximum number of occurrences of the name that are examined. A real image has one.
const MAX_NAMES: usize = 16;

/// What a driver requests from the framework's loader: the version in `WDF_BIND_INFO`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// The major version that the driver was built for.
    pub major: u32,
    /// The minor version that the driver was built for.
    pub minor: u32,
    /// The number of functions in the headers that it was built with.
    pub functions: u32,
    /// The oldest minor version that the driver runs on (`WDF_BIND_INFO2`). `None` for drivers that were built for
    /// versions before 1.25: their bind information has no minimum.
    pub minimum: Option<u32>,
}

impl Client {
    /// The oldest minor version that a driver may name as its minimum: the first framework that reads it.
    pub const OLDEST_MINIMUM: u32 = 25;

    /// Returns the version that the driver was built for, such as `1.33`.
    #[must_use]
    pub fn version(self) -> String {
        format!("{}.{}", self.major, self.minor)
    }

    /// Returns the oldest minor version of the framework that binds the driver.
    #[must_use]
    pub fn oldest_framework(self) -> u32 {
        match self.minimum {
            Some(minimum) if minimum < self.minor => minimum.max(Self::OLDEST_MINIMUM),
            _ => self.minor,
        }
    }
}

/// Returns what the image requires, or `None` if it is not a framework driver or is a 32-bit image.
pub(crate) fn read(view: &View<'_>, header: &Header, sections: &[Section]) -> Option<Client> {
    if !header.is_pe32_plus {
        return None;
    }
    let name: Vec<u8> = COMPONENT.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let all = || sections.iter().filter_map(|section| Some((section.rva, view.from(section.rva, "section").ok()?)));
    let names = all().flat_map(|(rva, bytes)| found(rva, bytes, &name)).take(MAX_NAMES);
    let names: Vec<u64> = names.map(|rva| header.image_base.wrapping_add(rva.into())).collect();
    if names.is_empty() {
        return None;
    }
    all().find_map(|(rva, bytes)| {
        let words = (0..).step_by(8).zip(bytes.chunks_exact(8));
        let mut pointers = words.filter(|(_, word)| u64_at(word, 0).is_some_and(|word| names.contains(&word)));
        pointers.find_map(|(offset, _)| bind_info(view, header, rva.checked_add(offset)?.checked_sub(8)?))
    })
}

/// Returns the addresses of a name, relative to the image. Wide-character names are aligned to two bytes.
fn found<'a>(rva: u32, bytes: &'a [u8], name: &'a [u8]) -> impl Iterator<Item = u32> + 'a {
    let places = memmem::find_iter(bytes, name).filter(|offset| offset % 2 == 0);
    places.filter_map(move |offset| rva.checked_add(u32::try_from(offset).ok()?))
}

/// Parses the structure: the version at 16, 20 and 24, the number of functions at 28, the address of the minimum version at 48.
fn bind_info(view: &View<'_>, header: &Header, rva: u32) -> Option<Client> {
    let info = view.bytes(rva, SIZES[0], "WDF_BIND_INFO").ok()?;
    let size = u32_at(info, 0).filter(|size| SIZES.contains(size))?;
    let minimum = if size == SIZES[1] {
        let address = u64_at(view.bytes(rva, size, "WDF_BIND_INFO").ok()?, 48)?;
        let rva = u32::try_from(address.checked_sub(header.image_base)?).ok()?;
        // Uninitialised data has no bytes in the file. Its value is zero.
        Some(view.bytes(rva, 4, "WdfMinimumVersionRequired").map_or(Some(0), |bytes| u32_at(bytes, 0))?)
    } else {
        None
    };
    Some(Client { major: u32_at(info, 16)?, minor: u32_at(info, 20)?, functions: u32_at(info, 28)?, minimum })
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}
