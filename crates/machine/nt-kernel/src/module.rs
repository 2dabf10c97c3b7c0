//! The kernel's image in memory. A driver may look for it and search its exports.
//!
//! Code that does so starts at the address of an export and goes back page by page until it finds the headers. They
//! precede the stubs and the variables and contain a directory of the names.

use std::io;

use nt_processor::cpu::stubs::Stubs;
use nt_processor::layout::{IMAGE_DOS_HEADER, IMAGE_EXPORT_DIRECTORY, IMAGE_NT_HEADERS64, IMAGE_SECTION_HEADER};
use nt_processor::memory::{Fault, GuestPtr, OrStop as _, PAGE, Protection, Region, protect};
use windows_constants::image::{
    IMAGE_DOS_SIGNATURE, IMAGE_FILE_EXECUTABLE_IMAGE, IMAGE_FILE_LARGE_ADDRESS_AWARE, IMAGE_FILE_MACHINE_AMD64,
    IMAGE_NT_OPTIONAL_HDR64_MAGIC, IMAGE_NT_SIGNATURE, IMAGE_SCN_CNT_CODE, IMAGE_SCN_CNT_INITIALIZED_DATA,
    IMAGE_SCN_MEM_EXECUTE, IMAGE_SCN_MEM_READ, IMAGE_SCN_MEM_WRITE, IMAGE_SUBSYSTEM_NATIVE,
};

use super::data::Variables;
use crate::config::Config;

const CHARACTERISTICS: u16 = IMAGE_FILE_EXECUTABLE_IMAGE | IMAGE_FILE_LARGE_ADDRESS_AWARE;
/// The names and rights of the sections. The export directory is read-only, as on Windows.
const SECTIONS: [(&[u8; 8], u32); 3] = [
    (b".edata\0\0", IMAGE_SCN_MEM_READ | IMAGE_SCN_CNT_INITIALIZED_DATA),
    (b".text\0\0\0", IMAGE_SCN_MEM_READ | IMAGE_SCN_MEM_EXECUTE | IMAGE_SCN_CNT_CODE),
    (b".data\0\0\0", IMAGE_SCN_MEM_READ | IMAGE_SCN_MEM_WRITE | IMAGE_SCN_CNT_INITIALIZED_DATA),
];

/// The number of pages for the page tables of four levels and the page that they lead to, the number of entries of a
/// table, and the flags of an entry: present, writable, accessed, dirty.
const TABLES: u64 = 5;
const ENTRIES: usize = 512;
const ENTRY: u64 = 0x63;

const NAME: &str = "ntoskrnl.exe";

/// The image: its address and its parts.
pub(crate) struct Module {
    region: Region,
    pub(crate) stubs: Stubs,
    pub variables: Variables,
}

impl Module {
    /// Creates an image with stubs for `count` routines. `names` lists the exported routines with their numbers.
    pub(crate) fn new(config: &Config, count: u32, names: &[(&'static str, u32)]) -> io::Result<Self> {
        let exported = names.len() + super::data::names().count() + 1;
        let text: usize =
            names.iter().map(|(name, _)| *name).chain(super::data::names()).map(|name| name.len() + 1).sum();
        let directory = size_of::<IMAGE_EXPORT_DIRECTORY>() + exported * 10 + text + NAME.len() + "__chkstk".len() + 2;
        let sizes = [directory as u64, Stubs::size(count), Variables::SIZE].map(|size| size.next_multiple_of(PAGE));
        let image = PAGE + sizes.iter().sum::<u64>();
        let region = Region::new(image + TABLES * PAGE, Protection::ReadWrite, false)?;
        let places = [PAGE, PAGE + sizes[0], PAGE + sizes[0] + sizes[1]];
        let [_, code, data] = places.map(|place| region.base + place);
        let stubs = Stubs::new(Region { base: code, size: sizes[1] }, count);
        let variables = Variables::new(config, GuestPtr::new(data));
        let module = Self { region, stubs, variables };
        module.write_headers(config, places, sizes).or_stop();
        module.write_exports(places[0], names).or_stop();
        module.write_tables().or_stop();
        protect(region.base, PAGE + sizes[0], Protection::Read);
        Ok(module)
    }

    /// Returns the memory of the image, including the page tables after it.
    pub(crate) const fn region(&self) -> Region {
        self.region
    }

    /// Returns the address of the top-level page table, for drivers that look at page tables. Physical addresses equal
    /// virtual addresses.
    pub(crate) const fn page_table(&self) -> u64 {
        self.region.base + self.region.size - TABLES * PAGE
    }

    /// Writes tables of four levels, with one table per level, that map every address to one empty page. A walk along
    /// them finds an entry for every address, and a driver that changes the entry changes nothing else.
    fn write_tables(&self) -> Result<(), Fault> {
        let first = GuestPtr::<[u64; ENTRIES]>::new(self.page_table());
        for level in 0..TABLES - 1 {
            first.at(level).write([first.at(level + 1).address() | ENTRY; ENTRIES])?;
        }
        Ok(())
    }

    const fn at<T>(&self, rva: u64) -> GuestPtr<T> {
        GuestPtr::<u8>::new(self.region.base).at(rva).cast()
    }

    fn write_headers(&self, config: &Config, places: [u64; 3], sizes: [u64; 3]) -> Result<(), Fault> {
        let dos = self.at::<IMAGE_DOS_HEADER>(0);
        dos.e_magic().write(IMAGE_DOS_SIGNATURE)?;
        dos.e_lfanew().write(size_of::<IMAGE_DOS_HEADER>() as u32)?;
        let headers = dos.after::<IMAGE_NT_HEADERS64>();
        headers.Signature().write(IMAGE_NT_SIGNATURE)?;
        let file = headers.FileHeader();
        file.Machine().write(IMAGE_FILE_MACHINE_AMD64)?;
        file.NumberOfSections().write(SECTIONS.len() as u16)?;
        file.SizeOfOptionalHeader().write(0xF0)?;
        file.Characteristics().write(CHARACTERISTICS)?;
        let version = config.os.nt_version();
        let version = [version.major, version.minor];
        let optional = headers.OptionalHeader();
        optional.Magic().write(IMAGE_NT_OPTIONAL_HDR64_MAGIC)?;
        optional.SizeOfCode().write(sizes[1] as u32)?;
        optional.SizeOfInitializedData().write((sizes[0] + sizes[2]) as u32)?;
        optional.BaseOfCode().write(places[1] as u32)?;
        optional.ImageBase().cast::<u64>().write(self.region.base)?;
        optional.SectionAlignment().write(PAGE as u32)?;
        optional.FileAlignment().write(PAGE as u32)?;
        optional.OperatingSystemVersion().write(version)?;
        optional.ImageVersion().write(version)?;
        optional.SubsystemVersion().write(version)?;
        optional.SizeOfImage().write((self.region.size - TABLES * PAGE) as u32)?;
        optional.SizeOfHeaders().write(PAGE as u32)?;
        optional.Subsystem().write(IMAGE_SUBSYSTEM_NATIVE)?;
        optional.NumberOfRvaAndSizes().write(16)?;
        let exports = optional.DataDirectory().element(0).unwrap_or_default();
        exports.VirtualAddress().write(places[0] as u32)?;
        exports.Size().write(sizes[0] as u32)?;
        let sections = headers.after::<IMAGE_SECTION_HEADER>();
        for (index, (((name, rights), place), size)) in (0..).zip(SECTIONS.into_iter().zip(places).zip(sizes)) {
            let section = sections.at(index);
            section.Name().write(*name)?;
            section.VirtualSize().write(size as u32)?;
            section.VirtualAddress().write(place as u32)?;
            section.SizeOfRawData().write(size as u32)?;
            section.PointerToRawData().write(place as u32)?;
            section.Characteristics().write(rights)?;
        }
        Ok(())
    }

    /// Writes the directory: addresses, names and ordinals, sorted by name, as a binary search requires.
    fn write_exports(&self, at: u64, names: &[(&'static str, u32)]) -> Result<(), Fault> {
        let routines = names.iter().map(|(name, number)| (*name, self.stubs.address(*number)));
        let variables = super::data::names().filter_map(|name| Some((name, self.variables.address(name)?)));
        let mut exports: Vec<(&str, u64)> =
            routines.chain(variables).chain([("__chkstk", self.stubs.check_stack())]).collect();
        exports.sort_unstable();
        let count = exports.len() as u64;
        let directory = self.at::<IMAGE_EXPORT_DIRECTORY>(at);
        let functions = directory.after::<u32>();
        let texts = functions.at(count);
        let ordinals = texts.at(count).cast::<u16>();
        let mut text = ordinals.at(count).cast::<u8>();
        let rva = |address: u64| (address - self.region.base) as u32;
        let mut put = |name: &str| {
            let place = rva(text.address());
            text.write_all(name.as_bytes())?;
            text = text.at(name.len() as u64 + 1);
            Ok::<u32, Fault>(place)
        };
        directory.Name().write(put(NAME)?)?;
        directory.Base().write(1)?;
        directory.NumberOfFunctions().write(count as u32)?;
        directory.NumberOfNames().write(count as u32)?;
        directory.AddressOfFunctions().write(rva(functions.address()))?;
        directory.AddressOfNames().write(rva(texts.address()))?;
        directory.AddressOfNameOrdinals().write(rva(ordinals.address()))?;
        for (index, (name, address)) in (0..).zip(exports) {
            functions.at(index).write(rva(address))?;
            texts.at(index).write(put(name)?)?;
            ordinals.at(index).write(index as u16)?;
        }
        Ok(())
    }
}
