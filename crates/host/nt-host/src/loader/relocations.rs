//! Base relocations: the eight-byte addresses to adjust, as a list.

use super::ImageError;
use super::flat::Flat;
use super::tables::Directory;

const FIELD: &str = "relocation directory";
/// `IMAGE_REL_BASED_ABSOLUTE`: padding.
const ABSOLUTE: u16 = 0;
/// `IMAGE_REL_BASED_DIR64`: the only kind that 64-bit images have.
const DIR64: u16 = 10;
/// No driver has as many; blocks that overlap could announce more.
const MOST: usize = 1 << 20;

pub(super) fn read(image: &Flat, directory: Option<Directory>) -> Result<Vec<u32>, ImageError> {
    let mut fixups = Vec::new();
    let Some(directory) = directory else {
        return Ok(fixups);
    };
    let mut at = directory.rva;
    let end = directory.end();
    while u64::from(at) < end {
        let page = image.u32(at, FIELD)?;
        let length = image.u32(at.saturating_add(4), FIELD)?;
        let next = u64::from(at) + u64::from(length);
        if length < 8 || !length.is_multiple_of(2) || next > end {
            return Err(ImageError::new(FIELD, format!("the block for {page:#x} has a size of {length}")));
        }
        for entry in (at + 8..at + length).step_by(2) {
            let value = image.u16(entry, FIELD)?;
            match value >> 12 {
                ABSOLUTE => {}
                DIR64 => fixups.push(place(image, page, value & 0xFFF)?),
                kind => return Err(ImageError::new(FIELD, format!("type {kind} at {page:#x} is not for x64"))),
            }
            if fixups.len() > MOST {
                return Err(ImageError::new(FIELD, format!("more than {MOST} addresses")));
            }
        }
        at += length;
    }
    Ok(fixups)
}

fn place(image: &Flat, page: u32, offset: u16) -> Result<u32, ImageError> {
    let outside = || ImageError::new(FIELD, format!("{page:#x}+{offset:#x} is outside of the image"));
    let rva = page.checked_add(u32::from(offset)).ok_or_else(outside)?;
    image.u64(rva, FIELD).map_err(|_| outside())?;
    Ok(rva)
}
