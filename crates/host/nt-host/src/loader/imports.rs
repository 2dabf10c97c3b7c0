//! The import table: which routines the image wants, and where their addresses go.

use std::fmt;

use super::ImageError;
use super::flat::Flat;
use super::tables::Directory;

const TABLE: &str = "import table";
const LIST: &str = "list of imported names";
const MOST_MODULES: u32 = 64;
const MOST_ROUTINES: usize = 4096;
const BY_ORDINAL: u64 = 1 << 63;

/// One routine that an image imports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The module, as the image spells it.
    pub module: String,
    /// The routine.
    pub name: ImportName,
    /// Where the loader writes its address, relative to the image.
    pub slot: u32,
}

/// How a routine is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportName {
    /// By its name.
    Name(String),
    /// By its number.
    Ordinal(u16),
}

impl fmt::Display for ImportName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.pad(name),
            Self::Ordinal(ordinal) => write!(f, "#{ordinal}"),
        }
    }
}

pub(super) fn read(image: &Flat, directory: Option<Directory>) -> Result<Vec<Import>, ImageError> {
    let mut imports = Vec::new();
    let Some(directory) = directory else {
        return Ok(imports);
    };
    for index in 0..MOST_MODULES {
        let at = directory.rva.saturating_add(index * 20);
        let names = image.u32(at, TABLE)?;
        let module = image.u32(at.saturating_add(12), TABLE)?;
        let slots = image.u32(at.saturating_add(16), TABLE)?;
        if module == 0 || slots == 0 {
            return Ok(imports);
        }
        let module = image.name(module, "name of an imported module")?;
        // Old linkers leave the list of names out: the slots then hold it until they are filled.
        let names = if names == 0 { slots } else { names };
        read_list(image, &module, names, slots, &mut imports)?;
    }
    Err(ImageError::new(TABLE, format!("it has no end within {MOST_MODULES} modules")))
}

fn read_list(image: &Flat, module: &str, names: u32, slots: u32, imports: &mut Vec<Import>) -> Result<(), ImageError> {
    for offset in (0..).step_by(8) {
        let value = image.u64(names.saturating_add(offset), LIST)?;
        if value == 0 {
            return Ok(());
        }
        if imports.len() >= MOST_ROUTINES {
            break;
        }
        let slot = slots.saturating_add(offset);
        image.u64(slot, "import address table")?;
        let name = if value & BY_ORDINAL != 0 {
            ImportName::Ordinal(u16::try_from(value & 0xFFFF).unwrap_or_default())
        } else {
            let outside = |_| ImageError::new(LIST, format!("{value:#x} is outside of the image"));
            let hint = u32::try_from(value).map_err(outside)?;
            // A hint of two bytes precedes the name.
            ImportName::Name(image.name(hint.saturating_add(2), "name of an imported routine")?)
        };
        imports.push(Import { module: module.to_owned(), name, slot });
    }
    Err(ImageError::new(LIST, format!("more than {MOST_ROUTINES} routines")))
}
