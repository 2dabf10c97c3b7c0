//! The data directories, and the parts of the load configuration that a loader acts on.

use super::flat::Flat;
use super::{Guard, ImageError};

/// A data directory of the optional header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Directory {
    pub(super) rva: u32,
    pub(super) size: u32,
}

/// Positions in the table of directories.
pub(super) const IMPORT: u32 = 1;
pub(super) const EXCEPTION: u32 = 3;
pub(super) const RELOCATION: u32 = 5;
pub(super) const LOAD_CONFIG: u32 = 10;

/// Offsets in a PE32+ header, from its signature.
const DIRECTORY_COUNT: u32 = 24 + 108;
const DIRECTORIES: u32 = 24 + 112;

impl Directory {
    /// The directory of this number; `None` where the image has none.
    pub(super) fn read(image: &Flat, number: u32) -> Result<Option<Self>, ImageError> {
        let header = image.u32(0x3C, "e_lfanew")?;
        let count = image.u32(header.saturating_add(DIRECTORY_COUNT), "NumberOfRvaAndSizes")?;
        if number >= count {
            return Ok(None);
        }
        let at = header.saturating_add(DIRECTORIES + number * 8);
        let rva = image.u32(at, "data directory")?;
        let size = image.u32(at.saturating_add(4), "data directory")?;
        let directory = Self { rva, size };
        if rva == 0 || size == 0 {
            return Ok(None);
        }
        if directory.end() > image.len() as u64 {
            return Err(ImageError::new("data directory", format!("number {number} ends at {:#x}", directory.end())));
        }
        Ok(Some(directory))
    }

    pub(super) fn end(self) -> u64 {
        u64::from(self.rva) + u64::from(self.size)
    }
}

/// Offsets in `IMAGE_LOAD_CONFIG_DIRECTORY64`.
const COOKIE: u32 = 0x58;
const GUARD_CHECK: u32 = 0x70;
const GUARD_DISPATCH: u32 = 0x78;

/// Reads what the loader has to fill in. The structure begins with its size and ends where an older one ended.
pub(super) fn guard(image: &Flat, base: u64, directory: Option<Directory>) -> Result<Guard, ImageError> {
    let Some(directory) = directory else {
        return Ok(Guard::default());
    };
    let size = image.u32(directory.rva, "load configuration")?;
    let field = |offset: u32, name: &str| -> Result<Option<u32>, ImageError> {
        if size < offset + 8 {
            return Ok(None);
        }
        let address = image.u64(directory.rva.saturating_add(offset), name)?;
        if address == 0 {
            return Ok(None);
        }
        let outside = || ImageError::new(name, format!("{address:#x} is outside of the image"));
        let rva = address.checked_sub(base).and_then(|rva| u32::try_from(rva).ok()).ok_or_else(outside)?;
        image.u64(rva, name).map_err(|_| outside())?;
        Ok(Some(rva))
    };
    Ok(Guard {
        cookie: field(COOKIE, "SecurityCookie")?,
        check: field(GUARD_CHECK, "GuardCFCheckFunctionPointer")?,
        dispatch: field(GUARD_DISPATCH, "GuardCFDispatchFunctionPointer")?,
    })
}
