//! The whole image, and its entry point.

use object::pe::{
    IMAGE_DIRECTORY_ENTRY_BASERELOC, IMAGE_DIRECTORY_ENTRY_COM_DESCRIPTOR, IMAGE_DIRECTORY_ENTRY_DEBUG,
    IMAGE_DIRECTORY_ENTRY_DELAY_IMPORT, IMAGE_DIRECTORY_ENTRY_EXCEPTION, IMAGE_DIRECTORY_ENTRY_EXPORT,
    IMAGE_DIRECTORY_ENTRY_IAT, IMAGE_DIRECTORY_ENTRY_IMPORT, IMAGE_DIRECTORY_ENTRY_LOAD_CONFIG,
    IMAGE_DIRECTORY_ENTRY_SECURITY, IMAGE_DIRECTORY_ENTRY_TLS,
};

use crate::bytes::printable;
use crate::debug::{DebugEntry, PdbReference};
use crate::error::Error;
use crate::exports::Exports;
use crate::framework;
use crate::header::{Header, Headers};
use crate::imports::Imports;
use crate::load_config::LoadConfig;
use crate::map::LinkerMap;
use crate::relocations::Relocations;
use crate::sections::Section;
use crate::signature::Signature;
use crate::view::View;

/// The parts of a PE image that matter for loading a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Length of the file.
    pub file_size: u64,
    /// The headers.
    pub header: Header,
    /// The entry point.
    pub entry: Entry,
    /// The sections, in the order of the file.
    pub sections: Vec<Section>,
    /// The imports.
    pub imports: Imports,
    /// The exports.
    pub exports: Option<Exports>,
    /// The relocations.
    pub relocations: Option<Relocations>,
    /// The exception directory: its address relative to the image, and its size in bytes.
    pub exceptions: Option<(u32, u32)>,
    /// The load configuration.
    pub load_config: Option<LoadConfig>,
    /// The signature embedded in the file. A signature in a catalog is not visible here.
    pub signature: Option<Signature>,
    /// What the image requires of the driver framework, or `None` if it is not a framework driver.
    pub framework: Option<framework::Client>,
    /// The debug directory.
    pub debug: Vec<DebugEntry>,
    /// Whether the image has thread-local storage.
    pub has_tls: bool,
    /// Whether the image contains .NET code.
    pub has_clr: bool,
}

/// The entry point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Address relative to the image; zero if there is no entry point.
    pub rva: u32,
    /// Index of the section that contains it.
    pub section: Option<usize>,
    /// The name, if it is known.
    pub symbol: Option<Symbol>,
}

/// A name and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The name.
    pub name: String,
    /// Where the name comes from.
    pub source: SymbolSource,
}

/// Where the name of the entry point comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolSource {
    /// The export directory.
    Exports,
    /// The linker's map.
    Map,
}

impl Image {
    /// Parses an image from the bytes of its file.
    ///
    /// # Errors
    ///
    /// Names the damaged field if the bytes are not a valid PE image.
    pub fn parse(data: &[u8]) -> Result<Self, Error> {
        let headers = Headers::read(data)?;
        let header = &headers.header;
        let sections = &headers.sections;
        let view = View::new(data, header.size_of_headers, header.section_alignment, sections);
        let directory = |index| headers.directory(index);

        let exports = directory(IMAGE_DIRECTORY_ENTRY_EXPORT).map(|range| Exports::read(&view, range)).transpose()?;
        let imports = Imports::read(
            &view,
            header,
            directory(IMAGE_DIRECTORY_ENTRY_IMPORT),
            directory(IMAGE_DIRECTORY_ENTRY_DELAY_IMPORT),
            directory(IMAGE_DIRECTORY_ENTRY_IAT),
        )?;
        let relocations = directory(IMAGE_DIRECTORY_ENTRY_BASERELOC)
            .map(|range| Relocations::read(&view, header, range))
            .transpose()?;
        let load_config = directory(IMAGE_DIRECTORY_ENTRY_LOAD_CONFIG)
            .map(|range| LoadConfig::read(&view, header, range))
            .transpose()?;
        let debug = directory(IMAGE_DIRECTORY_ENTRY_DEBUG)
            .map_or_else(|| Ok(Vec::new()), |range| DebugEntry::read_all(data, &view, range))?;
        let sections_end = end_of_sections(sections);
        let signature =
            directory(IMAGE_DIRECTORY_ENTRY_SECURITY).map(|range| Signature::read(data, sections_end, range));
        let has_tls = directory(IMAGE_DIRECTORY_ENTRY_TLS).is_some();
        let has_clr = directory(IMAGE_DIRECTORY_ENTRY_COM_DESCRIPTOR).is_some();

        Ok(Self {
            file_size: u64::try_from(data.len()).unwrap_or(u64::MAX),
            entry: Entry::find(header.entry_rva, sections, exports.as_ref()),
            imports,
            exports,
            relocations,
            exceptions: directory(IMAGE_DIRECTORY_ENTRY_EXCEPTION),
            load_config,
            signature,
            framework: framework::read(&view, header, sections),
            debug,
            has_tls,
            has_clr,
            header: headers.header,
            sections: headers.sections,
        })
    }

    /// Returns the bytes of the file from an address to the end of its section's data. `data` is the file that was parsed.
    #[must_use]
    pub fn bytes_from<'a>(&'a self, data: &'a [u8], rva: u32) -> Option<&'a [u8]> {
        View::new(data, self.header.size_of_headers, self.header.section_alignment, &self.sections)
            .from(rva, "address")
            .ok()
    }

    /// Returns the name of the entry point in a linker's map, if the map belongs to this image.
    #[must_use]
    pub fn entry_in<'a>(&self, map: LinkerMap<'a>) -> Option<&'a str> {
        let entry = self.entry.rva;
        map.symbols(&self.sections, entry)?.find(|(rva, _)| *rva == entry).map(|(_, name)| name)
    }

    /// Takes the name of the entry point from the linker's map, unless the exports already have a name for it.
    pub fn name_entry(&mut self, map: LinkerMap<'_>) {
        if self.entry.symbol.is_none() {
            let name = self.entry_in(map).map(|name| printable(name.as_bytes()));
            self.entry.symbol = name.map(|name| Symbol { name, source: SymbolSource::Map });
        }
    }

    /// Returns the PDB that was linked with the image.
    #[must_use]
    pub fn pdb(&self) -> Option<&PdbReference> {
        self.debug.iter().find_map(|entry| entry.pdb.as_ref())
    }

    /// Returns the section that contains the entry point.
    #[must_use]
    pub fn entry_section(&self) -> Option<&Section> {
        self.sections.get(self.entry.section?)
    }
}

impl Entry {
    fn find(rva: u32, sections: &[Section], exports: Option<&Exports>) -> Self {
        let section = sections.iter().position(|section| section.contains(rva));
        let name = exports.filter(|_| rva != 0).and_then(|exports| exports.name_at(rva));
        let symbol = name.map(|name| Symbol { name: name.into(), source: SymbolSource::Exports });
        Self { rva, section, symbol }
    }
}

/// Returns the first file offset after all sections.
fn end_of_sections(sections: &[Section]) -> u64 {
    let end = |section: &Section| u64::from(section.file_offset) + u64::from(section.file_size);
    sections.iter().filter(|section| section.file_size != 0).map(end).max().unwrap_or_default()
}
