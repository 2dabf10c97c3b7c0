//! Exports: the symbols that other images can import, which may also name the entry point.

use object::LittleEndian as LE;
use object::pe::ImageExportDirectory;
use object::{U16, U32};

use crate::error::Error;
use crate::view::View;

/// Maximum number of exports: ordinals have 16 bits.
const MOST: u32 = 65_536;

/// The export directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exports {
    /// The name of the image in its export directory. It may differ from the file name.
    pub module: String,
    /// The symbols in the order of their ordinals. Unused ordinals are left out.
    pub symbols: Vec<Export>,
}

/// One exported symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// The name, if there is one.
    pub name: Option<String>,
    /// The ordinal.
    pub ordinal: u32,
    /// What the symbol refers to.
    pub target: ExportTarget,
}

/// What an export refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportTarget {
    /// An address in this image.
    Address(u32),
    /// `MODULE.Routine` of another image.
    Forward(String),
}

impl Exports {
    pub(crate) fn read(view: &View<'_>, (rva, size): (u32, u32)) -> Result<Self, Error> {
        let directory: &ImageExportDirectory = view.structure(rva, "export directory")?;
        let count = directory.number_of_functions.get(LE);
        let names_count = directory.number_of_names.get(LE);
        if count > MOST || names_count > MOST {
            return Err(Error::new("export directory", format!("{count} symbols, {names_count} names; limit: {MOST}")));
        }
        let addresses: &[U32<LE>] = array(view, directory.address_of_functions.get(LE), count, "export addresses")?;
        let names: &[U32<LE>] = array(view, directory.address_of_names.get(LE), names_count, "export names")?;
        let ordinals: &[U16<LE>] =
            array(view, directory.address_of_name_ordinals.get(LE), names_count, "export ordinals")?;

        let mut texts = vec![None; addresses.len()];
        for (name, index) in names.iter().zip(ordinals) {
            let name = view.name(name.get(LE), "name of an export")?;
            let index = index.get(LE);
            let Some(place) = texts.get_mut(usize::from(index)) else {
                return Err(Error::new("export ordinals", format!("{name} has index {index} of {count} symbols")));
            };
            *place = Some(name);
        }

        let end = u64::from(rva) + u64::from(size);
        let mut symbols = Vec::new();
        for ((address, name), number) in addresses.iter().zip(texts).zip(0..) {
            let address = address.get(LE);
            if address == 0 {
                continue;
            }
            // An address inside the export directory is the address of a forwarder string.
            let inside = address >= rva && u64::from(address) < end;
            let target = if inside {
                ExportTarget::Forward(view.name(address, "forwarded export")?)
            } else {
                ExportTarget::Address(address)
            };
            symbols.push(Export { name, ordinal: directory.base.get(LE).saturating_add(number), target });
        }
        Ok(Self { module: view.name(directory.name.get(LE), "name in the export directory")?, symbols })
    }

    /// Returns the name of the export at an address.
    pub(crate) fn name_at(&self, rva: u32) -> Option<&str> {
        let here = |export: &&Export| export.target == ExportTarget::Address(rva) && export.name.is_some();
        self.symbols.iter().find(here)?.name.as_deref()
    }
}

/// Like [`View::array`], but for tables whose address is meaningless if they are empty.
fn array<'a, T: object::Pod>(view: &View<'a>, rva: u32, count: u32, field: &'static str) -> Result<&'a [T], Error> {
    if count == 0 { Ok(&[]) } else { view.array(rva, count, field) }
}
