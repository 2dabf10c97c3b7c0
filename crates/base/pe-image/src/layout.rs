//! The memory layout of an x64 image, computed from its file and validated as a whole.

use crate::error::Error;
use crate::exports::{ExportTarget, Exports};
use crate::image::Image;
use crate::imports::{Imported, Module};
use crate::relocations::Relocations;
use crate::sections::Section;
use crate::values::Machine;

/// Maximum size of an image. The largest drivers of Windows have a few megabytes.
const LARGEST: u32 = 64 << 20;
/// Maximum number of imports, more than any driver has.
const MAX_IMPORTS: usize = 4096;
/// Page size, the granularity of memory protection.
const PAGE: u32 = 0x1000;

/// What is mapped, where, and with which protection. All addresses are relative to the image, and every pointer that the loader
/// writes is within the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The preferred address of the image.
    pub base: u64,
    /// The entry point: `DriverEntry` or the code that calls it.
    pub entry: u32,
    /// The image as it is in memory, before relocation.
    pub bytes: Vec<u8>,
    /// The minimum kernel version that the image declares: major and minor.
    pub subsystem_version: (u16, u16),
    /// Size of the headers in bytes.
    pub headers: u32,
    /// The sections in ascending order, without overlap.
    pub sections: Vec<Section>,
    /// Whether sections share pages because their alignment is smaller than a page. Windows then maps every page with full
    /// access.
    pub shares_pages: bool,
    /// Addresses of the 8-byte pointers that must be relocated.
    pub relocations: Vec<u32>,
    /// The imports.
    pub imports: Vec<Import>,
    /// The exception directory: its address and its size in bytes.
    pub exceptions: Option<(u32, u32)>,
    /// Locations of the security cookie and of the pointers for Control Flow Guard.
    pub guard: Guard,
    /// Names and addresses of exported routines.
    pub exports: Vec<(String, u32)>,
}

/// One routine that an image imports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The module, as the image spells it.
    pub module: String,
    /// The routine.
    pub name: Imported,
    /// Where the loader writes the address of the routine.
    pub slot: u32,
}

/// Locations from the load configuration that the loader fills in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Guard {
    /// The security cookie.
    pub cookie: Option<u32>,
    /// The pointer to the check function of Control Flow Guard.
    pub check: Option<u32>,
    /// The pointer to the dispatch function of Control Flow Guard.
    pub dispatch: Option<u32>,
}

impl Layout {
    /// Computes the layout of an image from the bytes of its file.
    ///
    /// # Errors
    ///
    /// Names the damaged field if the bytes are not a valid x64 image.
    pub fn parse(file: &[u8]) -> Result<Self, Error> {
        Self::from_image(file, &Image::parse(file)?)
    }

    /// Checks what the headers alone determine: the image is for x64, it is not too large, and its sections are aligned either to
    /// pages or as in the file.
    ///
    /// # Errors
    ///
    /// Names the field that makes the image unusable.
    pub fn check_headers(image: &Image) -> Result<(), Error> {
        let header = &image.header;
        if header.machine != Machine::X64 || !header.is_pe32_plus {
            return Err(Error::new("Machine", format!("{} is not x64", header.machine)));
        }
        if header.size_of_image > LARGEST {
            return Err(Error::new("SizeOfImage", format!("{:#x} is larger than {LARGEST:#x}", header.size_of_image)));
        }
        let section = header.section_alignment;
        let file = header.file_alignment;
        let shares_pages = section.is_power_of_two() && section < PAGE && section == file;
        if section == 0 || !(section.is_multiple_of(PAGE) || shares_pages) {
            let reason = format!("{section:#x} is neither a multiple of a page nor equal to FileAlignment, {file:#x}");
            return Err(Error::new("SectionAlignment", reason));
        }
        Ok(())
    }

    /// Computes the layout of an image that was parsed from `file`.
    ///
    /// # Errors
    ///
    /// Names the invalid field if the image cannot be mapped.
    pub fn from_image(file: &[u8], image: &Image) -> Result<Self, Error> {
        Self::check_headers(image)?;
        let size = image.header.size_of_image;
        let exceptions = image.exceptions.filter(|&(_, length)| length != 0);
        if let Some((rva, length)) = exceptions
            && u64::from(rva) + u64::from(length) > u64::from(size)
        {
            return Err(Error::new("data directory", format!("the exception table at {rva:#x} is not in the image")));
        }
        Ok(Self {
            base: image.header.image_base,
            entry: image.entry.rva,
            bytes: lay_out(file, image)?,
            subsystem_version: (image.header.subsystem_version.major, image.header.subsystem_version.minor),
            headers: image.header.size_of_headers,
            sections: image.sections.clone(),
            shares_pages: image.header.section_alignment < PAGE,
            relocations: image.relocations.as_ref().map_or_else(|| Ok(Vec::new()), relocations)?,
            imports: imports(&image.imports.modules, size)?,
            exceptions,
            guard: guard(image)?,
            exports: image.exports.iter().flat_map(exported).collect(),
        })
    }
}

/// Copies the headers and sections to their addresses.
fn lay_out(file: &[u8], image: &Image) -> Result<Vec<u8>, Error> {
    let header = &image.header;
    let mut bytes = vec![0; header.size_of_image as usize];
    let headers = header.size_of_headers;
    place(&mut bytes, 0, file.get(..headers as usize), "SizeOfHeaders", || format!("{headers:#x} bytes do not fit"))?;
    let mut end = u64::from(headers);
    let unit = header.section_alignment.min(PAGE);
    for section in &image.sections {
        if u64::from(section.rva) < end || !section.rva.is_multiple_of(unit) || section.end() > bytes.len() as u64 {
            let reason = format!(
                "{} at {:#x} is not aligned, overlaps another section, or is not completely in the image",
                section.name, section.rva
            );
            return Err(Error::new("section table", reason));
        }
        end = section.end();
        let start = section.file_offset as usize;
        let length = section.file_size.min(section.memory_size()) as usize;
        let data = start.checked_add(length).and_then(|end| file.get(start..end));
        place(&mut bytes, section.rva, data, "section data", || format!("{} is cut off", section.name))?;
    }
    Ok(bytes)
}

fn place(
    bytes: &mut [u8],
    rva: u32,
    data: Option<&[u8]>,
    field: &'static str,
    reason: impl Fn() -> String,
) -> Result<(), Error> {
    let data = data.ok_or_else(|| Error::new(field, reason()))?;
    let room = bytes.get_mut(rva as usize..).and_then(|rest| rest.get_mut(..data.len()));
    room.ok_or_else(|| Error::new(field, reason()))?.copy_from_slice(data);
    Ok(())
}

/// Checks that an 8-byte pointer at `rva` is within the image.
fn pointer(rva: Option<u32>, size: u32, field: &'static str, reason: impl Fn() -> String) -> Result<u32, Error> {
    let inside = |rva: &u32| u64::from(*rva) + 8 <= u64::from(size);
    rva.filter(inside).ok_or_else(|| Error::new(field, format!("{} is outside of the image", reason())))
}

fn relocations(relocations: &Relocations) -> Result<Vec<u32>, Error> {
    const FIELD: &str = "relocation directory";
    if let Some(problem) = &relocations.problem {
        return Err(Error::new(FIELD, problem.clone()));
    }
    if let Some(narrow) = relocations.fixups.iter().find(|fixup| fixup.width != 8) {
        return Err(Error::new(FIELD, format!("the type of the relocation at {:#x} is not for x64", narrow.rva)));
    }
    Ok(relocations.fixups.iter().map(|fixup| fixup.rva).collect())
}

fn imports(modules: &[Module], size: u32) -> Result<Vec<Import>, Error> {
    let mut imports = Vec::new();
    for module in modules {
        let slots = (0..).map(|index: u32| index.checked_mul(8).and_then(|offset| module.slots.checked_add(offset)));
        for (name, slot) in module.routines.iter().zip(slots) {
            let slot = pointer(slot, size, "import address table", || format!("the slot of {name}"))?;
            imports.push(Import { module: module.name.clone(), name: name.clone(), slot });
        }
    }
    if imports.len() > MAX_IMPORTS {
        return Err(Error::new("import table", format!("{} routines; the maximum is {MAX_IMPORTS}", imports.len())));
    }
    Ok(imports)
}

fn guard(image: &Image) -> Result<Guard, Error> {
    let Some(config) = &image.load_config else {
        return Ok(Guard::default());
    };
    let place = |address: Option<u64>, field| {
        let Some(address) = address.filter(|&address| address != 0) else {
            return Ok(None);
        };
        let rva = address.checked_sub(image.header.image_base).and_then(|rva| u32::try_from(rva).ok());
        pointer(rva, image.header.size_of_image, field, || format!("{address:#x}")).map(Some)
    };
    Ok(Guard {
        cookie: place(config.security_cookie, "SecurityCookie")?,
        check: place(config.guard_check, "GuardCFCheckFunctionPointer")?,
        dispatch: place(config.guard_dispatch, "GuardCFDispatchFunctionPointer")?,
    })
}

fn exported(exports: &Exports) -> Vec<(String, u32)> {
    let named = exports.symbols.iter().filter_map(|export| match (&export.name, &export.target) {
        (Some(name), ExportTarget::Address(rva)) => Some((name.clone(), *rva)),
        _ => None,
    });
    named.collect()
}
