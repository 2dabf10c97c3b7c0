//! The plan of an image in memory, made from its file and checked as a whole.

use driver_package::pe::Machine;
use driver_package::{Image, Target};

use super::flat::Flat;
use super::tables::{self, Directory};
use super::{ImageError, Import, imports, relocations};
use crate::memory::PAGE;

/// Nothing larger is mapped. The largest drivers of Windows have a few megabytes.
const LARGEST: u32 = 64 << 20;

/// Rules of Windows' loader that do not matter here: the first three concern the file and are restored by signing it, the
/// others depend on the release of Windows and are looked at when the driver is loaded.
const NOT_ASKED_FOR: [&str; 6] =
    ["checksum", "signature", "signature-place", "subsystem-version", "missing-import", "kmdf-version"];

/// What is mapped, where, with which rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Where the image would like to be.
    pub base: u64,
    /// `DriverEntry` or what precedes it, relative to the image.
    pub entry: u32,
    /// The image as it lies in memory, before relocation.
    pub bytes: Vec<u8>,
    /// The oldest kernel that it says it runs on: major and minor version.
    pub subsystem_version: (u16, u16),
    /// Bytes of the headers.
    pub headers: u32,
    /// Ascending, without overlap.
    pub sections: Vec<Section>,
    /// Where addresses are to be adjusted.
    pub relocations: Vec<u32>,
    /// What the image wants.
    pub imports: Vec<Import>,
    /// The exception directory: where it is, relative to the image, and its bytes.
    pub exceptions: Option<(u32, u32)>,
    /// What the loader fills in for the image's protection.
    pub guard: Guard,
    /// Names of exported routines with their addresses relative to the image.
    pub exports: Vec<(String, u32)>,
    /// The file name of its symbols, as the linker wrote it.
    pub pdb: Option<String>,
}

/// A section in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// First address, relative to the image.
    pub rva: u32,
    /// Bytes, not rounded.
    pub size: u32,
    /// May be written.
    pub writable: bool,
    /// May be executed.
    pub executable: bool,
    /// Goes away once the driver is initialised.
    pub discardable: bool,
    /// May be paged out: its name begins with `PAGE`.
    pub pageable: bool,
}

/// Places of the load configuration that the loader fills in, relative to the image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Guard {
    /// The security cookie.
    pub cookie: Option<u32>,
    /// Pointer to the check of control flow guard.
    pub check: Option<u32>,
    /// Pointer to its dispatcher.
    pub dispatch: Option<u32>,
}

impl Layout {
    /// Plans an image from the bytes of its file.
    ///
    /// # Errors
    ///
    /// Names the field when the bytes are no x64 driver, a damaged one, or one that Windows would refuse to load.
    pub fn parse(file: &[u8]) -> Result<Self, ImageError> {
        let image = Image::parse(file)?;
        let header = &image.header;
        if header.machine != Machine::X64 || !header.is_pe32_plus {
            return Err(ImageError::new("Machine", format!("{} is not x64", header.machine)));
        }
        if header.size_of_image > LARGEST {
            return Err(ImageError::new("SizeOfImage", format!("{:#x} is too large", header.size_of_image)));
        }
        // Rights are given by pages: sections that share one cannot have their own.
        if header.section_alignment == 0 || !u64::from(header.section_alignment).is_multiple_of(PAGE) {
            let reason = format!("{:#x} is no multiple of a page", header.section_alignment);
            return Err(ImageError::new("SectionAlignment", reason));
        }
        let verdict = image.verdict(Target::default());
        if let Some(refusal) = verdict.refusals().find(|refusal| !NOT_ASKED_FOR.contains(&refusal.rule.id)) {
            return Err(ImageError::new(refusal.rule.id, format!("{} ({})", refusal.found, refusal.rule.what)));
        }
        let flat = lay_out(file, &image)?;
        let directory = |number| Directory::read(&flat, number);
        let imports = imports::read(&flat, directory(tables::IMPORT)?)?;
        let relocations = relocations::read(&flat, directory(tables::RELOCATION)?)?;
        let guard = tables::guard(&flat, header.image_base, directory(tables::LOAD_CONFIG)?)?;
        let exceptions = directory(tables::EXCEPTION)?.map(|directory| (directory.rva, directory.size));
        let exports = image.exports.iter().flat_map(exported).collect();
        Ok(Self {
            base: header.image_base,
            entry: image.entry.rva,
            subsystem_version: (header.subsystem_version.major, header.subsystem_version.minor),
            headers: header.size_of_headers,
            sections: image.sections.iter().map(Section::new).collect(),
            relocations,
            imports,
            exceptions,
            guard,
            exports,
            pdb: image.debug.iter().find_map(|entry| entry.pdb.as_ref()).map(|pdb| pdb.path.clone()),
            bytes: flat.into_bytes(),
        })
    }

    /// The section of an address relative to the image.
    #[must_use]
    pub fn section_of(&self, rva: u64) -> Option<&Section> {
        self.sections.iter().find(|section| {
            let start = u64::from(section.rva);
            rva >= start && rva < start + u64::from(section.size)
        })
    }
}

impl Section {
    fn new(section: &driver_package::pe::Section) -> Self {
        Self {
            name: section.name.clone(),
            rva: section.rva,
            size: section.memory_size(),
            writable: section.is_writable(),
            executable: section.is_executable(),
            discardable: section.is_discardable(),
            pageable: section.name.starts_with("PAGE"),
        }
    }
}

/// Copies headers and sections to their places. The rules made sure that sections neither overlap nor leave the image.
fn lay_out(file: &[u8], image: &Image) -> Result<Flat, ImageError> {
    let header = &image.header;
    let mut flat = Flat::new(header.size_of_image as usize);
    let headers = file.get(..header.size_of_headers as usize);
    let headers = headers.ok_or_else(|| ImageError::new("SizeOfHeaders", "the file ends before the headers do"))?;
    flat.place(0, headers, "SizeOfHeaders")?;
    for section in &image.sections {
        let wanted = section.file_size.min(section.memory_size());
        let start = section.file_offset as usize;
        let data = start.checked_add(wanted as usize).and_then(|end| file.get(start..end));
        let data = data.ok_or_else(|| ImageError::new("section data", format!("{} is cut off", section.name)))?;
        flat.place(section.rva, data, "section")?;
    }
    Ok(flat)
}

fn exported(exports: &driver_package::pe::Exports) -> Vec<(String, u32)> {
    use driver_package::pe::ExportTarget;
    let named = exports.symbols.iter().filter_map(|export| match (&export.name, &export.target) {
        (Some(name), ExportTarget::Address(rva)) => Some((name.clone(), *rva)),
        _ => None,
    });
    named.collect()
}
