//! Imports: the modules and routines that an image needs, and where the loader writes their addresses.

use std::fmt;

use object::LittleEndian as LE;
use object::Pod;
use object::pe::{ImageDelayloadDescriptor, ImageImportDescriptor};
use object::{U32, U64};

use crate::error::Error;
use crate::header::Header;
use crate::view::View;

/// Limits for corrupt tables without an end. No driver reaches them.
const MAX_MODULES: usize = 1024;
const MAX_ROUTINES: usize = 65_536;

/// The imports of an image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imports {
    /// Modules whose routines are resolved when the image is loaded, in the order of the file.
    pub modules: Vec<Module>,
    /// Modules whose routines are resolved when they are first called (delay-loaded modules).
    pub delayed: Vec<String>,
    /// The memory that the loader fills with addresses.
    pub address_tables: Vec<AddressTable>,
}

/// A module and the routines that are imported from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// The name as the image spells it.
    pub name: String,
    /// Where the loader writes the address of the first routine. The addresses of the other routines follow.
    pub slots: u32,
    /// The routines, in the order of the file.
    pub routines: Vec<Imported>,
}

/// One imported routine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Imported {
    /// Imported by name.
    Name(String),
    /// Imported by ordinal.
    Ordinal(u16),
}

impl fmt::Display for Imported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.pad(name),
            Self::Ordinal(ordinal) => write!(f, "#{ordinal}"),
        }
    }
}

/// A range of addresses that the loader writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressTable {
    /// The first address, relative to the image.
    pub rva: u32,
    /// The size in bytes.
    pub size: u32,
}

impl Imports {
    pub(crate) fn read(
        view: &View<'_>,
        header: &Header,
        imports: Option<(u32, u32)>,
        delayed: Option<(u32, u32)>,
        addresses: Option<(u32, u32)>,
    ) -> Result<Self, Error> {
        let mut result = Self::default();
        if let Some((rva, size)) = addresses {
            result.address_tables.push(AddressTable { rva, size });
        }
        if let Some((rva, _)) = imports {
            result.read_modules(view, header, rva)?;
        }
        if let Some((rva, _)) = delayed {
            result.read_delayed(view, rva)?;
        }
        Ok(result)
    }

    fn read_modules(&mut self, view: &View<'_>, header: &Header, start: u32) -> Result<(), Error> {
        let mut left = MAX_ROUTINES;
        for rva in table(start, 20) {
            let descriptor: &ImageImportDescriptor = view.structure(rva, "import table")?;
            if descriptor.name.get(LE) == 0 || descriptor.first_thunk.get(LE) == 0 {
                return Ok(());
            }
            let name = view.name(descriptor.name.get(LE), "name of an imported module")?;
            let slots = descriptor.first_thunk.get(LE);
            // Old linkers write no list of names: the slots hold the names until the loader writes the addresses.
            let names = match descriptor.original_first_thunk.get(LE) {
                0 => slots,
                names => names,
            };
            let routines = if header.is_pe32_plus {
                routines::<U64<LE>>(view, names, &mut left)?
            } else {
                routines::<U32<LE>>(view, names, &mut left)?
            };
            let width = if header.is_pe32_plus { 8 } else { 4 };
            let entries = u32::try_from(routines.len() + 1).unwrap_or(u32::MAX);
            let table = AddressTable { rva: slots, size: entries.saturating_mul(width) };
            let known = self.address_tables.first().is_some_and(|whole| whole.covers(table));
            if !known {
                self.address_tables.push(table);
            }
            self.modules.push(Module { name, slots, routines });
        }
        Err(Error::new("import table", format!("it has no end within {MAX_MODULES} modules")))
    }

    fn read_delayed(&mut self, view: &View<'_>, start: u32) -> Result<(), Error> {
        for rva in table(start, 32) {
            let descriptor: &ImageDelayloadDescriptor = view.structure(rva, "delay-load table")?;
            if descriptor.dll_name_rva.get(LE) == 0 {
                return Ok(());
            }
            self.delayed.push(view.name(descriptor.dll_name_rva.get(LE), "name of a delay-loaded module")?);
        }
        Err(Error::new("delay-load table", format!("it has no end within {MAX_MODULES} modules")))
    }
}

impl AddressTable {
    fn covers(self, other: Self) -> bool {
        let end = |table: Self| u64::from(table.rva) + u64::from(table.size);
        // The directory's size may not include the terminator of the last list.
        self.rva <= other.rva && end(other) <= end(self) + 8
    }
}

/// Returns the addresses of the entries of a table that is terminated by an empty entry.
fn table(start: u32, entry: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(start), move |rva| rva.checked_add(entry)).take(MAX_MODULES)
}

/// An entry of the list of names: an ordinal if its highest bit is set, otherwise the address of a name.
trait Thunk: Pod {
    fn value(&self) -> u64;
    const BITS: u32;
}

impl Thunk for U64<LE> {
    fn value(&self) -> u64 {
        self.get(LE)
    }
    const BITS: u32 = 64;
}

impl Thunk for U32<LE> {
    fn value(&self) -> u64 {
        self.get(LE).into()
    }
    const BITS: u32 = 32;
}

fn routines<T: Thunk>(view: &View<'_>, start: u32, left: &mut usize) -> Result<Vec<Imported>, Error> {
    let mut found = Vec::new();
    let mut rva = start;
    loop {
        let value = view.structure::<T>(rva, "list of imported names")?.value();
        if value == 0 {
            return Ok(found);
        }
        let too_many = || Error::new("list of imported names", format!("more than {MAX_ROUTINES} routines"));
        *left = left.checked_sub(1).ok_or_else(too_many)?;
        let is_ordinal = value >> (T::BITS - 1) == 1;
        let number = value & !(1 << (T::BITS - 1));
        found.push(if is_ordinal {
            let ordinal = u16::try_from(number & 0xffff).unwrap_or_default();
            Imported::Ordinal(ordinal)
        } else {
            let outside = |_| Error::new("name of an imported routine", format!("address {number:#x} is too large"));
            let hint = u32::try_from(number).map_err(outside)?;
            // The name follows a two-byte hint.
            Imported::Name(view.name(hint.saturating_add(2), "name of an imported routine")?)
        });
        let beyond = || Error::new("list of imported names", "it has no end within the address space");
        rva = rva.checked_add(T::BITS / 8).ok_or_else(beyond)?;
    }
}
