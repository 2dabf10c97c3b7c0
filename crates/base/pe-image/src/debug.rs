//! The debug directory, which mainly says which PDB belongs to the image.

use std::fmt::Write as _;

use object::LittleEndian as LE;
use object::pe::{
    IMAGE_DEBUG_TYPE_CODEVIEW, IMAGE_DEBUG_TYPE_POGO, IMAGE_DEBUG_TYPE_REPRO, IMAGE_DEBUG_TYPE_VC_FEATURE,
    ImageDebugDirectory,
};
use object::read::ReadRef;
use windows_constants::image::IMAGE_DEBUG_TYPE_EX_DLLCHARACTERISTICS;

use crate::error::Error;
use crate::view::{View, name_in};

/// Maximum number of entries, more than any linker writes.
const MOST: u32 = 64;

/// One entry of the debug directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebugEntry {
    /// `IMAGE_DEBUG_TYPE_…`
    pub kind: u32,
    /// The PDB that a debugger looks for, in a `CodeView` entry.
    pub pdb: Option<PdbReference>,
}

/// Which PDB was linked with the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PdbReference {
    /// The path as the linker wrote it.
    pub path: String,
    /// The id in the usual form. Id and age must match those in the PDB.
    pub id: String,
    /// How often the PDB was rewritten.
    pub age: u32,
}

impl PdbReference {
    /// Formats an id in the usual form.
    #[must_use]
    pub fn id_text(guid: [u8; 16]) -> String {
        // The first three groups are little-endian numbers.
        let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
        let mut text = String::with_capacity(36);
        for (place, index) in order.into_iter().enumerate() {
            if [4, 6, 8, 10].contains(&place) {
                text.push('-');
            }
            let byte: u8 = guid.get::<usize>(index).copied().unwrap_or_default();
            let _ = write!(text, "{byte:02x}");
        }
        text
    }
}

impl DebugEntry {
    pub(crate) fn read_all(data: &[u8], view: &View<'_>, (rva, size): (u32, u32)) -> Result<Vec<Self>, Error> {
        let count = size / 28;
        if count > MOST {
            return Err(Error::new("debug directory", format!("{count} entries; the maximum is {MOST}")));
        }
        let entries: &[ImageDebugDirectory] = view.array(rva, count, "debug directory")?;
        entries.iter().map(|entry| Self::read(data, entry)).collect()
    }

    fn read(data: &[u8], entry: &ImageDebugDirectory) -> Result<Self, Error> {
        let kind = entry.typ.get(LE);
        let offset = entry.pointer_to_raw_data.get(LE);
        let size = entry.size_of_data.get(LE);
        if kind != IMAGE_DEBUG_TYPE_CODEVIEW {
            return Ok(Self { kind, pdb: None });
        }
        let outside = |()| Error::new("debug entry", format!("{size} bytes at offset {offset:#x} are not in the file"));
        let bytes = data.read_bytes_at(offset.into(), size.into()).map_err(outside)?;
        Ok(Self { kind, pdb: pdb(bytes)? })
    }

    /// Returns a name for the kind.
    #[must_use]
    pub fn kind_name(&self) -> &'static str {
        match self.kind {
            IMAGE_DEBUG_TYPE_CODEVIEW => "CodeView",
            IMAGE_DEBUG_TYPE_VC_FEATURE => "features",
            IMAGE_DEBUG_TYPE_POGO => "profile",
            IMAGE_DEBUG_TYPE_REPRO => "reproducible build",
            IMAGE_DEBUG_TYPE_EX_DLLCHARACTERISTICS => "extended characteristics",
            _ => "other",
        }
    }
}

/// Parses the record that begins with `RSDS`. Older forms are not used for drivers.
fn pdb(bytes: &[u8]) -> Result<Option<PdbReference>, Error> {
    let Some(rest) = bytes.strip_prefix(b"RSDS") else {
        return Ok(None);
    };
    let cut = || Error::new("debug entry", "the CodeView record is cut off");
    let (guid, rest) = rest.split_first_chunk::<16>().ok_or_else(cut)?;
    let (age, path) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
    Ok(Some(PdbReference {
        path: name_in(path, "name of the PDB")?,
        id: PdbReference::id_text(*guid),
        age: u32::from_le_bytes(*age),
    }))
}
